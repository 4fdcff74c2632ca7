#include "server/admin/catalog_service.h"

#include "base/status_macros.h"
#include "server/calls/control_call.h"
#include "wire/objects.h"

namespace eris::server {
namespace {

absl::Status DoCreateObject(const ControlScope& scope, const v1::CreateObjectRequest& request,
                            v1::CreateObjectResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.name()));
  ERIS_ASSIGN_OR_RETURN(const CreateOptions options, wire::CreateOptionsFrom(request));
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
    if (!scope.permit.Sees(info.name)) continue;
    wire::FillObject(info, response->add_objects());
  }
  return absl::OkStatus();
}

}  // namespace

CatalogService::CatalogService(ServerState* server) : RawService(&server->access, &server->watch) {
  const Policy changes = Policy(Role::kAdmin, NamedBy({"name"})).Audited();
  Serve("CreateObject", changes, ControlBeginner(*server, DoCreateObject));
  Serve("DropObject", changes, ControlBeginner(*server, DoDropObject));
  Serve("GetObject", {Role::kReader, NamedBy({"name"})}, ControlBeginner(*server, DoGetObject));
  // It lists only what the caller may read.
  Serve("ListObjects", {Role::kReader, NoObject()}, ControlBeginner(*server, DoListObjects));
}

}  // namespace eris::server
