#include "server/guard/connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace eris::server {
namespace {

// The local address of a socket in the form of RpcServer::address, without the host, because the
// listener may be on a wildcard. Empty: not a socket that gRPC could have accepted.
std::string LocalEnd(int fd) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof(storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return "";
  if (storage.ss_family == AF_INET) {
    return absl::StrCat(":", ntohs(reinterpret_cast<const sockaddr_in&>(storage).sin_port));
  }
  if (storage.ss_family == AF_INET6) {
    return absl::StrCat(":", ntohs(reinterpret_cast<const sockaddr_in6&>(storage).sin6_port));
  }
  if (storage.ss_family == AF_UNIX) {
    const auto& unix_address = reinterpret_cast<const sockaddr_un&>(storage);
    const size_t path_bytes = length - std::min<size_t>(length, offsetof(sockaddr_un, sun_path));
    return absl::StrCat(
        "unix:", std::string(unix_address.sun_path, strnlen(unix_address.sun_path, path_bytes)));
  }
  return "";
}

std::vector<int> OpenFiles() {
  std::vector<int> fds;
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) return fds;
  while (const dirent* entry = readdir(directory)) {
    int fd = 0;
    if (absl::SimpleAtoi(entry->d_name, &fd)) fds.push_back(fd);
  }
  closedir(directory);
  return fds;
}

int CutSockets(const std::string& local_end, bool listeners) {
  int cut = 0;
  for (const int fd : OpenFiles()) {
    int listening = 0;
    socklen_t length = sizeof(listening);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0) continue;
    if ((listening != 0) != listeners || LocalEnd(fd) != local_end) continue;
    if (shutdown(fd, SHUT_RDWR) == 0) ++cut;
  }
  return cut;
}

}  // namespace

int CutConnections(const std::string& address) {
  const bool is_unix = address.rfind("unix:", 0) == 0;
  const std::string local_end = is_unix ? address : address.substr(address.rfind(':'));
  // Listeners first, so that no further connection is accepted.
  const int listeners = CutSockets(local_end, true);
  return listeners + CutSockets(local_end, false);
}

}  // namespace eris::server
