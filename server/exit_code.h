// How a server's process ends, as Serve returns it. The eris program translates these into its own
// exit codes (clients/cli/text/exit_code.h).
#ifndef ERIS_SERVER_EXIT_CODE_H_
#define ERIS_SERVER_EXIT_CODE_H_

#include "absl/status/status.h"

namespace eris::server {

inline constexpr int kServerDrained = 0;
inline constexpr int kServerFailed = 1;   // it could not start now; the next start may succeed
inline constexpr int kServerInvalid = 2;  // its configuration is refused, and will be again

// The code for a server that `status` has kept from starting. Invalid are options that are refused,
// here or on this machine, an address that others reach without TLS and roles, and files that the
// configuration names but that are missing or may not be read. An address in use is not: it may be
// free a moment later. REQUIRES: not OK.
inline int ExitCodeOfStart(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kPermissionDenied:
      return kServerInvalid;
    default:
      return kServerFailed;
  }
}

}  // namespace eris::server

#endif  // ERIS_SERVER_EXIT_CODE_H_
