// An expression that the reader has translated, with what it knows about it: the kind of its
// values, as far as casts and functions need it, and its size. The engine checks types in full.
// Any thread, no state.
#ifndef ERIS_SERVER_SUBSTRAIT_PART_H_
#define ERIS_SERVER_SUBSTRAIT_PART_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/expression.h"
#include "eris/schema.h"
#include "server/substrait/place.h"

namespace eris::server::plans {

// A kTruth is a value that was a condition: 1, 0 or null.
enum class ValueKind : uint8_t {
  kNull,
  kCondition,
  kTruth,
  kInteger,
  kDecimal,
  kDouble,
  kDate,
  kTimestamp,
  kString,
  kBytes,
};

struct ValueType {
  ValueKind kind = ValueKind::kNull;
  // Where it is known exactly: the type of a column of that kind, and its scale; of a null the one
  // that the plan gives it.
  std::optional<ColumnType> column{};
  uint8_t scale = 0;
  friend bool operator==(const ValueType&, const ValueType&) = default;
};
inline constexpr ValueType kConditionType{.kind = ValueKind::kCondition};
inline constexpr ValueType kTruthType{.kind = ValueKind::kTruth, .column = ColumnType::kInt32};
ValueType TypeOfColumn(ColumnType type, uint8_t scale);
inline bool IsNumber(ValueKind kind) {
  return kind == ValueKind::kInteger || kind == ValueKind::kDecimal || kind == ValueKind::kDouble;
}
inline bool IsTime(ValueKind kind) {
  return kind == ValueKind::kDate || kind == ValueKind::kTimestamp;
}
// "a date", "a condition": for messages.
absl::string_view KindText(ValueKind kind);

struct Part {
  Expression expression{};
  ValueType type{};
  uint32_t size = 1;  // TreeNodes of the expression, and its levels
  uint32_t levels = 1;

  // The value of a literal, else nullptr.
  const Value* literal() const {
    return expression.kind == Expression::Kind::kLiteral ? &expression.value : nullptr;
  }
};

Part LiteralPart(Value value);

// An operation of at least one argument. Errors: InvalidArgument (larger than kExpressionSizeMax,
// or deeper than kExpressionDepthMax).
absl::StatusOr<Part> Compose(Expression::Kind kind, std::vector<Part> arguments, ValueType type,
                             const Place& place);
absl::StatusOr<Part> Compose(Expression::Kind kind, Part left, Part right, ValueType type,
                             const Place& place);
absl::StatusOr<Part> Compose(Expression::Kind kind, Part argument, ValueType type,
                             const Place& place);

// kAnd or kOr over conditions; arguments of the same kind are taken apart, so that a chain of pairs
// becomes one operation. One argument is returned as it is. Errors: as Compose, and InvalidArgument
// (no argument, or one that is no condition).
absl::StatusOr<Part> Connect(Expression::Kind kind, std::vector<Part> arguments,
                             const Place& place);

// A condition of a constant: ERIS writes it as a comparison of literals.
Part ConstantCondition(std::optional<bool> value);
bool IsTrue(const Expression& expression);
// The part as a condition; a null is one, too. Errors: InvalidArgument (a value other than a truth;
// limits as in Compose).
absl::StatusOr<Part> AsCondition(Part part, const Place& place);
// The part as a value that has a type: a condition becomes a kTruth, a literal null one of the type
// that the plan gives it, without one an int32. Errors: limits as in Compose.
absl::StatusOr<Part> AsValue(Part part, const Place& place);
// The same where a number must be: a literal null becomes one of a type of numbers.
absl::StatusOr<Part> AsNumber(Part part, const Place& place);
// A kCase of these arguments: pairs of a condition and a value, and maybe a last value. Values may
// be conditions, and all of them nulls. Errors: InvalidArgument (values of different kinds; limits
// as in Compose).
absl::StatusOr<Part> ComposeCase(std::vector<Part> arguments, const Place& place);
// Makes values of two parts that are compared. Errors: InvalidArgument (they cannot be compared;
// limits as in Compose).
absl::Status MakeComparable(Part& left, Part& right, const Place& place);

// Calls function(number) for the number of each kField, which may change it.
template <class Function>
void ForEachField(Expression& expression, const Function& function) {
  if (expression.kind == Expression::Kind::kField) function(expression.number);
  for (Expression& argument : expression.arguments) ForEachField(argument, function);
}

}  // namespace eris::server::plans

#endif  // ERIS_SERVER_SUBSTRAIT_PART_H_
