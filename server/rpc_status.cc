#include "server/rpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "eris/types.h"

namespace eris::server {

namespace {
constexpr size_t kMessageBytesMax = 1024;
}  // namespace

static_assert(static_cast<int>(absl::StatusCode::kUnavailable) == grpc::StatusCode::UNAVAILABLE);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              grpc::StatusCode::UNAUTHENTICATED);

grpc::Status ToRpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(status.message().substr(0, kMessageBytesMax)));
}

absl::Status CheckObjectName(absl::string_view name) {
  if (name.empty()) return absl::InvalidArgumentError("object name is empty");
  if (name.size() > kObjectNameBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "object name has ", name.size(), " bytes, must have at most ", kObjectNameBytesMax));
  }
  return absl::OkStatus();
}

}  // namespace eris::server
