#include "engine/core/table_batch.h"

#include <algorithm>
#include <utility>

#include "engine/core/string_column.h"

namespace eris::engine {
namespace {

// For a string the size of its word.
uint32_t AnswerBytes(ColumnType type) {
  return IsByteString(type) ? sizeof(uint64_t) : ColumnValueBytes(type);
}

}  // namespace

uint64_t BytesOf(const storage::TableLayout& layout, const RowBatch& batch, bool keys_only) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const auto column = keys_only ? layout.schema().key[i] : static_cast<uint32_t>(i);
    const ColumnType type = layout.column(column).type;
    if (IsByteString(type)) {
      const uint32_t* const offsets = batch.columns[i].offsets;
      bytes += offsets[batch.rows] - offsets[0] + batch.rows * sizeof(uint32_t);
    } else {
      bytes += batch.rows * ColumnValueBytes(type);
    }
  }
  return bytes;
}

TableBatch::TableBatch(std::shared_ptr<const storage::TableLayout> layout, const RowBatch& batch)
    : layout_(std::move(layout)),
      views_(batch.columns.begin(), batch.columns.end()),
      rows_{batch.rows, views_} {}

void TableBatch::PackKeys(bool keys_only) {
  heads_.resize(rows_.rows);
  if (layout_->two_words()) tails_.resize(rows_.rows);
  layout_->PackKeys(rows_, keys_only, heads_.data(), tails_.empty() ? nullptr : tails_.data());
}

void TableBatch::AskFor(std::span<const uint32_t> columns) {
  answers_.resize(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const ColumnType type = layout_->column(columns[i]).type;
    strings_ |= IsByteString(type);
    // Zero if there is no answer.
    answers_[i].values.resize(rows_.rows * AnswerBytes(type));
    answers_[i].valid.resize(rows_.rows);
    outputs_.push_back({.column = columns[i],
                        .values = answers_[i].values.data(),
                        .valid = reinterpret_cast<uint8_t*>(answers_[i].valid.data())});
  }
  columns_out_.columns = outputs_;
}

int64_t TableBatch::AnswerBytesPerKey(const storage::TableLayout& layout,
                                      std::span<const uint32_t> columns) {
  int64_t bytes = 0;
  for (const uint32_t column : columns) bytes += AnswerBytes(layout.column(column).type) + 1;
  return bytes;
}

std::vector<ColumnBuffers> TableBatch::TakeColumns() {
  std::vector<ColumnBuffers> columns;
  columns.reserve(answers_.size());
  for (size_t i = 0; i < answers_.size(); ++i) {
    Answer& answer = answers_[i];
    if (IsByteString(layout_->column(outputs_[i].column).type)) {
      auto* const words = reinterpret_cast<uint64_t*>(answer.values.data());
      for (uint64_t row = 0; row < rows_.rows; ++row) {
        if (answer.valid[row] == 0) words[row] = 0;
      }
      columns.push_back(StringColumn({words, rows_.rows}));
    } else {
      columns.push_back({.values = std::move(answer.values), .validity = {}, .offsets = {}});
    }
    columns.back().validity = ToBits(answer.valid);
  }
  answers_.clear();
  return columns;
}

std::string TableBatch::ToBits(const std::string& valid) {
  if (std::find(valid.begin(), valid.end(), '\0') == valid.end()) return {};
  std::string bits((valid.size() + 7) / 8, '\0');
  for (size_t i = 0; i < valid.size(); ++i) {
    if (valid[i] != 0) bits[i >> 3] = static_cast<char>(bits[i >> 3] | 1 << (i & 7));
  }
  return bits;
}

}  // namespace eris::engine
