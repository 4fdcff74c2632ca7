#include "clients/rpc_status.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "clients/channel.h"
#include "eris/errors.h"
#include "eris/v1/error.pb.h"

namespace eris::client {
namespace {

constexpr absl::string_view kAllFailed = "failed to connect to all addresses";
constexpr absl::string_view kNoName = "DNS resolution failed for ";

// Removes text for gRPC's developers, which users do not need: "{created_time:...,
// children:[...]}".
absl::string_view WithoutBraces(absl::string_view text) {
  const size_t brace = text.find('{');
  const bool details = brace != text.npos && (absl::StrContains(text, "created_time:") ||
                                              absl::StrContains(text, "grpc_status:"));
  if (details) text = text.substr(0, brace);
  while (!text.empty() && (text.back() == ' ' || text.back() == ':')) text.remove_suffix(1);
  return text;
}

// The address, e.g. "127.0.0.1:7411" in "... ipv4:127.0.0.1:7411: Failed to ...", "unix:/path" in
// "unix:/path: No such ..."; empty: none.
std::string AddressIn(absl::string_view text) {
  for (const absl::string_view scheme : {"ipv4:", "ipv6:", "unix:"}) {
    const size_t at = text.find(scheme);
    if (at == text.npos) continue;
    absl::string_view address = text.substr(at + (scheme == "unix:" ? 0 : scheme.size()));
    address = address.substr(0, address.find(": "));
    std::string plain;  // brackets are escaped in it
    for (; !address.empty(); address.remove_prefix(1)) {
      if (absl::ConsumePrefix(&address, "%5B")) plain += '[';
      if (absl::ConsumePrefix(&address, "%5D")) plain += ']';
      if (!address.empty()) plain += address.front();
    }
    return plain;
  }
  return "";
}

std::string HowToStart(absl::string_view server) {
  if (server == "127.0.0.1:7411" || server == "localhost:7411")
    return "start one with `eris serve`";
  if (IsLoopback(server)) return absl::StrCat("start one with `eris serve --listen ", server, "`");
  return "is the server started there, and does it listen on that address?";
}

bool IsType(const google::protobuf::Any& any, absl::string_view type) {
  const absl::string_view url = any.type_url();
  return url.substr(url.rfind('/') + 1) == type;
}

// Adds what an ErrorInfo and a RetryInfo say.
void TakeDetails(const v1::RequestStatus& message, absl::Status* status) {
  ErrorDetails details;
  for (const google::protobuf::Any& any : message.details()) {
    v1::ErrorInfo info;
    v1::RetryInfo retry;
    if (IsType(any, "google.rpc.ErrorInfo") && info.ParseFromString(any.value())) {
      details.reason = info.reason();
      for (const auto& [key, value] : info.metadata()) {
        if (key == "field") details.field = value;
        if (key == "value") details.value = value;
        if (key == "limit") details.limit = value;
      }
    } else if (IsType(any, "google.rpc.RetryInfo") && retry.ParseFromString(any.value())) {
      constexpr int64_t kSecondsMax = 3600;
      const int64_t seconds = std::clamp<int64_t>(retry.retry_delay().seconds(), 0, kSecondsMax);
      details.retry_ms = static_cast<uint32_t>(
          seconds * 1000 + std::max(0, retry.retry_delay().nanos()) / 1'000'000);
    }
  }
  if (!details.reason.empty()) SetErrorDetails(details, status);
}

}  // namespace

ConnectionTrouble TroubleOf(absl::string_view text) {
  if (absl::StrContains(text, kNoName)) return ConnectionTrouble::kUnknownHost;
  if (absl::StrContains(text, kAllFailed)) {
    if (absl::StrContains(text, "Connection refused") || absl::StrContains(text, "No such file")) {
      return ConnectionTrouble::kRefused;
    }
    const bool foreign = absl::StrContains(text, "HTTP/2") || absl::StrContains(text, "http") ||
                         absl::StrContains(text, "Socket closed") ||
                         absl::StrContains(text, "SETTINGS frame");
    return foreign ? ConnectionTrouble::kForeign : ConnectionTrouble::kOther;
  }
  if (text == "Socket closed" || absl::StartsWith(text, "Connection reset") ||
      absl::StartsWith(text, "Broken pipe") || absl::StartsWith(text, "recvmsg:") ||
      absl::StartsWith(text, "sendmsg:")) {
    return ConnectionTrouble::kBroken;
  }
  return ConnectionTrouble::kNone;
}

std::string ConnectionText(absl::string_view server, absl::string_view grpc_text) {
  const absl::string_view text = WithoutBraces(grpc_text);
  std::string address(server);
  if (address.empty()) address = AddressIn(text);
  switch (TroubleOf(text)) {
    case ConnectionTrouble::kNone:
      return std::string(text);
    case ConnectionTrouble::kRefused:
      return absl::StrCat("nobody listens on ", address, "; ", HowToStart(address));
    case ConnectionTrouble::kUnknownHost: {
      if (server.empty()) {
        absl::string_view rest = text.substr(text.find(kNoName) + kNoName.size());
        address = std::string(rest.substr(0, rest.find(": ")));
      }
      return absl::StrCat("host '", address.substr(0, address.rfind(':')), "' of ", address,
                          " is not known; a server is given as host:port");
    }
    case ConnectionTrouble::kForeign:
      return absl::StrCat(address, " answers, but not as a gRPC server without TLS does: is it an ",
                          "ERIS server? If it has TLS, give --tls-ca");
    case ConnectionTrouble::kBroken:
      return absl::StrCat("the connection", address.empty() ? "" : absl::StrCat(" to ", address),
                          " broke, or the server has ended (", text, ")");
    case ConnectionTrouble::kOther:
      break;
  }
  // "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.1:7411: No route to host"
  const size_t last = text.rfind(": ");
  return absl::StrCat("no connection", address.empty() ? "" : absl::StrCat(" to ", address), ": ",
                      last == text.npos ? text : text.substr(last + 2));
}

absl::Status ToAbslStatus(const grpc::Status& status) {
  const auto code = static_cast<absl::StatusCode>(status.error_code());
  if (status.error_code() == grpc::StatusCode::UNIMPLEMENTED && status.error_message().empty()) {
    return absl::UnimplementedError(
        "the server does not know this call: is it an ERIS server of this version?");
  }
  absl::Status result(code, code == absl::StatusCode::kUnavailable
                                ? ConnectionText("", status.error_message())
                                : status.error_message());
  v1::RequestStatus message;
  if (!status.error_details().empty() && message.ParseFromString(status.error_details())) {
    TakeDetails(message, &result);
  }
  return result;
}

absl::Status ToAbslStatus(const v1::RequestStatus& status) {
  absl::Status result(static_cast<absl::StatusCode>(status.code()), status.message());
  if (!result.ok()) TakeDetails(status, &result);
  return result;
}

}  // namespace eris::client
