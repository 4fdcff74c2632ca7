#include "server/substrait/literals.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>

#include "eris/schema.h"

namespace eris::server::plans {
namespace {

using ::substrait::Type;
using PlanLiteral = ::substrait::Expression::Literal;

constexpr size_t kDecimalBytes = 16;
constexpr int kTimestampDigitsMax = 12;

// 16 bytes, little-endian two's complement.
absl::StatusOr<Part> TakeDecimal(const PlanLiteral::Decimal& decimal, const Place& place) {
  if (decimal.value().size() != kDecimalBytes) {
    return Malformed(place, "a decimal of ", decimal.value().size(), " bytes, must have ",
                     kDecimalBytes);
  }
  if (decimal.scale() < 0 || decimal.scale() > kWideScaleMax) {
    return Malformed(place, "a decimal of scale ", decimal.scale(), ", must be 0 to ",
                     uint32_t{kWideScaleMax});
  }
  Int128Halves halves;
  for (size_t i = kDecimalBytes; i-- > 0;) {
    uint64_t& half = i < sizeof(uint64_t) ? halves.low : halves.high;
    half = half << 8 | static_cast<uint8_t>(decimal.value()[i]);
  }
  const auto scale = static_cast<uint8_t>(decimal.scale());
  const auto low = std::bit_cast<int64_t>(halves.low);
  const bool fits = halves.high == (low < 0 ? ~uint64_t{0} : 0);
  if (fits && scale <= kDecimalScaleMax) return LiteralPart(Decimal{low, scale});
  return LiteralPart(WideDecimal{halves, scale});
}

// A literal in units of 10^-digits seconds.
absl::StatusOr<Part> TakeTimestamp(int64_t value, int digits, const Place& place) {
  if (digits < 0 || digits > kTimestampDigitsMax) {
    return Malformed(place, "a timestamp of precision ", digits, ", must be 0 to ",
                     kTimestampDigitsMax);
  }
  int64_t micros = value;
  bool fits = true;
  for (int i = digits; i < kMicrosecondDigits; ++i) {
    fits = fits && !__builtin_mul_overflow(micros, 10, &micros);
  }
  for (int i = digits; i > kMicrosecondDigits; --i) {
    fits = fits && micros % 10 == 0;
    micros /= 10;
  }
  if (fits) return LiteralPart(Timestamp{micros});
  return Unsupported(place, "a timestamp of ", value, " units of precision ", digits,
                     digits > kMicrosecondDigits ? ", which are no whole microseconds,"
                                                 : ", which are too many microseconds for 64 bits,",
                     " is not supported");
}

}  // namespace

std::optional<int> TimestampDigits(const Type& type) {
  if (type.has_timestamp() || type.has_timestamp_tz()) return kMicrosecondDigits;
  if (type.has_precision_timestamp()) return type.precision_timestamp().precision();
  if (type.has_precision_timestamp_tz()) return type.precision_timestamp_tz().precision();
  return std::nullopt;
}

std::optional<ValueType> ColumnOfType(const Type& type) {
  switch (type.kind_case()) {
    case Type::kBool:
    case Type::kI8:
    case Type::kI16:
    case Type::kI32:
      return TypeOfColumn(ColumnType::kInt32, 0);
    case Type::kI64:
      return TypeOfColumn(ColumnType::kInt64, 0);
    case Type::kDecimal: {
      const bool narrow = type.decimal().precision() <= kDecimalScaleMax;
      const int scale = std::clamp<int>(type.decimal().scale(), 0, kWideScaleMax);
      return TypeOfColumn(narrow ? ColumnType::kDecimal : ColumnType::kInt128,
                          static_cast<uint8_t>(scale));
    }
    default:
      break;
  }
  const std::optional<ValueKind> kind = KindOfType(type);
  if (kind == ValueKind::kDouble) return TypeOfColumn(ColumnType::kFloat64, 0);
  if (kind == ValueKind::kDate) return TypeOfColumn(ColumnType::kDate, 0);
  if (kind == ValueKind::kTimestamp) return TypeOfColumn(ColumnType::kTimestamp, 0);
  if (kind == ValueKind::kString) return TypeOfColumn(ColumnType::kString, 0);
  if (kind == ValueKind::kBytes) return TypeOfColumn(ColumnType::kBytes, 0);
  return std::nullopt;
}

Part NullOfType(const Type& type) {
  Part null = LiteralPart(Value());
  if (const std::optional<ValueType> column = ColumnOfType(type)) {
    null.type.column = column->column;
    null.type.scale = column->scale;
  }
  return null;
}

absl::string_view NameInOneof(const google::protobuf::Message& message, const char* oneof) {
  const google::protobuf::OneofDescriptor* choice = message.GetDescriptor()->FindOneofByName(oneof);
  const google::protobuf::FieldDescriptor* field =
      message.GetReflection()->GetOneofFieldDescriptor(message, choice);
  return field == nullptr ? absl::string_view() : absl::string_view(field->name());
}

absl::StatusOr<Part> TakeLiteral(const PlanLiteral& literal, const Place& place) {
  switch (literal.literal_type_case()) {
    case PlanLiteral::kBoolean:
      return ConstantCondition(literal.boolean());
    case PlanLiteral::kI8:
      return LiteralPart(int64_t{literal.i8()});
    case PlanLiteral::kI16:
      return LiteralPart(int64_t{literal.i16()});
    case PlanLiteral::kI32:
      return LiteralPart(int64_t{literal.i32()});
    case PlanLiteral::kI64:
      return LiteralPart(int64_t{literal.i64()});
    case PlanLiteral::kFp32:
      return LiteralPart(double{literal.fp32()});
    case PlanLiteral::kFp64:
      return LiteralPart(literal.fp64());
    case PlanLiteral::kString:
      return LiteralPart(literal.string());
    case PlanLiteral::kFixedChar:
      return LiteralPart(literal.fixed_char());
    case PlanLiteral::kVarChar:
      return LiteralPart(literal.var_char().value());
    case PlanLiteral::kBinary:
      return LiteralPart(Bytes{literal.binary()});
    case PlanLiteral::kFixedBinary:
      return LiteralPart(Bytes{literal.fixed_binary()});
    case PlanLiteral::kDate:
      return LiteralPart(Date{literal.date()});
    case PlanLiteral::kTimestamp:
      return LiteralPart(Timestamp{literal.timestamp()});
    case PlanLiteral::kTimestampTz:
      return LiteralPart(Timestamp{literal.timestamp_tz()});
    case PlanLiteral::kPrecisionTimestamp:
      return TakeTimestamp(literal.precision_timestamp().value(),
                           literal.precision_timestamp().precision(), place);
    case PlanLiteral::kPrecisionTimestampTz:
      return TakeTimestamp(literal.precision_timestamp_tz().value(),
                           literal.precision_timestamp_tz().precision(), place);
    case PlanLiteral::kDecimal:
      return TakeDecimal(literal.decimal(), place);
    case PlanLiteral::kNull:
      return NullOfType(literal.null());
    case PlanLiteral::LITERAL_TYPE_NOT_SET:
      return Malformed(place, "the literal has no value");
    default:
      return Unsupported(place, "literals of type \"", NameInOneof(literal, "literal_type"),
                         "\" are not supported");
  }
}

std::optional<ValueKind> KindOfType(const Type& type) {
  switch (type.kind_case()) {
    case Type::kBool:
      return ValueKind::kCondition;
    case Type::kI8:
    case Type::kI16:
    case Type::kI32:
    case Type::kI64:
      return ValueKind::kInteger;
    case Type::kFp32:
    case Type::kFp64:
      return ValueKind::kDouble;
    case Type::kDecimal:
      return ValueKind::kDecimal;
    case Type::kDate:
      return ValueKind::kDate;
    case Type::kTimestamp:
    case Type::kTimestampTz:
    case Type::kPrecisionTimestamp:
    case Type::kPrecisionTimestampTz:
      return ValueKind::kTimestamp;
    case Type::kString:
    case Type::kVarchar:
    case Type::kFixedChar:
      return ValueKind::kString;
    case Type::kBinary:
    case Type::kFixedBinary:
      return ValueKind::kBytes;
    default:
      return std::nullopt;
  }
}

}  // namespace eris::server::plans
