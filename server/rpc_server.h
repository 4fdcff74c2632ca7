// The gRPC server: listens, carries the services, health and reflection, and is drained in steps. A
// customer of eris::Engine; knows no signals and no process.
#ifndef ERIS_SERVER_RPC_SERVER_H_
#define ERIS_SERVER_RPC_SERVER_H_

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "eris/engine.h"
#include "server/state/config.h"

namespace eris::server {

class RpcServer {
 public:
  // Listens on config.listen and answers calls from then on. `engine` outlives the server, and so
  // does `io`, which one thread runs and which carries the limits of time.
  // Errors: Unavailable (address in use, unknown or not permitted: the message says which).
  static absl::StatusOr<std::unique_ptr<RpcServer>> Start(const ServerConfig& config,
                                                          Engine* engine,
                                                          boost::asio::io_context* io);
  // Shuts down with no time left, if Shutdown has not been called.
  ~RpcServer();

  // As configured, with the real port.
  const std::string& address() const;

  // The drain, in this order, each step once, from one thread at a time.
  // 1. Health says NOT_SERVING, new calls get UNAVAILABLE, streams stop reading. `on_empty` runs
  //    once when no call is under way any more, on any thread.
  void BeginDrain(absl::AnyInvocable<void() &&> on_empty);
  // 2. Calls still under way end with UNAVAILABLE.
  void EndCalls();
  // 3. Stops listening and cuts the connections, which clients see as UNAVAILABLE; a call that does
  // not
  //    end by that within `timeout` is cancelled. Blocks until every call is gone. A second call
  //    returns at once.
  void Shutdown(absl::Duration timeout);

 private:
  struct Impl;
  explicit RpcServer(std::unique_ptr<Impl> impl);
  const std::unique_ptr<Impl> impl_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_RPC_SERVER_H_
