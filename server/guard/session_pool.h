// Sessions of the engine for threads that come and go. A session is one calling thread's at a time,
// and gRPC's threads are not ours to count: a call borrows one while it starts its request, a
// stream or scan for its whole life (so that one stream's writes stay in their order). As many
// sessions exist as are out at once, and kFreeMax more; the last one given back goes out first, its
// buffers being warm. Any thread.
#ifndef ERIS_SERVER_GUARD_SESSION_POOL_H_
#define ERIS_SERVER_GUARD_SESSION_POOL_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/engine.h"

namespace eris::server {

class SessionPool {
 public:
  // Free ones that are kept: each may hold an outgoing buffer for every AEU, and a flood of streams
  // leaves thousands behind.
  static constexpr size_t kFreeMax = 64;

  // A session on loan; gives itself back.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), session_(std::move(other.session_)) {}
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(session_, other.session_);
      return *this;
    }
    ~Lease() {
      if (pool_ != nullptr) pool_->GiveBack(std::move(session_));
    }
    Session* operator->() const { return session_.get(); }
    Session& operator*() const { return *session_; }

   private:
    friend class SessionPool;
    Lease(SessionPool* pool, std::unique_ptr<Session> session)
        : pool_(pool), session_(std::move(session)) {}
    SessionPool* pool_ = nullptr;
    std::unique_ptr<Session> session_;
  };

  // `engine` outlives the pool, the pool its leases.
  explicit SessionPool(Engine* engine) : engine_(engine) {}

  Lease Borrow() {
    {
      base::MutexLock lock(&mu_);
      if (!free_.empty()) {
        Lease lease(this, std::move(free_.back()));
        free_.pop_back();
        return lease;
      }
    }
    return Lease(this, engine_->NewSession());
  }

 private:
  void GiveBack(std::unique_ptr<Session> session) {
    base::MutexLock lock(&mu_);
    if (free_.size() < kFreeMax) free_.push_back(std::move(session));
    // Else it ends with the argument, behind the lock.
  }

  // Immutable after construction.
  Engine* const engine_;

  base::Mutex mu_;
  std::vector<std::unique_ptr<Session>> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_SESSION_POOL_H_
