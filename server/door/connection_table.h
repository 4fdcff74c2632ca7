// The connections that have been handed to gRPC, each with a second descriptor of its socket, and
// an epoll set that tells when they begin to send and when they have been closed. The second
// descriptor keeps no connection open: gRPC shuts a socket down before it closes its own. Owned by
// one thread.
#ifndef ERIS_SERVER_DOOR_CONNECTION_TABLE_H_
#define ERIS_SERVER_DOOR_CONNECTION_TABLE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "server/door/connection_judge.h"
#include "server/door/peer.h"

namespace eris::server {

struct Connection {
  Connection(uint64_t id_in, int fd_in, Peer peer_in)
      : id(id_in), fd(fd_in), peer(std::move(peer_in)) {}

  const uint64_t id;
  const int fd;  // the second descriptor
  const Peer peer;
  const std::chrono::steady_clock::time_point accepted = std::chrono::steady_clock::now();
  int64_t socket = 0;  // gRPC's number (Channelz::Socket); 0: not known
  ConnectionJudge judge;
  uint64_t seen = 0;    // progress at the last look
  uint64_t judged = 0;  // received bytes when it was judged last
  uint32_t quiet_looks = 0;
  uint64_t unfinished = 0;  // bytes of messages that are not complete (unfinished_bytes.h)
  uint64_t messages = 0;    // complete ones at the last reading, and when it first saw so many
  std::chrono::steady_clock::time_point message_at = accepted;
  bool active = false;  // looked at regularly; otherwise the epoll set tells that it sends
  bool cut = false;     // gRPC has still to close it
};

class ConnectionTable {
 public:
  enum class Event { kSends, kClosed };

  ConnectionTable();
  ~ConnectionTable();
  ConnectionTable(const ConnectionTable&) = delete;
  ConnectionTable& operator=(const ConnectionTable&) = delete;

  // Readable when there are events. -1: the system has no descriptor for it.
  int epoll_fd() const { return epoll_; }

  // Takes `fd`. nullptr: the system has no memory for watching it, and `fd` is closed.
  Connection* Add(int fd, Peer peer);
  // Reports each event once; `visit` may remove the connection. A connection that sends is reported
  // only after Add and AwaitSending. False: there may be more events.
  bool TakeEvents(absl::FunctionRef<void(Connection&, Event)> visit);
  void AwaitSending(Connection& connection);
  void Remove(Connection& connection);
  // Shuts every socket down, and removes all.
  void CutAll();

  void ForEach(absl::FunctionRef<void(Connection&)> visit);
  Connection* Find(uint64_t id);
  size_t size() const { return connections_.size(); }
  uint64_t CountOf(const std::string& owner) const;

 private:
  void Watch(Connection& connection, int operation, uint32_t events);

  int epoll_ = -1;
  uint64_t last_id_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::string, uint64_t> owners_;
};

// Bytes that the system counts of a TCP connection; zeros if it does not.
struct SocketBytes {
  uint64_t received = 0;
  uint64_t sent = 0;  // and acknowledged
};
SocketBytes BytesOf(const Connection& connection);

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_CONNECTION_TABLE_H_
