// The other end of an accepted connection. Any thread, no state.
#ifndef ERIS_SERVER_DOOR_PEER_H_
#define ERIS_SERVER_DOOR_PEER_H_

#include <optional>
#include <string>

namespace eris::server {

struct Peer {
  // As gRPC names it, in a call's peer() too: ipv4:10.0.0.7:4711, ipv6:%5B::1%5D:4711, or unix:
  // which is the same for all of them.
  std::string name;
  // Whose connections are counted together: an IPv4 address, the 64 bits of an IPv6 network, or the
  // user at the other end of a Unix socket.
  std::string owner;
  bool is_unix = false;
};

// nullopt: it has disconnected already.
std::optional<Peer> PeerOf(int fd);

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_PEER_H_
