// Converts literals in comparisons to intervals of the values' own class, so that kernels need not
// know literals, scales and rounding. Pure functions.
#ifndef ERIS_STORAGE_TABLE_LITERAL_INTERVAL_H_
#define ERIS_STORAGE_TABLE_LITERAL_INTERVAL_H_

#include <compare>

#include "eris/expression.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/plan/plan_body.h"

namespace eris::storage {

// The values of a class that pass: [lo, hi], or none.
struct Interval {
  bool empty = false;
  Scalar lo{.i64 = 0};
  Scalar hi{.i64 = 0};
};
// The values for which `value kind literal` holds. REQUIRES: a comparison; a number or a date.
Interval IntervalOf(const ValueNode& value, Expression::Kind kind, const Value& literal);
Interval Intersect(ValueClass value_class, Interval a, const Interval& b);

// The range of a type whose values are integers.
struct RangeOfValues {
  Int128 min, max;
};
RangeOfValues RangeOf(const ValueNode& value);

bool Below(ValueClass value_class, Scalar a, Scalar b);
// REQUIRES: constants.
std::partial_ordering OrderOfConstants(const ValueNode& a, const ValueNode& b);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_LITERAL_INTERVAL_H_
