// A TCP address as settings have it.
#ifndef ERIS_SERVER_STATE_HOST_PORT_H_
#define ERIS_SERVER_STATE_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace eris::server {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};
// Parses "host:port" or "[ipv6]:port". nullopt: it is neither, or has no port from 0 to 65535.
std::optional<HostPort> ParseHostPort(absl::string_view address);

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_HOST_PORT_H_
