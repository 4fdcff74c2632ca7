// The other end of an accepted connection. Any thread, no state.
#ifndef ERIS_SERVER_DOOR_PEER_H_
#define ERIS_SERVER_DOOR_PEER_H_

#include <netinet/in.h>

#include <optional>
#include <string>

namespace eris::server {

struct Peer {
  // As gRPC names it, in a call's peer() too: ipv4:10.0.0.7:4711, ipv6:%5B::1%5D:4711, with the
  // number of the interface if it is an address of a link, ipv6:%5Bfe80::7%252%5D:4711, or unix:
  // which is the same for all of them.
  std::string name;
  // Whose connections are counted together: ClientOfPeer(name), or the user at the other end of a
  // Unix socket.
  std::string owner;
  bool is_unix = false;
};

// Also of an IPv4 address within IPv6.
Peer PeerAt(const sockaddr_in6& from);

// nullopt: it has disconnected already.
std::optional<Peer> PeerOf(int fd);

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_PEER_H_
