// A value in a row of the oracle of plans, with the type it has even where it is null, and how
// values are compared, as the comments of eris/expression.h say.
//
// Two things a value carries besides: an error, of arithmetic outside its type, which matters only
// if an answer depends on the value; and how far the engine's double may be away, because the order
// in which doubles are added is the engine's choice.
#ifndef ERIS_TESTS_SUPPORT_PLAN_CELL_H_
#define ERIS_TESTS_SUPPORT_PLAN_CELL_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "eris/column_type.h"
#include "eris/expression.h"
#include "tests/support/plan/exact_digits.h"

namespace eris::test {

struct CellType {
  ColumnType type = ColumnType::kInt64;
  uint8_t scale = 0;  // of a kDecimal or kInt128
  friend bool operator==(const CellType&, const CellType&) = default;
};
inline bool IsReal(CellType type) { return type.type == ColumnType::kFloat64; }
inline bool IsText(CellType type) { return type.type == ColumnType::kString; }
inline bool IsBytes(CellType type) { return type.type == ColumnType::kBytes; }
// Whether Cell::text has the value.
inline bool HasText(CellType type) { return IsByteString(type.type); }
inline bool IsDate(CellType type) { return type.type == ColumnType::kDate; }
inline bool IsTime(CellType type) { return IsTimeType(type.type); }
inline bool IsNumber(CellType type) { return !HasText(type) && !IsTime(type); }

struct Cell {
  CellType type{};
  bool null = true;
  Int128 number = 0;  // of integers, decimals (unscaled), dates (days), timestamps (microseconds)
  double real = 0;
  std::string text{};

  double slack = 0;       // the engine's double is at most so far from `real`
  bool any_zero = false;  // the engine's zero may have either sign
  absl::StatusCode error = absl::StatusCode::kOk;

  bool failed() const { return error != absl::StatusCode::kOk; }
};
using Cells = std::vector<Cell>;  // of a row

Cell NullCell(CellType type);
Cell NumberCell(CellType type, Int128 number);
Cell IntegerCell(int64_t number);
Cell RealCell(double real);
Cell DecimalCell(int64_t unscaled, uint8_t scale);
Cell DateCell(int32_t days);
Cell TimestampCell(int64_t micros);
Cell TextCell(std::string text);
Cell BytesCell(std::string bytes);
Cell FailedCell(CellType type, absl::StatusCode error);
// A literal's, with the type it has alone; a null gets `null_type`.
Cell CellOf(const Value& value, CellType null_type = {});
// REQUIRES: no kInt128, and `cell` has no error.
Value ValueOf(const Cell& cell);

// The least and the greatest number that values of an integer or decimal type hold.
Int128 SmallestOf(ColumnType type);
Int128 LargestOf(ColumnType type);

// A point in time in microseconds, which are beyond 64 bits for some dates.
Int128 MicrosOf(const Cell& cell);

// The double nearest to a number. REQUIRES: neither null nor failed, and a number.
double RealOf(const Cell& cell);

// As expressions compare: numbers by what they are worth, doubles as IEEE 754 says. REQUIRES:
// comparable values, neither null nor failed.
std::partial_ordering CompareCells(const Cell& left, const Cell& right);
// Whether the engine's doubles may compare differently, because one is not exact.
bool MayCompareOtherwise(const Cell& left, const Cell& right);

// The order of sorts, minima and maxima: -0.0 is below 0.0, and NaN, which is one value, is above
// all others. REQUIRES: one type, neither null nor failed.
std::weak_ordering CompareTotally(const Cell& left, const Cell& right);
// The order in which equal values are one group: both zeros are equal, nulls are, and are below all
// else.
std::weak_ordering CompareGroups(const Cell& left, const Cell& right);

// Whether two values are the same: nulls, NaNs and all; zeros of different signs are not.
bool SameCell(const Cell& left, const Cell& right);
bool SameCells(const Cells& left, const Cells& right);

// For example "12.50", "null", "'text'", "x'00ff'", "2024-02-29", "NaN", "error".
std::string CellText(const Cell& cell);
std::string CellsText(const Cells& cells);
std::string TypeText(CellType type);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_CELL_H_
