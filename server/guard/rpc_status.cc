#include "server/guard/rpc_status.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "eris/errors.h"
#include "eris/types.h"
#include "eris/v1/error.pb.h"
#include "server/metrics/refusals.h"
#include "text/cut_text.h"

namespace eris::server {

namespace {
constexpr size_t kMessageBytesMax = 1024;
// For each value in the details: with all of them the trailing headers take less than 6 KiB,
// encoded; clients accept 8 KiB by default.
constexpr size_t kValueBytesMax = 192;

constexpr char kErrorInfoType[] = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr char kRetryInfoType[] = "type.googleapis.com/google.rpc.RetryInfo";

// Never inside a character: a message that is not UTF-8 makes the whole answer of a stream
// unreadable for its client.
std::string Cut(absl::string_view text, size_t bytes_max) {
  const absl::string_view cut = text::CutText(text, bytes_max);
  std::string result(cut.data(), cut.size());
  if (!base::IsUtf8(result)) {
    std::replace_if(
        result.begin(), result.end(), [](char c) { return (c & 0x80) != 0; }, '?');
  }
  return result;
}

void Pack(const char* type, const google::protobuf::Message& message, v1::RequestStatus* to) {
  google::protobuf::Any* any = to->add_details();
  any->set_type_url(type);
  any->set_value(message.SerializeAsString());
}

void FillDetails(const ErrorDetails& details, v1::RequestStatus* to) {
  Refusals::OfProcess().Count(details.reason);
  v1::ErrorInfo info;
  info.set_reason(details.reason);
  info.set_domain(std::string(kErrorDomain));
  const auto add = [&info](const char* key, const std::string& value) {
    if (!value.empty()) (*info.mutable_metadata())[key] = Cut(value, kValueBytesMax);
  };
  add("field", details.field);
  add("value", details.value);
  add("limit", details.limit);
  Pack(kErrorInfoType, info, to);
  if (details.retry_ms == 0) return;
  v1::RetryInfo retry;
  retry.mutable_retry_delay()->set_seconds(details.retry_ms / 1000);
  retry.mutable_retry_delay()->set_nanos(static_cast<int32_t>(details.retry_ms % 1000 * 1'000'000));
  Pack(kRetryInfoType, retry, to);
}

grpc::Status StatusWith(const absl::Status& status, const ErrorDetails& details) {
  v1::RequestStatus message;
  message.set_code(static_cast<int>(status.code()));
  message.set_message(Cut(status.message(), kMessageBytesMax));
  FillDetails(details, &message);
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), message.message(),
                      message.SerializeAsString());
}

}  // namespace

static_assert(static_cast<int>(absl::StatusCode::kUnavailable) == grpc::StatusCode::UNAVAILABLE);
static_assert(static_cast<int>(absl::StatusCode::kUnauthenticated) ==
              grpc::StatusCode::UNAUTHENTICATED);

grpc::Status ToRpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return StatusWith(status, ErrorDetailsOf(status));
}

grpc::Status ToRpcStatus(const absl::Status& status, grpc::CallbackServerContext& context) {
  if (status.ok()) return grpc::Status::OK;
  const ErrorDetails details = ErrorDetailsOf(status);
  if (details.retry_ms != 0) {
    context.AddTrailingMetadata("grpc-retry-pushback-ms", absl::StrCat(details.retry_ms));
  }
  return StatusWith(status, details);
}

void FillRequestStatus(const absl::Status& status, v1::RequestStatus* message) {
  message->set_code(static_cast<int>(status.code()));
  if (status.ok()) return;
  message->set_message(Cut(status.message(), kMessageBytesMax));
  FillDetails(ErrorDetailsOf(status), message);
}

absl::Status CheckObjectName(absl::string_view name) {
  if (name.empty()) {
    return Error(ErrorReason::kObjectNameInvalid, "object name is empty", {.field = "object"});
  }
  if (name.size() > kObjectNameBytesMax) {
    return Error(ErrorReason::kObjectNameInvalid,
                 absl::StrCat("object name has ", name.size(), " bytes, must have at most ",
                              kObjectNameBytesMax),
                 {.field = "object",
                  .value = absl::StrCat(name.size(), " bytes"),
                  .limit = absl::StrCat(kObjectNameBytesMax, " bytes")});
  }
  return absl::OkStatus();
}

}  // namespace eris::server
