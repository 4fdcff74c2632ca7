// The gRPC server: listens, has the services, health and reflection, and drains in steps. Uses
// eris::Engine; independent of signals and the process.
#ifndef ERIS_SERVER_RPC_SERVER_H_
#define ERIS_SERVER_RPC_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "eris/engine.h"
#include "server/door/door_stats.h"
#include "server/state/config.h"

namespace eris::server {

struct ServerState;

class RpcServer {
 public:
  // Listens on config.listen and answers calls from then on. `engine` outlives the server, and so
  // does `io`, which one thread runs and which has the time limits.
  // Errors: Unavailable (address in use, unknown or not permitted: the message says which);
  // FailedPrecondition (others reach the address, and TLS or roles are missing); those of
  // Access::Start (a bad file of tokens or certificates).
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const ServerConfig& config,
                                                          Engine* engine,
                                                          boost::asio::io_context* io);
  // Shuts down immediately, if Shutdown has not been called.
  ~RpcServer();

  // As configured, in that order, with real ports.
  const std::vector<std::string>& addresses() const;
  const std::string& address() const { return addresses().front(); }

  // What the door has accepted, refused and cut. Any thread.
  DoorStats ReadDoor() const;

  // What its calls share, for others that answer from the same state. They end before this does.
  ServerState& state();

  // The drain, in this order, each step once, from one thread at a time.
  // 1. Health says NOT_SERVING, new calls get UNAVAILABLE, streams stop reading. `on_empty` runs
  //    once when no call is running any more, on any thread.
  void BeginDrain(absl::AnyInvocable<void() &&> on_empty);
  // 2. Running calls end with UNAVAILABLE.
  void EndCalls();
  // 3. Stops listening and cuts the connections, which clients see as UNAVAILABLE; a call that does
  //    not
  //    end because of that within `timeout` is cancelled. Blocks until every call has ended. A
  //    second call returns at once.
  void Shutdown(absl::Duration timeout);

 private:
  struct Impl;
  explicit RpcServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_RPC_SERVER_H_
