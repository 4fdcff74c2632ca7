#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <variant>

#include "base/status_macros.h"
#include "eris/key_text.h"
#include "eris/schema.h"
#include "server/substrait/literals.h"

namespace eris::server::plans {
namespace {

using ::substrait::Type;

// A double holds each integer up to this one, and each power of ten up to that one: a quotient of
// two such numbers is rounded once.
constexpr int64_t kExactDoubleMax = int64_t{1} << std::numeric_limits<double>::digits;
constexpr uint8_t kExactPowerMax = 22;
// The digits that any i64 has room for, so a decimal of that precision is a kDecimal.
constexpr int kNarrowDigitsMax = std::numeric_limits<int64_t>::digits10;
static_assert(kNarrowDigitsMax == kDecimalScaleMax);
constexpr int kDecimalDigitsMax = 38;
static_assert(kDecimalDigitsMax >= kWideScaleMax);

// unscaled * 10^digits, nullopt beyond an i64.
std::optional<int64_t> Shifted(int64_t unscaled, int digits) {
  for (; digits > 0; --digits) {
    if (__builtin_mul_overflow(unscaled, 10, &unscaled)) return std::nullopt;
  }
  return unscaled;
}

std::optional<Value> FoldInteger(int64_t number, ColumnType type, uint8_t scale) {
  switch (type) {
    case ColumnType::kInt32:
      if (number != static_cast<int32_t>(number)) return std::nullopt;
      return Value(number);
    case ColumnType::kInt64:
      return Value(number);
    case ColumnType::kFloat64:
      return Value(static_cast<double>(number));
    case ColumnType::kDecimal:
      if (const std::optional<int64_t> unscaled = Shifted(number, scale)) {
        return Value(Decimal{*unscaled, scale});
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<Value> FoldDecimal(const Decimal& decimal, ColumnType type, uint8_t scale) {
  if (type == ColumnType::kDecimal && scale >= decimal.scale) {
    const std::optional<int64_t> unscaled = Shifted(decimal.unscaled, scale - decimal.scale);
    if (unscaled) return Value(Decimal{*unscaled, scale});
  }
  static_assert(kDecimalScaleMax <= kExactPowerMax);
  if (type == ColumnType::kFloat64 && decimal.unscaled >= -kExactDoubleMax &&
      decimal.unscaled <= kExactDoubleMax) {
    return Value(static_cast<double>(decimal.unscaled) / std::pow(10.0, decimal.scale));
  }
  return std::nullopt;
}

// The literal that a cast of a literal gives; nullopt where the engine has to compute it.
std::optional<Value> Fold(const Value& value, ColumnType type, uint8_t scale) {
  if (const auto* number = std::get_if<int64_t>(&value)) return FoldInteger(*number, type, scale);
  if (const auto* decimal = std::get_if<Decimal>(&value)) return FoldDecimal(*decimal, type, scale);
  if (std::holds_alternative<double>(value) && type == ColumnType::kFloat64) return value;
  return std::nullopt;
}

// The type of a column with the values of a type of numbers.
absl::StatusOr<ValueType> NumberType(const Type& type, const Place& place) {
  switch (type.kind_case()) {
    case Type::kI32:
      return TypeOfColumn(ColumnType::kInt32, 0);
    case Type::kI64:
      return TypeOfColumn(ColumnType::kInt64, 0);
    case Type::kFp64:
      return TypeOfColumn(ColumnType::kFloat64, 0);
    case Type::kDecimal: {
      const int precision = type.decimal().precision();
      const int scale = type.decimal().scale();
      if (precision < 1 || precision > kDecimalDigitsMax || scale < 0 || scale > precision) {
        return Malformed(place, "a cast to decimal(", precision, ", ", scale, ")");
      }
      if (scale > kWideScaleMax) {
        return Unsupported(place, "a cast to decimal(", precision, ", ", scale,
                           "): numbers have at most ", uint32_t{kWideScaleMax},
                           " digits behind the point");
      }
      return TypeOfColumn(
          precision <= kNarrowDigitsMax ? ColumnType::kDecimal : ColumnType::kInt128,
          static_cast<uint8_t>(scale));
    }
    default:
      return Unsupported(place, "casts to \"", NameInOneof(type, "kind"), "\" are not supported");
  }
}

absl::StatusOr<Part> CastNumber(Part part, const Type& type, bool null_on_failure,
                                const Place& place) {
  ERIS_ASSIGN_OR_RETURN(const ValueType target, NumberType(type, place));
  if (part.type == target) return part;
  if (const Value* value = part.literal()) {
    if (std::optional<Value> folded = Fold(*value, *target.column, target.scale)) {
      Part literal = LiteralPart(*std::move(folded));
      literal.type = target;
      return literal;
    }
  }
  if (null_on_failure) {
    return Unsupported(place, "a cast that gives null on failure is not supported");
  }
  ERIS_ASSIGN_OR_RETURN(Part cast,
                        Compose(Expression::Kind::kCast, std::move(part), target, place));
  cast.expression.type = *target.column;
  cast.expression.scale = target.scale;
  return cast;
}

// To a type of strings. Those with a length would cut or fill a text: known only for literals.
absl::StatusOr<Part> CastString(Part part, const Type& type, const Place& place) {
  const bool has_length = type.has_varchar() || type.has_fixed_char();
  if (!has_length) return part;
  const Value* value = part.literal();
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  const int length = type.has_varchar() ? type.varchar().length() : type.fixed_char().length();
  // Bytes are at least as many as characters.
  if (text != nullptr && type.has_varchar() && static_cast<int64_t>(text->size()) <= length) {
    return part;
  }
  return Unsupported(place, "casts to \"", NameInOneof(type, "kind"), "\" are not supported");
}

// To bytes: those of a text, known for literals alone.
absl::StatusOr<Part> CastBytes(Part part, const Type& type, const Place& place) {
  const Value* value = part.literal();
  const std::string* bytes = nullptr;
  if (value != nullptr) {
    const auto* literal = std::get_if<Bytes>(value);
    bytes = literal != nullptr ? &literal->bytes : std::get_if<std::string>(value);
  }
  // A length would cut or fill them.
  if (type.has_fixed_binary()) {
    const bool fits =
        bytes != nullptr && bytes->size() == static_cast<uint64_t>(type.fixed_binary().length());
    if (!fits) bytes = nullptr;
  } else if (part.type.kind == ValueKind::kBytes) {
    return part;
  }
  if (bytes != nullptr) return LiteralPart(Bytes{*bytes});
  return Unsupported(place, "casts of ", KindText(part.type.kind), " to \"",
                     NameInOneof(type, "kind"), "\" are not supported");
}

// To a date or a timestamp, from another of them or from a literal's text.
absl::StatusOr<Part> CastTime(Part part, const Type& type, ValueKind to, bool null_on_failure,
                              const Place& place) {
  const int digits = TimestampDigits(type).value_or(kMicrosecondDigits);
  if (digits < kMicrosecondDigits && part.type.kind != ValueKind::kDate) {
    return Unsupported(place, "a cast to timestamps of precision ", digits,
                       ", which drops digits, is not supported: they have microseconds");
  }
  if (part.type.kind == to) return part;
  const bool to_date = to == ValueKind::kDate;
  const ColumnType column = to_date ? ColumnType::kDate : ColumnType::kTimestamp;
  const Value* const value = part.literal();
  const auto* const text = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (text != nullptr) {
    if (int32_t days = 0; to_date && ParseDate(*text, days)) return LiteralPart(Date{days});
    if (int64_t micros = 0; !to_date && ParseTimestamp(*text, micros)) {
      return LiteralPart(Timestamp{micros});
    }
    if (null_on_failure) return NullOfType(type);
    return Malformed(place, "\"", *text, "\" is not a ", KeyTypeRange(column));
  }
  if (!IsTime(part.type.kind)) {
    return Unsupported(place, "casts of ", KindText(part.type.kind), " to \"",
                       NameInOneof(type, "kind"), "\" are not supported");
  }
  if (value != nullptr) {
    if (to_date) return LiteralPart(Date{DayOfTimestamp(std::get<Timestamp>(*value).micros)});
    const std::optional<int64_t> micros = TimestampOfDay(std::get<Date>(*value).days);
    if (micros) return LiteralPart(Timestamp{*micros});
  }
  if (null_on_failure && !to_date) {
    return Unsupported(place, "a cast that gives null on failure is not supported");
  }
  ERIS_ASSIGN_OR_RETURN(
      Part cast, Compose(Expression::Kind::kCast, std::move(part), TypeOfColumn(column, 0), place));
  cast.expression.type = column;
  return cast;
}

// To a condition: a number is one that is not 0.
absl::StatusOr<Part> CastTruth(Part part, const Place& place) {
  if (!IsNumber(part.type.kind)) return AsCondition(std::move(part), place);
  return Compose(Expression::Kind::kNotEqual, std::move(part), LiteralPart(int64_t{0}),
                 kConditionType, place);
}

}  // namespace

absl::StatusOr<Part> CastPart(Part part, const Type& type, bool null_on_failure,
                              const Place& place) {
  if (type.kind_case() == Type::KIND_NOT_SET) return Malformed(place, "the cast has no type");
  const std::optional<ValueKind> to = KindOfType(type);
  const ValueKind from = part.type.kind;
  if (to.has_value() && from == ValueKind::kNull) return NullOfType(type);  // null in each row
  if (to == ValueKind::kCondition) return CastTruth(std::move(part), place);
  if (from == ValueKind::kCondition || from == ValueKind::kTruth) {
    ERIS_ASSIGN_OR_RETURN(part, AsValue(std::move(part), place));
    if (to.has_value() && IsNumber(*to)) {
      part.type = TypeOfColumn(ColumnType::kInt32, 0);
      return CastNumber(std::move(part), type, null_on_failure, place);
    }
  }
  if (to.has_value() && IsNumber(*to) && IsNumber(from)) {
    return CastNumber(std::move(part), type, null_on_failure, place);
  }
  if (to == ValueKind::kString && from == ValueKind::kString) {
    return CastString(std::move(part), type, place);
  }
  if (to == ValueKind::kBytes && (from == ValueKind::kBytes || from == ValueKind::kString)) {
    return CastBytes(std::move(part), type, place);
  }
  if (to.has_value() && IsTime(*to)) {
    return CastTime(std::move(part), type, *to, null_on_failure, place);
  }
  if (to == from) return part;
  return Unsupported(place, "casts of ", KindText(from), " to \"", NameInOneof(type, "kind"),
                     "\" are not supported");
}

}  // namespace eris::server::plans
