#include "tests/sim/table_columns.h"

#include <array>

#include "base/check.h"
#include "storage/byte_value.h"

namespace eris::sim {
namespace {

std::shared_ptr<const storage::TableLayout> MakeLayout(uint32_t key_columns) {
  Schema schema{.columns = {{.name = "head", .type = ColumnType::kUint64},
                            {.name = "tail", .type = ColumnType::kUint64},
                            {.name = "value", .type = ColumnType::kUint64},
                            {.name = "twin", .type = ColumnType::kUint64},
                            {.name = "text", .type = ColumnType::kString}}};
  for (uint32_t i = 0; i < key_columns; ++i) schema.key.push_back(i);
  auto layout = storage::TableLayout::Create(schema);
  ERIS_CHECK(layout.ok());
  return *layout;
}

}  // namespace

const std::shared_ptr<const storage::TableLayout>& LayoutOf(uint32_t key_columns) {
  static const auto& layouts = *new std::array<std::shared_ptr<const storage::TableLayout>, 3>{
      MakeLayout(0), MakeLayout(1), MakeLayout(2)};
  return layouts[key_columns];
}

uint64_t TwinOf(uint64_t value) { return value * 0x9e3779b97f4a7c15 + 1; }

std::string TableTextOf(uint64_t value) {
  std::string text = std::to_string(value);
  // Short strings and long ones are stored in different ways.
  if (value % 3 == 0) text.resize(kTextBytesMax, '.');
  return text;
}

void TableRows::Add(const storage::Key& key, uint64_t value) {
  heads_.push_back(key.head);
  tails_.push_back(key.tail);
  values_.push_back(value);
  twins_.push_back(TwinOf(value));
  text_ += TableTextOf(value);
  offsets_.push_back(static_cast<uint32_t>(text_.size()));
}

const RowBatch& TableRows::Batch() {
  const void* const data[] = {heads_.data(), tails_.data(), values_.data(), twins_.data(),
                              text_.data()};
  for (uint32_t i = 0; i < kTableColumns; ++i) {
    views_[i] = {data[i], nullptr, i == kTextColumn ? offsets_.data() : nullptr};
  }
  batch_ = {heads_.size(), views_};
  return batch_;
}

TableAnswers::TableAnswers(size_t keys, uint64_t* values)
    : values_(values), twins_(keys), texts_(keys), valid_(3 * keys) {
  outputs_[0] = {.column = kValueColumn, .values = values, .valid = valid_.data()};
  outputs_[1] = {.column = kTwinColumn, .values = twins_.data(), .valid = valid_.data() + keys};
  outputs_[2] = {.column = kTextColumn, .values = texts_.data(), .valid = valid_.data() + 2 * keys};
  columns_.columns = outputs_;
}

bool TableAnswers::Whole(size_t position) const {
  const size_t keys = twins_.size();
  for (size_t i = 0; i < 3; ++i) {
    if (valid_[i * keys + position] == 0) return false;
  }
  const uint64_t value = values_[position];
  return twins_[position] == TwinOf(value) &&
         std::string(storage::BytesOf(texts_[position])) == TableTextOf(value);
}

}  // namespace eris::sim
