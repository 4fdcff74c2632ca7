// Addresses as settings have them.
#ifndef ERIS_SERVER_STATE_HOST_PORT_H_
#define ERIS_SERVER_STATE_HOST_PORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace eris::server {

struct HostPort {
  std::string host;  // without brackets
  uint16_t port = 0;
};
// Parses "host:port" or "[ipv6]:port". nullopt: it is neither, or has no port from 0 to 65535.
std::optional<HostPort> ParseHostPort(absl::string_view address);

// The addresses of server.listen, without blanks around them; at least one, which may be empty.
std::vector<std::string> SplitListen(absl::string_view listen);

// The mode of a file: octal digits up to 0777. nullopt: it is something else.
std::optional<uint32_t> ParseMode(absl::string_view text);

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_HOST_PORT_H_
