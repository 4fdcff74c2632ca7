#include "wire/query.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "wire/bounds.h"
#include "wire/columns.h"
#include "wire/keys.h"

namespace eris::wire {
namespace {

using Kind = Expression::Kind;

static_assert(static_cast<int>(Kind::kColumn) == v1::Expression::KIND_COLUMN);
static_assert(static_cast<int>(Kind::kMultiply) == v1::Expression::KIND_MULTIPLY);
static_assert(static_cast<int>(Kind::kGreaterEqual) == v1::Expression::KIND_GREATER_EQUAL);
static_assert(static_cast<int>(Kind::kNot) == v1::Expression::KIND_NOT);
static_assert(static_cast<int>(Kind::kLike) == v1::Expression::KIND_LIKE);
static_assert(static_cast<int>(Kind::kDivide) == v1::Expression::KIND_DIVIDE);
static_assert(static_cast<int>(Kind::kDatePart) == v1::Expression::KIND_DATE_PART);
static_assert(static_cast<int>(Kind::kCase) == v1::Expression::KIND_CASE);
static_assert(static_cast<int>(Kind::kCast) == v1::Expression::KIND_CAST);
static_assert(static_cast<int>(Kind::kSubstring) == v1::Expression::KIND_SUBSTRING);
static_assert(static_cast<int>(Kind::kQuotient) == v1::Expression::KIND_QUOTIENT);
// The kinds behind it are of plans.
static_assert(static_cast<int>(Kind::kRemainder) == v1::Expression::Kind_MAX);
static_assert(static_cast<int>(Kind::kField) > v1::Expression::Kind_MAX);
static_assert(static_cast<int>(Kind::kSubquery) > v1::Expression::Kind_MAX);
static_assert(static_cast<int>(AggregateFunction::kCount) == v1::AggregateColumn::FUNCTION_COUNT);
static_assert(std::size(kAggregateFunctionNames) == v1::AggregateColumn::Function_MAX);

absl::Status CheckScale(absl::string_view what, uint32_t scale, uint32_t most) {
  if (scale <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " has scale ", scale, ", must be at most ", most));
}

absl::StatusOr<Value> ValueFrom(const v1::Value& message) {
  switch (message.value_case()) {
    case v1::Value::kI64:
      return Value(int64_t{message.i64()});
    case v1::Value::kU64:
      return Value(uint64_t{message.u64()});
    case v1::Value::kF64:
      return Value(message.f64());
    case v1::Value::kDate32:
      return Value(Date{message.date32()});
    case v1::Value::kTimestampUs:
      return Value(Timestamp{message.timestamp_us()});
    case v1::Value::kDecimal:
      ERIS_RETURN_IF_ERROR(
          CheckScale("a decimal literal", message.decimal().scale(), kDecimalScaleMax));
      return Value(
          Decimal{message.decimal().unscaled(), static_cast<uint8_t>(message.decimal().scale())});
    case v1::Value::kWideDecimal: {
      const v1::WideDecimal& wide = message.wide_decimal();
      ERIS_RETURN_IF_ERROR(CheckScale("a wide decimal literal", wide.scale(), kWideScaleMax));
      return Value(WideDecimal{{wide.low(), static_cast<uint64_t>(wide.high())},
                               static_cast<uint8_t>(wide.scale())});
    }
    case v1::Value::kString:
      if (message.string().size() > kTableStringBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("a string literal has ", message.string().size(),
                         " bytes, must have at most ", kTableStringBytesMax));
      }
      return Value(message.string());
    case v1::Value::kBytes:
      if (message.bytes().size() > kTableStringBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("a literal of bytes has ", message.bytes().size(), ", must have at most ",
                         kTableStringBytesMax));
      }
      return Value(Bytes{message.bytes()});
    default:
      return Value();
  }
}

void FillValue(const Value& value, v1::Value& message) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    message.set_i64(*number);
  } else if (const auto* large = std::get_if<uint64_t>(&value)) {
    message.set_u64(*large);
  } else if (const auto* real = std::get_if<double>(&value)) {
    message.set_f64(*real);
  } else if (const auto* date = std::get_if<Date>(&value)) {
    message.set_date32(date->days);
  } else if (const auto* time = std::get_if<Timestamp>(&value)) {
    message.set_timestamp_us(time->micros);
  } else if (const auto* decimal = std::get_if<Decimal>(&value)) {
    message.mutable_decimal()->set_unscaled(decimal->unscaled);
    message.mutable_decimal()->set_scale(decimal->scale);
  } else if (const auto* wide = std::get_if<WideDecimal>(&value)) {
    message.mutable_wide_decimal()->set_low(wide->unscaled.low);
    message.mutable_wide_decimal()->set_high(static_cast<int64_t>(wide->unscaled.high));
    message.mutable_wide_decimal()->set_scale(wide->scale);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    message.set_string(*text);
  } else if (const auto* bytes = std::get_if<Bytes>(&value)) {
    message.set_bytes(bytes->bytes);
  }
}

absl::Status FillExpression(const Expression& expression, v1::Expression& message) {
  if (expression.kind == Kind::kField || expression.kind == Kind::kSubquery) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression of a query has ",
                     expression.kind == Kind::kField ? "field " : "the value of node ",
                     expression.number, ": only expressions of plans have them"));
  }
  message.set_kind(static_cast<v1::Expression::Kind>(expression.kind));
  if (expression.kind == Kind::kColumn) message.set_column(expression.column);
  if (expression.kind == Kind::kLiteral) FillValue(expression.value, *message.mutable_value());
  if (expression.kind == Kind::kCast) {
    message.set_cast_type(ToProto(expression.type));
    message.set_cast_scale(expression.scale);
  }
  for (const Expression& argument : expression.arguments) {
    ERIS_RETURN_IF_ERROR(FillExpression(argument, *message.add_arguments()));
  }
  return absl::OkStatus();
}

absl::Status TakeCastType(const v1::Expression& message, Expression& out) {
  const auto* const type =
      std::find_if(std::begin(kCastTypes), std::end(kCastTypes),
                   [&message](ColumnType one) { return ToProto(one) == message.cast_type(); });
  if (type == std::end(kCastTypes)) {
    const auto append = [](std::string* text, ColumnType one) {
      text->append(v1::ColumnType_Name(ToProto(one)));
    };
    return absl::InvalidArgumentError(
        absl::StrCat("cast_type is ", static_cast<int>(message.cast_type()), ", must be one of ",
                     absl::StrJoin(kCastTypes, ", ", append)));
  }
  const uint32_t scale_max = *type == ColumnType::kDecimal  ? kDecimalScaleMax
                             : *type == ColumnType::kInt128 ? kWideScaleMax
                                                            : 0;
  ERIS_RETURN_IF_ERROR(CheckScale(absl::StrCat("a cast to ", ColumnTypeName(*type)),
                                  message.cast_scale(), scale_max));
  out.type = *type;
  out.scale = static_cast<uint8_t>(message.cast_scale());
  return absl::OkStatus();
}

// `size` counts the TreeNodes of the whole expression.
absl::Status TakeExpression(const v1::Expression& message, uint32_t depth, uint32_t& size,
                            Expression& out) {
  if (depth > kExpressionDepthMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression has more than ", kExpressionDepthMax, " levels"));
  }
  if (++size > kExpressionSizeMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("an expression has more than ", kExpressionSizeMax, " terms"));
  }
  if (message.kind() < v1::Expression::KIND_COLUMN || message.kind() > v1::Expression::Kind_MAX) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kind of an expression is ", static_cast<int>(message.kind()), ", must be 1 to ",
        static_cast<int>(v1::Expression::Kind_MAX), " (KIND_COLUMN to ",
        v1::Expression::Kind_Name(v1::Expression::Kind_MAX), ")"));
  }
  out.kind = static_cast<Kind>(message.kind());
  if (out.kind == Kind::kColumn) {
    out.column = message.column();
  } else if (out.kind == Kind::kLiteral) {
    ERIS_ASSIGN_OR_RETURN(out.value, ValueFrom(message.value()));
  } else if (out.kind == Kind::kCast) {
    ERIS_RETURN_IF_ERROR(TakeCastType(message, out));
  }
  // Reserves by the counted size, not by the message's claim, which may exceed the limit.
  for (const v1::Expression& argument : message.arguments()) {
    ERIS_RETURN_IF_ERROR(TakeExpression(argument, depth + 1, size, out.arguments.emplace_back()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Expression> ExpressionFrom(const v1::Expression& message) {
  uint32_t size = 0;
  Expression out;
  ERIS_RETURN_IF_ERROR(TakeExpression(message, 1, size, out));
  return out;
}

absl::StatusOr<ScanDirection> DirectionFrom(v1::ScanDirection direction) {
  switch (direction) {
    case v1::SCAN_DIRECTION_UNSPECIFIED:
    case v1::SCAN_DIRECTION_FORWARD:
      return ScanDirection::kForward;
    case v1::SCAN_DIRECTION_BACKWARD:
      return ScanDirection::kBackward;
    default:
      return absl::InvalidArgumentError(absl::StrCat("direction is ", static_cast<int>(direction),
                                                     ", must be 0 to 2 (forward, backward)"));
  }
}

absl::StatusOr<ValueRange> ValuesFrom(const v1::ValueRange& message) {
  ValueRange values{.lo = message.lo()};
  if (message.has_last()) values.last = message.last();
  if (!values.Inverted()) return values;
  return absl::InvalidArgumentError(
      absl::StrCat("values is inverted: last ", values.last, " is below lo ", values.lo));
}
void FillValues(const ValueRange& values, v1::ValueRange* message) {
  message->set_lo(values.lo);
  if (values.last != ValueRange{}.last) message->set_last(values.last);
}

absl::Status NoRange() {
  return absl::InvalidArgumentError(
      "range is set, but the object is a table, whose rows have no order: filter by its columns");
}

absl::Status TakeAggregates(const v1::Query& message, Query& query) {
  for (const v1::AggregateColumn& aggregate : message.aggregates()) {
    if (aggregate.function() < v1::AggregateColumn::FUNCTION_COUNT ||
        aggregate.function() > v1::AggregateColumn::Function_MAX) {
      return absl::InvalidArgumentError(
          absl::StrCat("function of aggregates[", query.aggregates.size(), "] is ",
                       static_cast<int>(aggregate.function()), ", must be 1 to ",
                       static_cast<int>(v1::AggregateColumn::Function_MAX), " (FUNCTION_COUNT to ",
                       v1::AggregateColumn::Function_Name(v1::AggregateColumn::Function_MAX), ")"));
    }
    AggregateColumn& to = query.aggregates.emplace_back();
    to.function = static_cast<AggregateFunction>(aggregate.function());
    if (aggregate.has_argument()) {
      ERIS_ASSIGN_OR_RETURN(to.argument, ExpressionFrom(aggregate.argument()));
    }
    to.name = aggregate.name();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Query> QueryFrom(ObjectKind kind, const Schema& schema, const v1::Query& message) {
  for (const auto& [what, count] : {std::pair("columns", message.columns_size()),
                                    std::pair("aggregates", message.aggregates_size()),
                                    std::pair("group_by columns", message.group_by_size())}) {
    if (static_cast<uint32_t>(count) > kTableColumnsMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a query of ", count, " ", what, ", must be at most ", kTableColumnsMax));
    }
  }
  Query query;
  if (!IsTable(kind)) {
    ERIS_ASSIGN_OR_RETURN(query.range, RangeFrom("range", KeyTypesOf(schema), message.range()));
  } else if (message.has_range() && message.range().ByteSizeLong() != 0) {
    return NoRange();
  }
  ERIS_ASSIGN_OR_RETURN(query.direction, DirectionFrom(message.direction()));
  if (message.has_values()) {
    ERIS_ASSIGN_OR_RETURN(query.values, ValuesFrom(message.values()));
  }
  if (message.has_filter()) {
    ERIS_ASSIGN_OR_RETURN(query.filter, ExpressionFrom(message.filter()));
  }
  for (const v1::NamedExpression& column : message.columns()) {
    NamedExpression& to = query.columns.emplace_back();
    ERIS_ASSIGN_OR_RETURN(to.expression, ExpressionFrom(column.expression()));
    to.name = column.name();
  }
  query.group_by.assign(message.group_by().begin(), message.group_by().end());
  ERIS_RETURN_IF_ERROR(TakeAggregates(message, query));
  if (message.has_share()) {
    const v1::TableShare& share = message.share();
    query.share = {AeuId{share.aeu()}, share.index(), std::max(share.count(), 1u)};
  }
  query.limit = message.limit();
  return query;
}

absl::Status FillQuery(ObjectKind kind, const Schema& schema, const Query& query,
                       v1::Query* message) {
  if (query.range != KeyRange{}) {
    if (IsTable(kind)) return NoRange();
    ERIS_RETURN_IF_ERROR(
        SetRange("range", KeyTypesOf(schema), query.range, *message->mutable_range()));
  }
  if (query.direction == ScanDirection::kBackward) {
    message->set_direction(v1::SCAN_DIRECTION_BACKWARD);
  }
  if (query.values) FillValues(*query.values, message->mutable_values());
  if (query.filter) {
    ERIS_RETURN_IF_ERROR(FillExpression(*query.filter, *message->mutable_filter()));
  }
  for (const NamedExpression& column : query.columns) {
    v1::NamedExpression& to = *message->add_columns();
    ERIS_RETURN_IF_ERROR(FillExpression(column.expression, *to.mutable_expression()));
    to.set_name(column.name);
  }
  for (const std::string& name : query.group_by) message->add_group_by(name);
  for (const AggregateColumn& aggregate : query.aggregates) {
    v1::AggregateColumn& to = *message->add_aggregates();
    to.set_function(static_cast<v1::AggregateColumn::Function>(aggregate.function));
    if (aggregate.argument) {
      ERIS_RETURN_IF_ERROR(FillExpression(*aggregate.argument, *to.mutable_argument()));
    }
    to.set_name(aggregate.name);
  }
  if (query.share) {
    message->mutable_share()->set_aeu(query.share->aeu.value);
    message->mutable_share()->set_index(query.share->index);
    message->mutable_share()->set_count(query.share->count);
  }
  message->set_limit(query.limit);
  return absl::OkStatus();
}

absl::StatusOr<AggregateOptions> AggregateOptionsFrom(ObjectKind kind, const Schema& schema,
                                                      const v1::AggregateRequest& request) {
  AggregateOptions options;
  if (!IsTable(kind)) {
    ERIS_ASSIGN_OR_RETURN(options.range, RangeFrom("range", KeyTypesOf(schema), request.range()));
  }
  if (request.has_values()) {
    ERIS_ASSIGN_OR_RETURN(options.values, ValuesFrom(request.values()));
  }
  options.count_only = request.count_only();
  return options;
}

absl::Status FillAggregateOptions(ObjectKind kind, const Schema& schema,
                                  const AggregateOptions& options, v1::AggregateRequest* request) {
  if (options.range != KeyRange{} && !IsTable(kind)) {
    ERIS_RETURN_IF_ERROR(
        SetRange("range", KeyTypesOf(schema), options.range, *request->mutable_range()));
  }
  if (options.values) FillValues(*options.values, request->mutable_values());
  request->set_count_only(options.count_only);
  return absl::OkStatus();
}

void FillAggregate(const Schema& schema, const RangeAggregate& rows,
                   v1::AggregateResponse* response) {
  response->set_count(rows.count);
  // A count alone does not set the keys.
  if (rows.count == 0 || rows.first_key > rows.last_key) return;
  response->set_min(rows.min);
  response->set_max(rows.max);
  response->set_sum_low(rows.sum_low);
  response->set_sum_high(rows.sum_high);
  const KeyTypes types = KeyTypesOf(schema);
  FillKey(types.first, rows.first_key, response->mutable_first_key());
  FillKey(types.first, rows.last_key, response->mutable_last_key());
  if (!types.two_parts()) return;
  FillKey(*types.second, rows.first_second, response->mutable_first_second());
  FillKey(*types.second, rows.last_second, response->mutable_last_second());
}

RangeAggregate AggregateFrom(const Schema& schema, const v1::AggregateResponse& response) {
  RangeAggregate rows{.count = response.count()};
  if (!response.has_min()) return rows;
  rows.min = response.min();
  rows.max = response.max();
  rows.sum_low = response.sum_low();
  rows.sum_high = response.sum_high();
  const KeyTypes types = KeyTypesOf(schema);
  rows.first_key = KeyFrom("first_key", types.first, response.first_key()).value_or(0);
  rows.last_key = KeyFrom("last_key", types.first, response.last_key()).value_or(0);
  if (!types.two_parts()) return rows;
  rows.first_second = KeyFrom("first_second", *types.second, response.first_second()).value_or(0);
  rows.last_second = KeyFrom("last_second", *types.second, response.last_second()).value_or(0);
  return rows;
}

}  // namespace eris::wire
