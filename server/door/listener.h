// Sockets that listen on one address of server.listen. Any thread; Open may block while a host's
// name is resolved.
#ifndef ERIS_SERVER_DOOR_LISTENER_H_
#define ERIS_SERVER_DOOR_LISTENER_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::server {

class Listener {
 public:
  struct Options {
    mode_t unix_mode = 0600;  // of the file of a Unix socket
    int user_timeout_ms = 0;  // TCP_USER_TIMEOUT of its connections; 0: the system's
  };

  // Listens on `address`: host:port, [ipv6]:port or unix:/path. Port 0 takes a free one. A host of
  // several addresses gets a socket for each that the machine has. The file of a Unix socket that
  // nobody listens on any more is replaced.
  // Errors: Unavailable (in use, unknown, not permitted: the message says which).
  static absl::StatusOr<Listener> Open(absl::string_view address, const Options& options);

  Listener() = default;
  Listener(Listener&& other) noexcept { *this = std::move(other); }
  Listener& operator=(Listener&& other) noexcept;
  // Stops listening; removes the file of a Unix socket, if it is still its own.
  ~Listener() { Close(); }
  void Close();

  // Non-blocking; owned by the listener.
  const std::vector<int>& sockets() const { return sockets_; }
  // As given, with the real port.
  const std::string& address() const { return address_; }
  bool is_unix() const { return !path_.empty(); }

 private:
  absl::Status OpenUnix(absl::string_view path, const Options& options);
  absl::Status OpenTcp(absl::string_view address, const Options& options);

  std::string address_;
  std::vector<int> sockets_;
  std::string path_;  // of a Unix socket
  dev_t device_ = 0;  // of its file
  ino_t inode_ = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_LISTENER_H_
