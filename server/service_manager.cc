#include "server/service_manager.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace eris::server {

absl::Status TellServiceManager(absl::string_view state) {
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  if (variable == nullptr || *variable == '\0') return absl::OkStatus();
  const absl::string_view path = variable;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A name of Linux's abstract sockets is written with @ for its leading NUL.
  if ((path[0] != '/' && path[0] != '@') || path.size() >= sizeof address.sun_path) {
    return absl::InvalidArgumentError(absl::StrCat("NOTIFY_SOCKET is \"", path,
                                                   "\": not an absolute path of at most ",
                                                   sizeof address.sun_path - 1, " bytes"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, "the service manager's socket");
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent = sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&address), length);
  const int error = errno;
  close(descriptor);
  if (sent == static_cast<ssize_t>(state.size())) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("a message to the service manager at ", path));
}

}  // namespace eris::server
