// Limits the number of threads that run gRPC's callbacks. gRPC has at least two. On one or two
// cores they compete for the messages of a stream: with all of them on one core, that takes half of
// a small request's time. gRPC has no option for fewer threads. So the surplus ones are kept inside
// a callback of ours until the last server of the process ends.
#ifndef ERIS_SERVER_GUARD_CALLBACK_THREADS_H_
#define ERIS_SERVER_GUARD_CALLBACK_THREADS_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

namespace eris::server {

class CallbackThreads {
 public:
  // Keeps all but `wanted` (>= 1) of gRPC's threads, if it has more, unless another server of the
  // process has done so already. Keeps fewer if `server`, which must be serving and have a health
  // service, would then no longer answer. Blocks for some milliseconds, in that case for a few
  // seconds.
  CallbackThreads(uint32_t wanted, grpc::Server& server);
  // Releases them, with the last one of the process. Before gRPC's own shutdown.
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
