#include "server/access/exposure.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/log/log.h"

namespace eris::server {
namespace {

bool IsLoopback(const sockaddr* address) {
  constexpr unsigned char kLoopbackNet = 127;
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return ntohl(v4->sin_addr.s_addr) >> 24 == kLoopbackNet;
  }
  if (address->sa_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == kLoopbackNet;
  return IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

// Whether only this machine reaches the address. Errors: Unavailable (the system does not know the
// host).
absl::StatusOr<bool> ReachedHereOnly(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  absl::string_view host = address.substr(0, address.rfind(':'));
  if (absl::ConsumePrefix(&host, "[")) absl::ConsumeSuffix(&host, "]");
  if (host.empty()) return false;  // every address of the machine
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(std::string(host).c_str(), nullptr, &hints, &found);
      error != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot listen on ", address, ": host '", host, "': ", gai_strerror(error)));
  }
  bool local = found != nullptr;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    local = local && IsLoopback(one->ai_addr);
  }
  freeaddrinfo(found);
  return local;
}

}  // namespace

absl::Status CheckExposure(const SecurityOptions& options, absl::string_view option,
                           const std::string& address) {
  const bool http = option == "server.http";
  const bool secure = options.has_tls() && options.has_roles() && !http;
  if (secure || address.empty()) return absl::OkStatus();
  ERIS_ASSIGN_OR_RETURN(const bool here_only, ReachedHereOnly(address));
  if (here_only) return absl::OkStatus();
  if (options.open) {
    Log(LogLevel::kWarning, "security.open: everyone who reaches the address may use it",
        {{"option", std::string(option)}, {"address", address}});
    return absl::OkStatus();
  }
  const absl::string_view wanted =
      http ? "it has neither TLS nor roles: use a loopback address, with a proxy in front of it"
      : options.has_tls()   ? "set security.tokens_file"
      : options.has_roles() ? "set security.tls_cert and security.tls_key"
                            : "set security.tls_cert, security.tls_key and "
                              "security.tokens_file";
  return absl::FailedPreconditionError(
      absl::StrCat(option, " is ", address, ", which other machines reach: ", wanted,
                   "; or set security.open = true to let everyone do everything"));
}

}  // namespace eris::server
