// Converts literals in comparisons to intervals of the values' own class, so that kernels need not
// know literals, scales and rounding. Pure functions.
#ifndef ERIS_STORAGE_TABLE_LITERAL_INTERVAL_H_
#define ERIS_STORAGE_TABLE_LITERAL_INTERVAL_H_

#include <compare>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/calendar_text.h"
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
// The values for which `value kind literal` holds. REQUIRES: a comparison; numbers, or points in
// time.
Interval IntervalOf(const ValueNode& value, Expression::Kind kind, const Value& literal);
Interval Intersect(ValueClass value_class, Interval a, const Interval& b);

// The range of a type whose values are integers.
struct RangeOfValues {
  Int128 min, max;
};
RangeOfValues RangeOf(const ValueNode& value);

// A value of integers as one of `to`, which a cast gives. False beyond 128 bits. REQUIRES: both are
// numbers, or both are points in time; as a number a point in time is its microseconds.
inline bool CastInteger(const ValueNode& from, Int128 value, const ValueNode& to, Int128& result) {
  if (from.type == ColumnType::kDate && to.type != ColumnType::kDate) {
    result = value * kMicrosPerDay;
    return true;
  }
  if (from.type == ColumnType::kTimestamp && to.type == ColumnType::kDate) {
    result = DayOfTimestamp(static_cast<int64_t>(value));
    return true;
  }
  return Rescale(value, from.scale, to.scale, result);
}

// A text as a date or a timestamp. Errors: InvalidArgument (it is neither).
absl::StatusOr<Value> TimeFromText(absl::string_view text);

bool Below(ValueClass value_class, Scalar a, Scalar b);
// REQUIRES: constants.
std::partial_ordering OrderOfConstants(const ValueNode& a, const ValueNode& b);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_LITERAL_INTERVAL_H_
