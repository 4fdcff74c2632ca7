#include "storage/table/query/range_pass.h"

#include <type_traits>

#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

template <class T>
const T* ColumnAt(const SegmentColumn& column, uint32_t base) {
  return static_cast<const T*>(column.values) + base;
}

}  // namespace

bool RangePass::Fits() const {
  if (!plan_.group_columns.empty() || plan_.accumulators.size() > 1 ||
      values_.segment().kept != nullptr || filter_.active().size() != 1) {
    return false;
  }
  const PredicateNode& node = plan_.predicates[filter_.active()[0]];
  const ValueNode& tested = plan_.values[node.value];
  if (node.kind != PredicateNode::Kind::kRange || node.negated || !tested.IsColumn() ||
      values_.bounds(node.value).nulls) {
    return false;
  }
  if (plan_.accumulators.empty()) return true;
  const Accumulator& accumulator = plan_.accumulators[0];
  const ValueNode& summed = plan_.values[accumulator.value];
  const bool integers = tested.value_class != ValueClass::kDouble &&
                        summed.value_class != ValueClass::kDouble &&
                        ColumnValueBytes(tested.type) <= ColumnValueBytes(summed.type);
  return accumulator.kind == Accumulator::Kind::kSum && summed.IsColumn() && integers &&
         !values_.bounds(accumulator.value).nulls;
}

void RangePass::Run(uint32_t base, uint32_t rows) {
  const PredicateNode& node = plan_.predicates[filter_.active()[0]];
  const ColumnType type = values_.column(node.value).type;
  if (ColumnValueBytes(type) == 4) {
    RunTyped(base, rows, static_cast<int32_t>(node.lo.i64), static_cast<int32_t>(node.hi.i64));
  } else if (type == ColumnType::kFloat64) {
    RunTyped(base, rows, node.lo.f64, node.hi.f64);
  } else {
    RunTyped(base, rows, node.lo.u64, node.hi.u64);
  }
}

template <class T>
void RangePass::RunTyped(uint32_t base, uint32_t rows, T lo, T hi) {
  const uint32_t tested = plan_.predicates[filter_.active()[0]].value;
  const T* const values = ColumnAt<T>(values_.column(tested), base);
  uint64_t& count = table_.rows(0);
  if (plan_.accumulators.empty()) {
    count += kernels::CountInRange(values, rows, lo, hi);
    return;
  }
  if constexpr (!std::is_same_v<T, double>) {
    const uint32_t value = plan_.accumulators[0].value;
    const SegmentColumn& summed = values_.column(value);
    const auto sum = [&]<class S>(const S* addends) {
      count += kernels::SumInRange(values, lo, hi, addends, rows, table_.cells(0)[0].sum);
    };
    if constexpr (std::is_same_v<T, int32_t>) {
      if (ColumnValueBytes(summed.type) == 4) return sum(ColumnAt<int32_t>(summed, base));
    }
    if (plan_.values[value].value_class == ValueClass::kUnsigned) {
      sum(ColumnAt<uint64_t>(summed, base));
    } else {
      sum(ColumnAt<int64_t>(summed, base));
    }
  }
}

}  // namespace eris::storage
