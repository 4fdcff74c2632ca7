#include "storage/table/query/group_results.h"

#include <string_view>

#include "storage/table/kernels/exact_number.h"
#include "storage/table/kernels/kernels.h"
#include "storage/table/query/row_output.h"

namespace eris::storage {

uint64_t GroupResults::Finish(bool ordered) {
  if (ordered) table_.Sort(order_);
  return table_.size();
}

void GroupResults::Take(uint64_t& first, ResultRows& out) const {
  for (; first < table_.size() && out.rows < out.capacity; ++first) {
    if (!TakeOne(GroupAt(first), out)) return;
    ++out.rows;
  }
}

bool GroupResults::TakeOne(uint32_t group, ResultRows& out) const {
  const uint64_t* const words = table_.words(group);
  const size_t keys = plan_.group_columns.size();
  for (size_t i = 0; i < keys; ++i) {
    ResultColumn& column = out.columns[i];
    const bool valid = !table_.null(group, i);
    const uint64_t* const word = words + table_.word_of(i);
    if (IsByteString(column.type)) {
      const std::string_view text = valid ? table_.TextOf(i, word) : std::string_view();
      if (!PutString(text, valid, column, out.rows)) return false;
    } else {
      PutValue(word, valid, column, out.rows);  // little-endian: also of 32 bits
    }
  }
  for (size_t i = 0; i < plan_.results.size(); ++i) {
    if (!TakeAggregate(plan_.results[i], group, out.columns[keys + i], out.rows)) return false;
  }
  return true;
}

bool GroupResults::TakeAggregate(const AggregateResult& result, uint32_t group,
                                 ResultColumn& column, uint32_t row) const {
  const GroupTable::Cell* const cells = table_.cells(group);
  const uint64_t count = result.count == AggregateResult::kNoAccumulator
                             ? table_.rows(group)
                             : cells[result.count].count;
  if (result.function == AggregateFunction::kCount) {
    PutValue(&count, true, column, row);
    return true;
  }
  const GroupTable::Cell& cell = cells[result.accumulator];
  if (IsByteString(column.type)) {
    return PutString(count == 0 ? std::string_view() : table_.ExtremeOf(cell), count > 0, column,
                     row);
  }
  const bool is_double = result.value_class == ValueClass::kDouble;
  GroupTable::Cell value{.sum = 0};
  if (count == 0) {
    // Null: the cell has zeros.
  } else if (result.function == AggregateFunction::kSum ||
             result.function == AggregateFunction::kMedian ||
             (result.value_class == ValueClass::kInt128 &&
              result.function != AggregateFunction::kAverage)) {
    value = cell;
  } else if (result.function == AggregateFunction::kAverage) {
    // The double nearest to the exact sum, by the count: what others do too.
    const double sum = is_double ? cell.real : NearestDouble(cell.sum, result.scale);
    value.real = sum / static_cast<double>(count);
  } else if (is_double) {
    value.real = kernels::DoubleOfKey(cell.key);
  } else if (result.value_class == ValueClass::kUnsigned) {
    value.count = kernels::UnsignedOfKey(cell.key);
  } else {
    value.key = cell.key;
  }
  PutValue(&value, count > 0, column, row);
  return true;
}

}  // namespace eris::storage
