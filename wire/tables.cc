#include "wire/tables.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::wire {
namespace {

using Kind = Expression::Kind;

static_assert(static_cast<int>(Kind::kColumn) == v1::Expression::KIND_COLUMN);
static_assert(static_cast<int>(Kind::kMultiply) == v1::Expression::KIND_MULTIPLY);
static_assert(static_cast<int>(Kind::kGreaterEqual) == v1::Expression::KIND_GREATER_EQUAL);
static_assert(static_cast<int>(Kind::kNot) == v1::Expression::KIND_NOT);
static_assert(static_cast<int>(AggregateFunction::kCount) == v1::AggregateColumn::FUNCTION_COUNT);
static_assert(static_cast<int>(AggregateFunction::kAverage) ==
              v1::AggregateColumn::FUNCTION_AVERAGE);

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
    case v1::Value::kDecimal:
      if (message.decimal().scale() > kDecimalScaleMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("a decimal literal has scale ", message.decimal().scale(),
                         ", must be at most ", uint32_t{kDecimalScaleMax}));
      }
      return Value(
          Decimal{message.decimal().unscaled(), static_cast<uint8_t>(message.decimal().scale())});
    case v1::Value::kString:
      if (message.string().size() > kTableStringBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat("a string literal has ", message.string().size(),
                         " bytes, must have at most ", kTableStringBytesMax));
      }
      return Value(message.string());
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
  } else if (const auto* decimal = std::get_if<Decimal>(&value)) {
    message.mutable_decimal()->set_unscaled(decimal->unscaled);
    message.mutable_decimal()->set_scale(decimal->scale);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    message.set_string(*text);
  }
}

void FillExpression(const Expression& expression, v1::Expression& message) {
  message.set_kind(static_cast<v1::Expression::Kind>(expression.kind));
  if (expression.kind == Expression::Kind::kColumn) message.set_column(expression.column);
  if (expression.kind == Expression::Kind::kLiteral) {
    FillValue(expression.value, *message.mutable_value());
  }
  for (const Expression& argument : expression.arguments) {
    FillExpression(argument, *message.add_arguments());
  }
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
  if (message.kind() < v1::Expression::KIND_COLUMN || message.kind() > v1::Expression::KIND_NOT) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kind of an expression is ", static_cast<int>(message.kind()), ", must be 1 to ",
        static_cast<int>(v1::Expression::KIND_NOT), " (KIND_COLUMN to KIND_NOT)"));
  }
  out.kind = static_cast<Kind>(message.kind());
  if (out.kind == Kind::kColumn) {
    out.column = message.column();
  } else if (out.kind == Kind::kLiteral) {
    ERIS_ASSIGN_OR_RETURN(out.value, ValueFrom(message.value()));
  }
  // Reserved by the size, not by what the message says: it may say more than is allowed.
  for (const v1::Expression& argument : message.arguments()) {
    ERIS_RETURN_IF_ERROR(TakeExpression(argument, depth + 1, size, out.arguments.emplace_back()));
  }
  return absl::OkStatus();
}

std::optional<uint32_t> ColumnOf(const Schema& schema, absl::string_view name) {
  for (uint32_t column = 0; column < schema.columns.size(); ++column) {
    if (schema.columns[column].name == name) return column;
  }
  return std::nullopt;
}

absl::StatusOr<Expression> ExpressionFrom(const v1::Expression& message) {
  uint32_t size = 0;
  Expression out;
  ERIS_RETURN_IF_ERROR(TakeExpression(message, 1, size, out));
  return out;
}

}  // namespace

v1::ColumnType ToProto(ColumnType type) {
  switch (type) {
    case ColumnType::kInt32:
      return v1::COLUMN_TYPE_INT32;
    case ColumnType::kInt64:
      return v1::COLUMN_TYPE_INT64;
    case ColumnType::kUint64:
      return v1::COLUMN_TYPE_UINT64;
    case ColumnType::kFloat64:
      return v1::COLUMN_TYPE_FLOAT64;
    case ColumnType::kDate:
      return v1::COLUMN_TYPE_DATE32;
    case ColumnType::kDecimal:
      return v1::COLUMN_TYPE_DECIMAL64;
    case ColumnType::kString:
      return v1::COLUMN_TYPE_BYTES;
    case ColumnType::kInt128:
      return v1::COLUMN_TYPE_DECIMAL128;
  }
  return v1::COLUMN_TYPE_UNSPECIFIED;
}

absl::StatusOr<ColumnType> ColumnTypeFrom(absl::string_view name, v1::ColumnType type) {
  for (const ColumnType one :
       {ColumnType::kInt32, ColumnType::kInt64, ColumnType::kUint64, ColumnType::kFloat64,
        ColumnType::kDate, ColumnType::kDecimal, ColumnType::kString}) {
    if (ToProto(one) == type) return one;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("column ", name, ": type is ", static_cast<int>(type),
                   ", must be INT32, INT64, UINT64, FLOAT64, DATE32, DECIMAL64 or BYTES"));
}

absl::StatusOr<Schema> SchemaFrom(const v1::TableSchema& message) {
  if (message.columns_size() < 1 ||
      static_cast<uint32_t>(message.columns_size()) > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a table of ", message.columns_size(),
                                                   " columns, must have 1 to ", kTableColumnsMax));
  }
  Schema schema;
  for (const v1::TableColumn& from : message.columns()) {
    if (from.name().size() > kColumnNameBytesMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("the name of column ", schema.columns.size(), " has ", from.name().size(),
                       " bytes, must have at most ", kColumnNameBytesMax));
    }
    ColumnSchema& column = schema.columns.emplace_back();
    column.name = from.name();
    ERIS_ASSIGN_OR_RETURN(column.type, ColumnTypeFrom(from.name(), from.type()));
    const uint32_t scale_max = column.type == ColumnType::kDecimal ? kDecimalScaleMax : 0;
    if (from.scale() > scale_max) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column ", from.name(), ": scale is ", from.scale(), ", must be at most ", scale_max));
    }
    column.scale = static_cast<uint8_t>(from.scale());
    column.nullable = from.nullable();
  }
  if (static_cast<uint32_t>(message.key_size()) > kTableKeyColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a key of ", message.key_size(), " columns, must have at most ", kTableKeyColumnsMax));
  }
  for (const std::string& name : message.key()) {
    const std::optional<uint32_t> column = ColumnOf(schema, name);
    if (!column) {
      return absl::InvalidArgumentError(
          absl::StrCat("key column \"", absl::string_view(name).substr(0, kColumnNameBytesMax),
                       "\" is no column of the table"));
    }
    schema.key.push_back(*column);
  }
  return schema;
}

void FillSchema(const Schema& schema, v1::TableSchema* message) {
  for (const ColumnSchema& column : schema.columns) {
    v1::TableColumn* to = message->add_columns();
    to->set_name(column.name);
    to->set_type(ToProto(column.type));
    to->set_scale(column.scale);
    to->set_nullable(column.nullable);
  }
  for (const uint32_t column : schema.key) message->add_key(schema.columns[column].name);
}

absl::StatusOr<Schema> AnsweredSchemaFrom(const v1::TableSchema& message) {
  Schema schema;
  for (const v1::TableColumn& from : message.columns()) {
    ColumnSchema& column = schema.columns.emplace_back();
    column.name = from.name();
    column.scale = static_cast<uint8_t>(from.scale());
    column.nullable = from.nullable();
    const auto type = from.type() == ToProto(ColumnType::kInt128)
                          ? absl::StatusOr<ColumnType>(ColumnType::kInt128)
                          : ColumnTypeFrom(from.name(), from.type());
    if (!type.ok()) {
      return absl::InternalError(absl::StrCat("the server sent column ", from.name(), " of type ",
                                              static_cast<int>(from.type())));
    }
    column.type = *type;
  }
  for (const std::string& name : message.key()) {
    const std::optional<uint32_t> column = ColumnOf(schema, name);
    if (!column) {
      return absl::InternalError(
          absl::StrCat("the server sent key column ", name, ", which the table has not"));
    }
    schema.key.push_back(*column);
  }
  return schema;
}

absl::StatusOr<Query> QueryFrom(const v1::TableQuery& message) {
  Query query;
  for (const auto& [what, count] : {std::pair("columns", message.columns_size()),
                                    std::pair("aggregates", message.aggregates_size()),
                                    std::pair("group_by columns", message.group_by_size())}) {
    if (static_cast<uint32_t>(count) > kTableColumnsMax) {
      return absl::InvalidArgumentError(
          absl::StrCat("a query of ", count, " ", what, ", must be at most ", kTableColumnsMax));
    }
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
  for (const v1::AggregateColumn& aggregate : message.aggregates()) {
    if (aggregate.function() < v1::AggregateColumn::FUNCTION_COUNT ||
        aggregate.function() > v1::AggregateColumn::FUNCTION_AVERAGE) {
      return absl::InvalidArgumentError(
          absl::StrCat("function of aggregates[", query.aggregates.size(), "] is ",
                       static_cast<int>(aggregate.function()), ", must be 1 to ",
                       static_cast<int>(v1::AggregateColumn::FUNCTION_AVERAGE),
                       " (FUNCTION_COUNT to FUNCTION_AVERAGE)"));
    }
    AggregateColumn& to = query.aggregates.emplace_back();
    to.function = static_cast<AggregateFunction>(aggregate.function());
    if (aggregate.has_argument()) {
      ERIS_ASSIGN_OR_RETURN(to.argument, ExpressionFrom(aggregate.argument()));
    }
    to.name = aggregate.name();
  }
  query.limit = message.limit();
  return query;
}

void FillQuery(const Query& query, v1::TableQuery* message) {
  if (query.filter) FillExpression(*query.filter, *message->mutable_filter());
  for (const NamedExpression& column : query.columns) {
    v1::NamedExpression& to = *message->add_columns();
    FillExpression(column.expression, *to.mutable_expression());
    to.set_name(column.name);
  }
  for (const std::string& name : query.group_by) message->add_group_by(name);
  for (const AggregateColumn& aggregate : query.aggregates) {
    v1::AggregateColumn& to = *message->add_aggregates();
    to.set_function(static_cast<v1::AggregateColumn::Function>(aggregate.function));
    if (aggregate.argument) FillExpression(*aggregate.argument, *to.mutable_argument());
    to.set_name(aggregate.name);
  }
  message->set_limit(query.limit);
}

}  // namespace eris::wire
