#include "server/door/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "server/state/host_port.h"

namespace eris::server {
namespace {

// Closes it, unless it is released.
class Socket {
 public:
  explicit Socket(int family)
      : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return fd_; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

absl::Status Refused(absl::string_view address, int error) {
  return absl::UnavailableError(
      absl::StrCat("cannot listen on ", address, ": ", std::strerror(error)));
}

bool SetOption(int fd, int level, int name, int value) {
  return setsockopt(fd, level, name, &value, sizeof value) == 0;
}

// True: another process listens there.
bool IsInUse(const sockaddr_un& address) {
  const Socket probe(AF_UNIX);
  return probe.get() >= 0 &&
         connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

in_port_t* PortOf(sockaddr* address) {
  return address->sa_family == AF_INET6 ? &reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : &reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

// Listens on one address; 0 or the system's error. Accepted sockets inherit the options.
int ListenOn(const addrinfo& at, const Listener::Options& options, std::vector<int>* sockets) {
  Socket listening(at.ai_family);
  const int fd = listening.get();
  if (fd < 0) return errno;
  const bool v6_only =
      at.ai_family == AF_INET6 &&
      !IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6*>(at.ai_addr)->sin6_addr);
  if (!SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1) || !SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1) ||
      (at.ai_family == AF_INET6 && !SetOption(fd, IPPROTO_IPV6, IPV6_V6ONLY, v6_only ? 1 : 0)) ||
      (options.user_timeout_ms > 0 &&
       !SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, options.user_timeout_ms)) ||
      bind(fd, at.ai_addr, at.ai_addrlen) != 0 || listen(fd, SOMAXCONN) != 0) {
    return errno;
  }
  sockets->push_back(listening.Release());
  return 0;
}

in_port_t PortOfSocket(int fd) {
  sockaddr_storage bound = {};
  socklen_t length = sizeof bound;
  getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &length);
  return *PortOf(reinterpret_cast<sockaddr*>(&bound));
}

}  // namespace

absl::StatusOr<Listener> Listener::Open(absl::string_view address, const Options& options) {
  Listener listener;
  listener.address_ = std::string(address);
  absl::string_view path = address;
  ERIS_RETURN_IF_ERROR(absl::ConsumePrefix(&path, "unix:") ? listener.OpenUnix(path, options)
                                                           : listener.OpenTcp(address, options));
  return listener;
}

absl::Status Listener::OpenUnix(absl::string_view path, const Options& options) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Refused(address_, ENAMETOOLONG);
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  const std::string file(path);
  if (IsInUse(address)) return Refused(address_, EADDRINUSE);
  struct stat found = {};
  if (lstat(file.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) unlink(file.c_str());
  Socket listening(AF_UNIX);
  // Nobody can connect before listen, so the file's mode is in force from the first connection on.
  if (listening.get() < 0 ||
      bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return Refused(address_, errno);
  }
  path_ = file;
  if (chmod(file.c_str(), options.unix_mode) != 0 || listen(listening.get(), SOMAXCONN) != 0 ||
      lstat(file.c_str(), &found) != 0) {
    const int error = errno;
    unlink(file.c_str());
    return Refused(address_, error);
  }
  device_ = found.st_dev;
  inode_ = found.st_ino;
  sockets_.push_back(listening.Release());
  return absl::OkStatus();
}

absl::Status Listener::OpenTcp(absl::string_view address, const Options& options) {
  const std::optional<HostPort> at = ParseHostPort(address);
  if (!at) return Refused(address, EINVAL);
  addrinfo hints = {};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int unknown = getaddrinfo(at->host.c_str(), absl::StrCat(at->port).c_str(), &hints, &list);
  if (unknown != 0) {
    return absl::UnavailableError(absl::StrCat("cannot listen on ", address, ": host '", at->host,
                                               "': ", gai_strerror(unknown)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(list, &freeaddrinfo);
  in_port_t port = htons(at->port);
  int first_error = 0;
  for (addrinfo* one = list; one != nullptr; one = one->ai_next) {
    *PortOf(one->ai_addr) = port;  // of the first one, if any was asked for
    const int error = ListenOn(*one, options, &sockets_);
    if (error == 0 && port == 0) port = PortOfSocket(sockets_.front());
    // A name may have an address of a kind that this machine lacks. But a port that another program
    // has must not be shared by halves.
    if (error == EADDRINUSE && at->port != 0) return Refused(address, error);
    if (first_error == 0) first_error = error;
  }
  if (sockets_.empty()) return Refused(address, first_error);
  address_ = absl::StrCat(address.substr(0, address.rfind(':')), ":", ntohs(port));
  return absl::OkStatus();
}

Listener& Listener::operator=(Listener&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(sockets_, other.sockets_);
  std::swap(path_, other.path_);
  std::swap(device_, other.device_);
  std::swap(inode_, other.inode_);
  return *this;
}

void Listener::Close() {
  for (const int fd : sockets_) close(fd);
  struct stat found = {};
  if (!sockets_.empty() && is_unix() && lstat(path_.c_str(), &found) == 0 &&
      found.st_dev == device_ && found.st_ino == inode_) {
    unlink(path_.c_str());
  }
  sockets_.clear();
}

}  // namespace eris::server
