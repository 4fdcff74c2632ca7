// Tells the service manager how far the server is: systemd's protocol of Type=notify, a datagram to
// the socket that the environment names. The library for it would be systemd's own, for these few
// lines.
#ifndef ERIS_SERVER_SERVICE_MANAGER_H_
#define ERIS_SERVER_SERVICE_MANAGER_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace eris::server {

// Sends `state`: lines such as "READY=1", "STOPPING=1". Does nothing if the variable NOTIFY_SOCKET
// is not set: there is no such manager. Does not block: a manager that takes nothing is an error.
// Errors: InvalidArgument (a path that is not absolute, or too long), those of the system's calls.
absl::Status TellServiceManager(absl::string_view state);

}  // namespace eris::server

#endif  // ERIS_SERVER_SERVICE_MANAGER_H_
