#include "server/substrait/literals.h"

#include <google/protobuf/descriptor.h>

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

}  // namespace

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
    case PlanLiteral::kDate:
      return LiteralPart(Date{literal.date()});
    case PlanLiteral::kDecimal:
      return TakeDecimal(literal.decimal(), place);
    case PlanLiteral::kNull:
      return LiteralPart(Value());
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
    case Type::kString:
    case Type::kVarchar:
    case Type::kFixedChar:
    case Type::kBinary:
      return ValueKind::kString;
    default:
      return std::nullopt;
  }
}

}  // namespace eris::server::plans
