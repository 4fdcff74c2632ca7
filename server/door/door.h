// The door: accepts connections on every address of server.listen, bounds them, hands them to gRPC
// as descriptors, and watches what becomes of them. gRPC has no listener of its own here: that one
// stops accepting for ever when the process runs out of descriptors.
//
//   listening --accept--> bounded? --no--> closed, counted, logged (at most once a second)
//                            `--yes--> gRPC (HTTP/2, TLS), and a second descriptor for the watch
//                                        `-- no call in time, unused bytes, cancelled calls: cut
//
// All work is on the io_context's one thread, under one mutex, and none of it blocks. While no
// connection sends anything, nothing wakes up here.
#ifndef ERIS_SERVER_DOOR_DOOR_H_
#define ERIS_SERVER_DOOR_DOOR_H_

#include <grpcpp/grpcpp.h>
#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/door/calls_by_peer.h"
#include "server/door/connection_judge.h"
#include "server/door/connection_limits.h"
#include "server/door/door_stats.h"

namespace eris::server {

struct DoorOptions {
  mode_t unix_mode = 0600;
  int user_timeout_ms = 0;
  ConnectionLimits connections;
  std::chrono::milliseconds first_call{0};  // until a connection's first call; 0: no limit
  JudgeLimits judge;
  // See ConnectionWatch::Options; on the io_context's thread. May be empty.
  std::function<void()> memory_is_free;
};

class Door {
 public:
  struct Address {
    std::string listen;  // as an element of server.listen
    std::shared_ptr<grpc::ServerCredentials> credentials;
  };
  // How many calls the server serves now, by gRPC's name of their peer. On the io_context's thread.
  using ServedCalls = std::function<CallsByPeer::Counts()>;

  // Listens on all addresses, and makes `builder` take their connections. One thread runs `io`,
  // which outlives the door. Errors: Unavailable (an address: see Listener::Open).
  static absl::StatusOr<std::unique_ptr<Door>> Open(const std::vector<Address>& addresses,
                                                    const DoorOptions& options,
                                                    boost::asio::io_context* io,
                                                    grpc::ServerBuilder* builder);
  // Stops, if Stop has not been called.
  ~Door();

  // Accepts from now on. REQUIRES: the builder's server has been started, and no other one since.
  void Begin(ServedCalls served_calls);
  // Stops listening and cuts every connection at the socket; data that has been written still
  // reaches the clients. (gRPC's own shutdown answers a call that arrives in its last moments with
  // CANCELLED, which does not tell a client what to do. A closed connection is UNAVAILABLE.)
  // Any thread; not inside ServedCalls.
  void Stop();

  // The addresses, with real ports, in the order of Open.
  const std::vector<std::string>& addresses() const;

  // Any thread; does not block for long.
  DoorStats Read() const;

 private:
  class Impl;
  explicit Door(std::shared_ptr<Impl> impl);
  const std::shared_ptr<Impl> impl_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_DOOR_H_
