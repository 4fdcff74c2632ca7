#include "server/guard/rpc_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "eris/types.h"

namespace eris::server {

namespace {
constexpr size_t kMessageBytesMax = 1024;

// Never inside a character: a message that is not UTF-8 makes the whole answer of a stream
// unreadable for its client.
absl::string_view Cut(absl::string_view text) {
  if (text.size() <= kMessageBytesMax) return text;
  size_t end = kMessageBytesMax;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return text.substr(0, end);
}
}  // namespace

static_assert(static_cast<int>(absl::StatusCode::kUnavailable) == grpc::StatusCode::UNAVAILABLE);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              grpc::StatusCode::UNAUTHENTICATED);

grpc::Status ToRpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      std::string(Cut(status.message())));
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
