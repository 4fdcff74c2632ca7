#include "server/door/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/overload/client_shares.h"

namespace eris::server {
namespace {

Peer OfV4(const in_addr& address, in_port_t port) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address, text, sizeof text);
  std::string name = absl::StrCat("ipv4:", text, ":", ntohs(port));
  std::string owner = ClientOfPeer(name);
  return {std::move(name), std::move(owner), false};
}

}  // namespace

Peer PeerAt(const sockaddr_in6& from) {
  if (IN6_IS_ADDR_V4MAPPED(&from.sin6_addr)) {
    in_addr v4 = {};
    std::memcpy(&v4, from.sin6_addr.s6_addr + 12, sizeof v4);
    return OfV4(v4, from.sin6_port);
  }
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof text);
  // The '%' between address and interface, escaped like the brackets.
  const std::string scope = from.sin6_scope_id == 0 ? "" : absl::StrCat("%25", from.sin6_scope_id);
  std::string name = absl::StrCat("ipv6:%5B", text, scope, "%5D:", ntohs(from.sin6_port));
  std::string owner = ClientOfPeer(name);
  return {std::move(name), std::move(owner), false};
}

std::optional<Peer> PeerOf(int fd) {
  sockaddr_storage storage = {};
  socklen_t length = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return std::nullopt;
  if (storage.ss_family == AF_INET) {
    const auto& from = reinterpret_cast<const sockaddr_in&>(storage);
    return OfV4(from.sin_addr, from.sin_port);
  }
  if (storage.ss_family == AF_INET6) return PeerAt(reinterpret_cast<const sockaddr_in6&>(storage));
  ucred user = {};
  length = sizeof user;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &length) != 0) return std::nullopt;
  return Peer{"unix:", absl::StrCat("user ", user.uid), true};
}

}  // namespace eris::server
