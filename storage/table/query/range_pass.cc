#include "storage/table/query/range_pass.h"

#include <type_traits>

#include "storage/table/kernels/kernels.h"

namespace eris::storage {
namespace {

template <class T>
const T* ColumnAt(const SegmentColumn& column, uint32_t base) {
  return static_cast<const T*>(column.values) + base;
}

// What kernels test values as: signed or not, a range of 64 bits is one modulo 2^64.
template <class T>
using Tested = std::conditional_t<std::is_same_v<T, int64_t>, uint64_t, T>;

// Whether there is a kernel that adds up values of S for tested ones of T.
template <class T, class S>
concept Summable = std::is_arithmetic_v<T> && std::is_arithmetic_v<S> &&
    requires(const T* tested, T bound, const S* values, Int128& sum) {
  kernels::SumInRange(tested, bound, bound, values, 0, sum);
};

bool HasKernel(ColumnType tested, ColumnType summed) {
  return VisitColumnType(tested, [summed]<class T>(ColumnTraits<T>) {
    return VisitColumnType(summed, []<class S>(ColumnTraits<S>) { return Summable<Tested<T>, S>; });
  });
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
  return accumulator.kind == Accumulator::Kind::kSum && summed.IsColumn() &&
         HasKernel(tested.type, summed.type) && !values_.bounds(accumulator.value).nulls;
}

void RangePass::Run(uint32_t base, uint32_t rows) {
  const PredicateNode& node = plan_.predicates[filter_.active()[0]];
  VisitColumnType(values_.column(node.value).type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      RunTyped(base, rows, node.lo.As<Tested<T>>(), node.hi.As<Tested<T>>());
    }
  });
}

template <class T>
void RangePass::RunTyped(uint32_t base, uint32_t rows, T lo, T hi) {
  const uint32_t tested = plan_.predicates[filter_.active()[0]].value;
  const T* const values = ColumnAt<T>(values_.column(tested), base);
  if (plan_.accumulators.empty()) {
    table_.AddRows(0, kernels::CountInRange(values, rows, lo, hi));
    return;
  }
  const SegmentColumn& summed = values_.column(plan_.accumulators[0].value);
  VisitColumnType(summed.type, [&]<class S>(ColumnTraits<S>) {
    if constexpr (Summable<T, S>) {
      table_.AddRows(0, kernels::SumInRange(values, lo, hi, ColumnAt<S>(summed, base), rows,
                                            table_.cells(0)[0].sum));
    }
  });
}

}  // namespace eris::storage
