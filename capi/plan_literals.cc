#include "capi/plan_literals.h"

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "capi/guard.h"
#include "capi/queries.h"
#include "text/expression_text.h"

namespace eris::capi {
namespace {

// A number of a literal, times 10^-scale.
struct Number {
  absl::int128 unscaled = 0;
  int scale = 0;
};

std::optional<Number> NumberOf(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return Number{*number, 0};
  if (const auto* number = std::get_if<uint64_t>(&value)) return Number{*number, 0};
  if (const auto* decimal = std::get_if<Decimal>(&value)) {
    return Number{decimal->unscaled, decimal->scale};
  }
  return std::nullopt;
}

// The number at another scale. Nothing: digits would be lost.
std::optional<absl::int128> AtScale(Number number, int scale) {
  for (; number.scale < scale; ++number.scale) number.unscaled *= 10;  // at most 19 + 18 digits
  for (; number.scale > scale; --number.scale) {
    if (number.unscaled % 10 != 0) return std::nullopt;
    number.unscaled /= 10;
  }
  return number.unscaled;
}

template <class T>
std::optional<Value> Fitting(const std::optional<absl::int128>& number) {
  if (!number || *number < std::numeric_limits<T>::min() ||
      *number > std::numeric_limits<T>::max()) {
    return std::nullopt;
  }
  return Value(static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(*number));
}

// Nothing: the value is not the column's.
std::optional<Value> ValueOf(const ColumnSchema& column, const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) {
    return column.nullable ? std::optional(value) : std::nullopt;
  }
  const std::optional<Number> number = NumberOf(value);
  const std::optional<absl::int128> scaled = number ? AtScale(*number, column.scale) : std::nullopt;
  switch (column.type) {
    case ColumnType::kInt32:
      return Fitting<int32_t>(scaled);
    case ColumnType::kInt64:
      return Fitting<int64_t>(scaled);
    case ColumnType::kUint64:
      return Fitting<uint64_t>(scaled);
    case ColumnType::kDecimal: {
      const std::optional<Value> unscaled = Fitting<int64_t>(scaled);
      if (!unscaled) return std::nullopt;
      return Decimal{.unscaled = std::get<int64_t>(*unscaled), .scale = column.scale};
    }
    case ColumnType::kFloat64:
      if (number) {
        return static_cast<double>(number->unscaled) / std::pow(10.0, number->scale);
      }
      return std::holds_alternative<double>(value) ? std::optional(value) : std::nullopt;
    case ColumnType::kDate:
      return std::holds_alternative<Date>(value) ? std::optional(value) : std::nullopt;
    case ColumnType::kTimestamp:
      return std::holds_alternative<Timestamp>(value) ? std::optional(value) : std::nullopt;
    case ColumnType::kString:
      return std::holds_alternative<std::string>(value) ? std::optional(value) : std::nullopt;
    case ColumnType::kBytes:
      return std::holds_alternative<Bytes>(value) ? std::optional(value) : std::nullopt;
    case ColumnType::kInt128:
      return std::nullopt;  // of results only
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Value> LiteralFrom(const ColumnSchema& column, const char* text) {
  ERIS_RETURN_IF_ERROR(Need({{"literals", text}}));
  absl::StatusOr<Expression> read = text::ParseExpression(text);
  if (!read.ok()) return Within("literals", read.status());
  if (read->kind == Expression::Kind::kLiteral) {
    if (std::optional<Value> value = ValueOf(column, read->value)) return *std::move(value);
  }
  return absl::InvalidArgumentError(absl::StrCat("literals: \"", text,
                                                 "\" is no value of column \"", column.name,
                                                 "\" of type ", ColumnTypeName(column.type)));
}

}  // namespace eris::capi
