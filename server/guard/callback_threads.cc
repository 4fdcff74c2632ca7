#include "server/guard/callback_threads.h"

#include <grpc/support/cpu.h>
#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/mutex.h"

namespace eris::server {
namespace {

// gRPC's own number, which it does not publish: half of the machine's cores, 2 to 16.
uint32_t CallbackThreadsOfGrpc() { return std::clamp(gpr_cpu_num_cores() / 2, 2u, 16u); }

// Any call that the server answers by itself.
constexpr char kMethod[] = "/grpc.health.v1.Health/Check";
constexpr absl::Duration kAnswerMax = absl::Seconds(2);

base::Mutex& SharedMutex() {
  static auto* const mutex = new base::Mutex;
  return *mutex;
}

}  // namespace

class CallbackThreads::Keeper {
 public:
  Keeper(uint32_t wanted, grpc::Server& server) : stub_(server.InProcessChannel({})) {
    const uint32_t all = CallbackThreadsOfGrpc();
    for (uint32_t kept = 0; kept + wanted < all && KeepOne(); ++kept) {
    }
  }
  // Waits for all calls, also for those that did not come in time.
  ~Keeper() {
    base::MutexLock lock(&state_->mu);
    state_->let_go = true;
    state_->changed.SignalAll();
    while (state_->under_way > 0) state_->changed.Wait(&state_->mu);
  }

  uint32_t kept() const {
    base::MutexLock lock(&state_->mu);
    return state_->kept;
  }

 private:
  // Outlives the keeper: a thread of gRPC may still be on its way out.
  struct State {
    base::Mutex mu;
    base::CondVar changed;
    uint32_t kept ABSL_GUARDED_BY(mu) = 0;
    uint32_t leave ABSL_GUARDED_BY(mu) = 0;  // number of threads that must leave
    uint32_t answers ABSL_GUARDED_BY(mu) = 0;
    bool let_go ABSL_GUARDED_BY(mu) = false;
    uint32_t under_way ABSL_GUARDED_BY(mu) = 0;  // calls

    // Runs on one of gRPC's threads.
    void Stay() {
      base::MutexLock lock(&mu);
      ++kept;
      changed.SignalAll();
      while (!let_go && leave == 0) changed.Wait(&mu);
      if (leave > 0) --leave;
      --kept;
      changed.SignalAll();
    }
    void Answered() {
      base::MutexLock lock(&mu);
      ++answers;
      changed.SignalAll();
    }
  };
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request{nullptr, 0};  // empty, like the message about all services
    grpc::ByteBuffer response;
  };

  // `done` runs on one of gRPC's threads, whatever the result of the call.
  void Begin(std::function<void()> done) {
    Call* const call = &calls_.emplace_back();
    {
      base::MutexLock lock(&state_->mu);
      ++state_->under_way;
    }
    call->context.set_deadline(std::chrono::system_clock::now() +
                               absl::ToChronoMilliseconds(kAnswerMax));
    stub_.UnaryCall(&call->context, kMethod, {}, &call->request, &call->response,
                    [state = state_, done = std::move(done)](const grpc::Status&) {
                      done();
                      base::MutexLock lock(&state->mu);
                      --state->under_way;
                      state->changed.SignalAll();
                    });
  }

  // Keeps one more thread, while the others still answer. False: that was too many, or none came.
  bool KeepOne() {
    const uint32_t before = kept();
    Begin([state = state_] { state->Stay(); });
    const absl::Time deadline = absl::Now() + 2 * kAnswerMax;
    {
      base::MutexLock lock(&state_->mu);
      while (state_->kept == before) {
        if (!state_->changed.WaitWithDeadline(&state_->mu, deadline)) continue;
        ++state_->leave;  // it must not stay when it comes
        return false;
      }
    }
    Begin([state = state_] { state->Answered(); });
    base::MutexLock lock(&state_->mu);
    while (state_->answers == before) {
      if (!state_->changed.WaitWithDeadline(&state_->mu, deadline)) continue;
      ++state_->leave;
      state_->changed.SignalAll();
      while (state_->kept > before) state_->changed.Wait(&state_->mu);
      return false;
    }
    return true;
  }

  grpc::GenericStub stub_;
  // Each holds the channel. They end with the keeper and not with their callbacks: a channel that
  // ends last on one of gRPC's threads would end these threads, and wait for itself.
  std::deque<Call> calls_;
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::weak_ptr<CallbackThreads::Keeper>& CallbackThreads::Shared() {
  static auto* const shared = new std::weak_ptr<Keeper>;
  return *shared;
}

CallbackThreads::CallbackThreads(uint32_t wanted, grpc::Server& server) {
  base::MutexLock lock(&SharedMutex());
  keeper_ = Shared().lock();
  if (keeper_ == nullptr) Shared() = keeper_ = std::make_shared<Keeper>(wanted, server);
}

CallbackThreads::~CallbackThreads() {
  base::MutexLock lock(&SharedMutex());
  keeper_.reset();
}

uint32_t CallbackThreads::kept() {
  base::MutexLock lock(&SharedMutex());
  const std::shared_ptr<Keeper> keeper = Shared().lock();
  return keeper == nullptr ? 0 : keeper->kept();
}

}  // namespace eris::server
