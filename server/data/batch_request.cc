#include "server/data/batch_request.h"

#include <google/protobuf/unknown_field_set.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "wire/bounds.h"

namespace eris::server {

absl::StatusOr<Object> OpenObject(Session& session, const std::string& name) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(name));
  return session.Open(name);
}

absl::Status CheckKeyed(const Object& object) {
  if (object.schema().has_key()) return absl::OkStatus();
  return Error(ErrorReason::kObjectHasNoKey,
               absl::StrCat("object \"", object.name(), "\" is a heap table: its rows have no key"),
               {.field = "object", .value = object.name()});
}

uint64_t UnknownBytes(const google::protobuf::Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  return unknown.empty() ? 0 : unknown.SpaceUsedExcludingSelfLong();
}

uint64_t ColumnsBytes(const wire::Columns& columns) {
  constexpr uint64_t kStrings = 3;
  uint64_t bytes = 0;
  for (const v1::Column& column : columns) {
    bytes += sizeof(v1::Column) + kStrings * sizeof(std::string) + column.data().size() +
             column.validity().size() + column.offsets().size() + UnknownBytes(column);
  }
  return bytes;
}

uint64_t CopiedBytes(const Object& object, const wire::Columns& columns) {
  if (wire::IsTable(object.kind())) return 0;
  uint64_t bytes = 0;
  for (const v1::Column& column : columns) {
    if (column.type() == v1::COLUMN_TYPE_BYTES || column.type() == v1::COLUMN_TYPE_STRING) {
      bytes += column.data().size() + column.offsets().size() * 2;
    } else if (column.type() != v1::COLUMN_TYPE_UINT64) {
      bytes += wire::RowsSaid(column) * sizeof(uint64_t);
    }
  }
  return bytes;
}

uint64_t AnsweredBytes(const Object& object, const wire::ColumnTypes& types, uint64_t rows) {
  uint64_t bytes = 0;
  for (const ColumnType type : types) {
    bytes += rows * ColumnValueBytes(type);
    if (wire::IsTable(object.kind())) bytes += BitmapBytes(rows);  // a null for each absent row
  }
  return bytes;
}

}  // namespace eris::server
