#include "wire/schema.h"

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "wire/columns.h"

namespace eris::wire {
namespace {

std::optional<uint32_t> ColumnOf(const Schema& schema, absl::string_view name) {
  for (uint32_t column = 0; column < schema.columns.size(); ++column) {
    if (schema.columns[column].name == name) return column;
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Schema> SchemaFrom(const v1::Schema& message) {
  if (message.columns_size() < 1 ||
      static_cast<uint32_t>(message.columns_size()) > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a schema of ", message.columns_size(),
                                                   " columns, must have 1 to ", kTableColumnsMax));
  }
  Schema schema;
  for (const v1::ColumnSchema& from : message.columns()) {
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
                       "\" is no column of the schema"));
    }
    schema.key.push_back(*column);
  }
  return schema;
}

void FillSchema(const Schema& schema, v1::Schema* message) {
  for (const ColumnSchema& column : schema.columns) {
    v1::ColumnSchema* to = message->add_columns();
    to->set_name(column.name);
    to->set_type(ToProto(column.type));
    to->set_scale(column.scale);
    to->set_nullable(column.nullable);
  }
  for (const uint32_t column : schema.key) message->add_key(schema.columns[column].name);
}

absl::StatusOr<Schema> AnsweredSchemaFrom(const v1::Schema& message) {
  Schema schema;
  for (const v1::ColumnSchema& from : message.columns()) {
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
          absl::StrCat("the server sent key column ", name, ", which the schema has not"));
    }
    schema.key.push_back(*column);
  }
  return schema;
}

}  // namespace eris::wire
