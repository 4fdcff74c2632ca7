#include "server/state/host_port.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
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

std::vector<std::string> SplitListen(absl::string_view listen) {
  std::vector<std::string> addresses;
  for (const absl::string_view one : absl::StrSplit(listen, ',')) {
    addresses.emplace_back(absl::StripAsciiWhitespace(one));
  }
  return addresses;
}

std::optional<uint32_t> ParseMode(absl::string_view text) {
  uint32_t mode = 0;
  if (text.empty() || text.size() > 4) return std::nullopt;
  for (const char digit : text) {
    if (digit < '0' || digit > '7') return std::nullopt;
    mode = mode * 8 + static_cast<uint32_t>(digit - '0');
  }
  if (mode > 0777) return std::nullopt;
  return mode;
}

}  // namespace eris::server
