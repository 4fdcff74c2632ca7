// The result of compiling a plan. Values come after the values that they are computed from, and
// equal ones occur once. Conditions have their `not` moved into the leaves. Aggregates are split
// into sums, extremes and counts. Immutable; read by the runs of all AEUs. Paper: ERIS 3.1.
//
// A condition is evaluated only to find the rows for which it is true. With `not` only in the
// leaves, this needs no third truth value: true(a and b) = true(a) & true(b), and a null is true in
// no leaf.
#ifndef ERIS_STORAGE_TABLE_PLAN_BODY_H_
#define ERIS_STORAGE_TABLE_PLAN_BODY_H_

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "eris/query.h"
#include "storage/table/kernels/exact_number.h"
#include "storage/table/plan/like_pattern.h"

namespace eris::storage {

// The arithmetic of a value, whatever its type.
enum class ValueClass : uint8_t { kSigned, kUnsigned, kDouble, kString, kInt128 };

constexpr ValueClass ClassOf(ColumnType type) {
  return VisitColumnType(type, []<class T>(ColumnTraits<T>) {
    if constexpr (std::is_void_v<T>) return ValueClass::kString;
    if constexpr (std::is_floating_point_v<T>) return ValueClass::kDouble;
    if constexpr (std::is_same_v<T, Int128Halves>) return ValueClass::kInt128;
    // An i64 holds all values of narrower integers.
    return std::is_same_v<T, uint64_t> ? ValueClass::kUnsigned : ValueClass::kSigned;
  });
}

// One value of a class of 64 bits, by whose name it is read.
union Scalar {
  int64_t i64;
  uint64_t u64;
  double f64;

  // As one of a column, whose values are of this class.
  template <class T>
  T As() const {
    if constexpr (std::is_floating_point_v<T>) {
      return f64;
    } else {
      return static_cast<T>(u64);
    }
  }
};

struct ValueNode {
  enum class Op : uint8_t {
    kColumn,
    kConstant,
    kNull,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kQuotient,
    kRemainder,
    kToDouble,
    kDatePart,
    kCase,
    kCast,
    kSubstring,
  };
  Op op = Op::kColumn;
  ValueClass value_class = ValueClass::kSigned;
  ColumnType type = ColumnType::kInt64;  // type of a result column
  uint8_t scale = 0;
  bool nullable = false;
  uint32_t column = 0;              // kColumn: index in the table
  Scalar constant{.i64 = 0};        // kConstant of 64 bits
  Int128 wide = 0;                  // kConstant of kInt128
  std::string string{};             // kConstant of kString
  uint32_t left = 0, right = 0;     // arguments, as numbers of values; one alone: left
  uint8_t left_power = 0;           // the power of ten by which an argument of arithmetic other
  uint8_t right_power = 0;          // than kMultiply is multiplied first
  DatePart part = DatePart::kYear;  // kDatePart
  int64_t first = 1;                // kSubstring: the first character, from 1 on
  int64_t characters = 0;           // and how many; kAllCharacters: all behind it
  // kCase: predicates, and a value for each; one more value: where none of them is true. Where
  // there is none either, it is null.
  std::vector<uint32_t> conditions{};
  std::vector<uint32_t> branches{};
  std::vector<uint32_t> tested{};  // kCase: the values that the conditions look at
  // The branch or condition of a kCase in which the value is computed; 0: none. Values of different
  // scopes are computed for different rows, so that they are not the same.
  uint32_t scope = 0;
  std::string text{};  // source text, for errors

  static constexpr int64_t kAllCharacters = std::numeric_limits<int64_t>::max();
  bool IsColumn() const { return op == Op::kColumn; }
  bool IsConstant() const { return op == Op::kConstant; }
};

// A constant that is a number or a date.
inline Int128 IntegerOf(const ValueNode& constant) {
  switch (constant.value_class) {
    case ValueClass::kInt128:
      return constant.wide;
    case ValueClass::kUnsigned:
      return constant.constant.u64;
    default:
      return constant.constant.i64;
  }
}

struct PredicateNode {
  enum class Kind : uint8_t {
    kAll,      // every row
    kNone,     // no row
    kAnd,      // of children
    kOr,       // of children
    kRange,    // value within [lo, hi], in its class
    kSet,      // value among `set`, ascending by its class
    kCompare,  // value `comparison` other
    kString,   // string passes `test`
    kIsNull,
  };
  enum class Comparison : uint8_t { kEqual, kLess, kLessEqual };
  Kind kind = Kind::kAll;
  // For leaves: true for the other values, except nulls.
  bool negated = false;
  Comparison comparison = Comparison::kEqual;
  uint32_t value = 0, other = 0;
  Scalar lo{.i64 = 0}, hi{.i64 = 0};
  std::vector<Scalar> set{};
  struct StringRange {
    bool has_lo = false, has_hi = false;
    bool lo_included = false, hi_included = false;
    std::string lo{}, hi{};
  };
  enum class StringTest : uint8_t { kSet, kRange, kLike };
  StringTest test = StringTest::kSet;
  std::vector<std::string> strings{};  // kSet: ascending
  StringRange range{};
  LikePattern pattern{};
  std::vector<uint32_t> children{};
};

struct Accumulator {
  // kCount: counts rows that are not null. kValues: keeps all values, none of them a string.
  enum class Kind : uint8_t { kSum, kMin, kMax, kCount, kValues };
  Kind kind = Kind::kSum;
  uint32_t value = 0;
  friend bool operator==(const Accumulator&, const Accumulator&) = default;
};

struct AggregateResult {
  static constexpr uint32_t kNoAccumulator = ~uint32_t{0};
  AggregateFunction function = AggregateFunction::kCount;
  uint32_t accumulator = kNoAccumulator;  // none: kCount of all rows
  uint32_t count = kNoAccumulator;        // counts the rows that were aggregated; none: all
  ValueClass value_class = ValueClass::kSigned;
  uint8_t scale = 0;
  bool real_median = false;  // kMedian: the result is a double
};

// Most values of one plan: each may need a block of memory in every run.
inline constexpr uint32_t kPlanValuesMax = 1024;

class PlanBody {
 public:
  std::vector<ValueNode> values{};
  std::vector<PredicateNode> predicates{};
  std::vector<uint32_t> conjuncts{};  // predicates, all of which a row must pass, in this order
  std::vector<uint32_t> case_conditions{};  // those of all values that are a kCase
  std::vector<uint32_t> outputs{};          // values returned for each row
  std::vector<uint32_t> group_columns{};    // columns of the rows
  std::vector<ColumnType> group_types{};    // and their types
  uint16_t carried = 0;                     // bit i: the others determine group column i
  std::vector<Accumulator> accumulators{};
  std::vector<AggregateResult> results{};

  bool IsCarried(size_t group_column) const { return (carried >> group_column & 1) != 0; }
};
static_assert(kGroupColumnsMax <= 16);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_PLAN_BODY_H_
