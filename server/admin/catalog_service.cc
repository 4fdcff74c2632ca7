#include "server/admin/catalog_service.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/calls/control_call.h"
#include "wire/keys.h"
#include "wire/objects.h"

namespace eris::server {
namespace {

absl::StatusOr<ObjectKind> KindOf(v1::ObjectKind kind) {
  switch (kind) {
    case v1::OBJECT_KIND_UNSPECIFIED:
    case v1::OBJECT_KIND_INDEX:
      return ObjectKind::kIndex;
    case v1::OBJECT_KIND_HASH:
      return ObjectKind::kHash;
    case v1::OBJECT_KIND_TABLE:
    case v1::OBJECT_KIND_HEAP_TABLE:
      return absl::InvalidArgumentError(absl::StrCat(
          "kind is ", v1::ObjectKind_Name(kind), ": eris.v1.Tables.CreateTable creates tables"));
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("kind is ", kind, ", must be OBJECT_KIND_INDEX (", v1::OBJECT_KIND_INDEX,
                       "), OBJECT_KIND_HASH (", v1::OBJECT_KIND_HASH, ") or unset"));
  }
}

absl::Status DoCreateObject(const ControlScope& scope, const v1::CreateObjectRequest& request,
                            v1::CreateObjectResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  CreateOptions options;
  ERIS_ASSIGN_OR_RETURN(options.kind, KindOf(request.kind()));
  ERIS_ASSIGN_OR_RETURN(options.key_type,
                        wire::KeyTypesFrom(request.key_type(), request.second_key_type()));
  // Partitions are cut between first parts.
  const ColumnType type = options.key_type.first;
  if (request.expected().has_start_second() || request.expected().has_end_second()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected.", request.expected().has_start_second() ? "start" : "end",
                     "_second is set: partitions are cut between first parts alone"));
  }
  ERIS_ASSIGN_OR_RETURN(options.expected, wire::RangeFrom("expected", type, request.expected()));
  if (!request.split_points().empty() &&
      (type != ColumnType::kUint64 || !request.split_keys().empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat(request.split_points_size(),
                     " split_points: they are for keys of type UINT64 "
                     "alone and not beside split_keys; set split_keys"));
  }
  if (request.value_type() < v1::VALUE_TYPE_UNSPECIFIED ||
      request.value_type() > v1::VALUE_TYPE_BYTES) {
    return absl::InvalidArgumentError(absl::StrCat(
        "value_type is ", static_cast<int>(request.value_type()), ", must be VALUE_TYPE_UINT64 (",
        static_cast<int>(v1::VALUE_TYPE_UINT64), "), VALUE_TYPE_BYTES (",
        static_cast<int>(v1::VALUE_TYPE_BYTES), ") or unset"));
  }
  if (request.value_type() == v1::VALUE_TYPE_BYTES) options.value_type = ColumnType::kString;
  options.split_points.assign(request.split_points().begin(), request.split_points().end());
  for (const v1::Key& key : request.split_keys()) {
    const std::string name = absl::StrCat("split_keys[", options.split_points.size(), "]");
    ERIS_ASSIGN_OR_RETURN(options.split_points.emplace_back(), wire::KeyFrom(name, type, key));
  }
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info,
                        scope.server.engine->Create(request.name(), options));
  wire::FillObject(info, response->mutable_object());
  return absl::OkStatus();
}

absl::Status DoDropObject(const ControlScope& scope, const v1::DropObjectRequest& request,
                          v1::DropObjectResponse*) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  if (request.has_if_written()) {
    return scope.server.engine->DropIfWritten(request.name(), ObjectId{request.if_written().id()},
                                              request.if_written().rows());
  }
  return scope.server.engine->Drop(request.name());
}

absl::Status DoGetObject(const ControlScope& scope, const v1::GetObjectRequest& request,
                         v1::GetObjectResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, scope.server.engine->Describe(request.name()));
  wire::FillObject(info, response->mutable_object());
  return absl::OkStatus();
}

absl::Status DoListObjects(const ControlScope& scope, const v1::ListObjectsRequest&,
                           v1::ListObjectsResponse* response) {
  for (const ObjectInfo& info : scope.server.engine->List()) {
    wire::FillObject(info, response->add_objects());
  }
  return absl::OkStatus();
}

}  // namespace

CatalogService::CatalogService(ServerState* server) {
  Serve("CreateObject", ControlBeginner(*server, DoCreateObject));
  Serve("DropObject", ControlBeginner(*server, DoDropObject));
  Serve("GetObject", ControlBeginner(*server, DoGetObject));
  Serve("ListObjects", ControlBeginner(*server, DoListObjects));
}

}  // namespace eris::server
