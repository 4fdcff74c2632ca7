// Rows that the plan has itself, as envelopes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status_macros.h"
#include "storage/query/rows/gather.h"
#include "storage/query/rows/row_sink.h"
#include "storage/query/step_run.h"

namespace eris::storage {
namespace {

// The values of one column in some rows.
class ValueColumn {
 public:
  explicit ValueColumn(ColumnType type) : type_(type) {}

  void Clear() {
    bytes_.clear();
    validity_.clear();
    offsets_.assign(1, 0);
    rows_ = 0;
  }
  void Add(const Value& value) {
    if (rows_ % 64 == 0) validity_.push_back(0);
    const bool null = std::holds_alternative<std::monostate>(value);
    if (!null) validity_.back() |= uint64_t{1} << (rows_ % 64);
    ++rows_;
    null ? AddNull() : std::visit([this](const auto& one) { Put(one); }, value);
    offsets_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  SegmentColumn view() const {
    const bool strings = IsByteString(type_);
    return {.type = type_,
            .values = bytes_.data(),
            .validity = validity_.data(),
            .offsets = strings ? offsets_.data() : nullptr};
  }

 private:
  void AddNull() {
    if (!IsByteString(type_)) bytes_.append(ColumnValueBytes(type_), '\0');
  }
  template <class T>
  void PutBytes(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Put(std::monostate) {}
  void Put(int64_t value) {
    type_ == ColumnType::kInt32 ? PutBytes(static_cast<int32_t>(value)) : PutBytes(value);
  }
  void Put(uint64_t value) { PutBytes(value); }
  void Put(double value) { PutBytes(value); }
  void Put(const Decimal& value) { PutBytes(value.unscaled); }
  void Put(const WideDecimal& value) { PutBytes(value.unscaled); }
  void Put(const Date& value) { PutBytes(value.days); }
  void Put(const Timestamp& value) { PutBytes(value.micros); }
  void Put(const std::string& value) { bytes_.append(value); }
  void Put(const Bytes& value) { bytes_.append(value.bytes); }

  const ColumnType type_;
  std::string bytes_;
  std::vector<uint64_t> validity_;
  std::vector<uint32_t> offsets_{0};
  uint32_t rows_ = 0;
};

class ValuesRun final : public StepRun {
 public:
  ValuesRun(const StepWorld& world, const ValuesTask& task, EnvelopeList& rows)
      : values_(task.step.rows), sink_(world.memory, rows, "values") {
    for (const ColumnSchema& column : task.schema.columns) columns_.emplace_back(column.type);
    views_.resize(columns_.size());
  }

  absl::StatusOr<bool> Advance() override {
    if (row_ == values_.size()) {
      ERIS_RETURN_IF_ERROR(sink_.Flush());
      return false;
    }
    const auto count =
        static_cast<uint32_t>(std::min<size_t>(kPieceRowsMin, values_.size() - row_));
    for (size_t i = 0; i < columns_.size(); ++i) {
      columns_[i].Clear();
      for (size_t row = row_; row < row_ + count; ++row) columns_[i].Add(values_[row][i]);
      views_[i] = columns_[i].view();
    }
    ERIS_RETURN_IF_ERROR(sink_.AddAll(count, [&](uint32_t done, ResultRows& out) {
      AppendRange(views_, done, count - done, out);
    }));
    row_ += count;
    return true;
  }

 private:
  const std::vector<std::vector<Value>>& values_;
  RowSink sink_;
  std::vector<ValueColumn> columns_;
  std::vector<SegmentColumn> views_;
  size_t row_ = 0;  // that comes next
};

}  // namespace

std::unique_ptr<StepRun> NewValuesRun(const StepWorld& world, const ValuesTask& task,
                                      EnvelopeList& rows) {
  return std::make_unique<ValuesRun>(world, task, rows);
}

}  // namespace eris::storage
