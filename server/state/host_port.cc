#include "server/state/host_port.h"

#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/strip.h"

namespace eris::server {

std::optional<HostPort> ParseHostPort(absl::string_view address) {
  const size_t colon = address.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || !absl::SimpleAtoi(address.substr(colon + 1), &port) ||
      port > std::numeric_limits<uint16_t>::max()) {
    return std::nullopt;
  }
  absl::string_view host = address.substr(0, colon);
  const bool bracketed = absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  if (host.empty() || (!bracketed && absl::StrContains(host, ':'))) return std::nullopt;
  return HostPort{std::string(host), static_cast<uint16_t>(port)};
}

}  // namespace eris::server
