#include "clients/table_messages.h"

#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace eris::client {
namespace {

static_assert(static_cast<int>(Expression::Kind::kColumn) == v1::Expression::KIND_COLUMN);
static_assert(static_cast<int>(Expression::Kind::kNot) == v1::Expression::KIND_NOT);
static_assert(static_cast<int>(AggregateFunction::kCount) == v1::AggregateColumn::FUNCTION_COUNT);
static_assert(static_cast<int>(AggregateFunction::kAverage) ==
              v1::AggregateColumn::FUNCTION_AVERAGE);

constexpr std::pair<ColumnType, v1::ColumnType> kTypes[] = {
    {ColumnType::kInt32, v1::COLUMN_TYPE_INT32},
    {ColumnType::kInt64, v1::COLUMN_TYPE_INT64},
    {ColumnType::kUint64, v1::COLUMN_TYPE_UINT64},
    {ColumnType::kFloat64, v1::COLUMN_TYPE_FLOAT64},
    {ColumnType::kDate, v1::COLUMN_TYPE_DATE32},
    {ColumnType::kDecimal, v1::COLUMN_TYPE_DECIMAL64},
    {ColumnType::kString, v1::COLUMN_TYPE_BYTES},
    {ColumnType::kInt128, v1::COLUMN_TYPE_DECIMAL128},
};

void ToProto(const Value& value, v1::Value& message) {
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

void ToProto(const Expression& expression, v1::Expression& message) {
  message.set_kind(static_cast<v1::Expression::Kind>(expression.kind));
  if (expression.kind == Expression::Kind::kColumn) message.set_column(expression.column);
  if (expression.kind == Expression::Kind::kLiteral) {
    ToProto(expression.value, *message.mutable_value());
  }
  for (const Expression& argument : expression.arguments) {
    ToProto(argument, *message.add_arguments());
  }
}

// Whether `rows` strings lie where the offsets say, one behind the other.
bool AreStrings(const v1::Column& column, uint64_t rows) {
  if (column.offsets().size() != (rows + 1) * sizeof(uint32_t)) return false;
  uint32_t last = 0;
  bool ascend = true;
  for (uint64_t i = 0; i <= rows; ++i) {
    uint32_t offset;
    std::memcpy(&offset, column.offsets().data() + i * sizeof(offset), sizeof(offset));
    ascend &= i == 0 ? offset == 0 : offset >= last;
    last = offset;
  }
  return ascend && last == column.data().size();
}

}  // namespace

v1::ColumnType ToProto(ColumnType type) {
  for (const auto& [ours, theirs] : kTypes) {
    if (ours == type) return theirs;
  }
  return v1::COLUMN_TYPE_UNSPECIFIED;
}

void ToProto(const TableSchema& schema, v1::TableSchema& message) {
  for (const ColumnSchema& column : schema.columns) {
    v1::TableColumn& to = *message.add_columns();
    to.set_name(column.name);
    to.set_type(ToProto(column.type));
    to.set_scale(column.scale);
    to.set_nullable(column.nullable);
  }
  for (const uint32_t column : schema.key) message.add_key(schema.columns[column].name);
}

absl::Status FromProto(const v1::TableSchema& message, TableSchema& schema) {
  schema = {};
  for (const v1::TableColumn& from : message.columns()) {
    ColumnSchema& column = schema.columns.emplace_back();
    column.name = from.name();
    column.scale = static_cast<uint8_t>(from.scale());
    column.nullable = from.nullable();
    bool known = false;
    for (const auto& [ours, theirs] : kTypes) {
      if (theirs != from.type()) continue;
      column.type = ours;
      known = true;
    }
    if (!known) {
      return absl::InternalError(absl::StrCat("the server sent column ", from.name(), " of type ",
                                              static_cast<int>(from.type())));
    }
  }
  for (const std::string& name : message.key()) {
    uint32_t column = 0;
    while (column < schema.columns.size() && schema.columns[column].name != name) ++column;
    if (column == schema.columns.size()) {
      return absl::InternalError(
          absl::StrCat("the server sent key column ", name, ", which the table has not"));
    }
    schema.key.push_back(column);
  }
  return absl::OkStatus();
}

void ToProto(const TableQuery& query, v1::TableQuery& message) {
  if (query.filter) ToProto(*query.filter, *message.mutable_filter());
  for (const NamedExpression& column : query.columns) {
    v1::NamedExpression& to = *message.add_columns();
    ToProto(column.expression, *to.mutable_expression());
    to.set_name(column.name);
  }
  for (const std::string& name : query.group_by) message.add_group_by(name);
  for (const AggregateColumn& aggregate : query.aggregates) {
    v1::AggregateColumn& to = *message.add_aggregates();
    to.set_function(static_cast<v1::AggregateColumn::Function>(aggregate.function));
    if (aggregate.argument) ToProto(*aggregate.argument, *to.mutable_argument());
    to.set_name(aggregate.name);
  }
  message.set_limit(query.limit);
}

void SwapRows(absl::Span<const ColumnType> types, OwnedRows& rows, v1::Rows& message) {
  message.set_rows(rows.rows);
  while (static_cast<size_t>(message.columns_size()) < types.size()) message.add_columns();
  rows.columns.resize(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    v1::Column& column = *message.mutable_columns(static_cast<int>(i));
    column.set_type(ToProto(types[i]));
    column.mutable_data()->swap(rows.columns[i].values);
    column.mutable_validity()->swap(rows.columns[i].validity);
    column.mutable_offsets()->swap(rows.columns[i].offsets);
  }
}

absl::Status TakeRows(absl::Span<const ColumnType> types, v1::Rows& message, OwnedRows& rows) {
  rows.rows = message.rows();
  const bool nothing = rows.rows == 0 && message.columns_size() == 0;
  if (!nothing && static_cast<size_t>(message.columns_size()) != types.size()) {
    return absl::InternalError(absl::StrCat("the server sent ", message.columns_size(),
                                            " columns, expected ", types.size()));
  }
  for (int i = 0; i < message.columns_size(); ++i) {
    const v1::Column& column = message.columns(i);
    const ColumnType type = types[static_cast<size_t>(i)];
    const bool whole = type == ColumnType::kString
                           ? AreStrings(column, rows.rows)
                           : column.data().size() == rows.rows * ColumnValueBytes(type);
    if (column.type() != ToProto(type) || !whole ||
        (!column.validity().empty() && column.validity().size() < (rows.rows + 7) / 8)) {
      return absl::InternalError(
          absl::StrCat("the server sent column ", i, " of type ", static_cast<int>(column.type()),
                       " with ", column.data().size(), " bytes for ", rows.rows, " rows"));
    }
  }
  rows.columns.resize(types.size());
  for (int i = 0; i < message.columns_size(); ++i) {
    v1::Column& column = *message.mutable_columns(i);
    ColumnBuffers& to = rows.columns[static_cast<size_t>(i)];
    to.values.swap(*column.mutable_data());
    to.validity.swap(*column.mutable_validity());
    to.offsets.swap(*column.mutable_offsets());
  }
  return absl::OkStatus();
}

}  // namespace eris::client
