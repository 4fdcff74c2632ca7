// How many threads run gRPC's callbacks. gRPC has at least two of them, and on a core or two they
// take the messages of a stream out of each other's hands: with all of them on one core, half of a
// small request's time goes into that. It offers no way to have fewer, so those beyond the wanted
// number are kept in a callback of our own until the last server of the process goes.
#ifndef ERIS_SERVER_GUARD_CALLBACK_THREADS_H_
#define ERIS_SERVER_GUARD_CALLBACK_THREADS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

namespace eris::server {

class CallbackThreads {
 public:
  // Keeps all but `wanted` (>= 1) of gRPC's threads, where it has more, unless another server of
  // the process has done so already. Where that would leave `server`, which serves by now and has
  // a health service, without an answer, fewer are kept. Blocks for
  // some milliseconds, and a few seconds in that case.
  CallbackThreads(uint32_t wanted, grpc::Server& server);
  // Lets them go, with the last of the process. Before gRPC's own shutdown.
  ~CallbackThreads();
  CallbackThreads(const CallbackThreads&) = delete;
  CallbackThreads& operator=(const CallbackThreads&) = delete;

  // For tests.
  static uint32_t kept();

 private:
  class Keeper;
  static std::weak_ptr<Keeper>& Shared();

  std::shared_ptr<Keeper> keeper_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_CALLBACK_THREADS_H_
