// Whether an address may be served with these options of security.
#ifndef ERIS_SERVER_ACCESS_EXPOSURE_H_
#define ERIS_SERVER_ACCESS_EXPOSURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "server/access/security_options.h"

namespace eris::server {

// Any address may be served with TLS and roles, and any local one: a Unix socket, or a host all of
// whose addresses are of the loopback. `option`: "server.listen", or "server.http", which has
// neither TLS nor roles. `address`: host:port, [ipv6]:port, unix:/path, or empty. May ask the
// system's resolver. Errors: FailedPrecondition (others reach the address, and TLS or roles are
// missing; says what helps). With security.open that is only a warning in the log. Unavailable (the
// system does not know the host).
absl::Status CheckExposure(const SecurityOptions& options, absl::string_view option,
                           const std::string& address);

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_EXPOSURE_H_
