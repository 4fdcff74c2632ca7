// Sessions of the engine for gRPC's threads, which come and go in unknown numbers; a session is for
// one calling thread at a time. A call borrows one while it starts its request; a stream or scan
// borrows one for its whole life, so that one stream's writes keep their order. There are as many
// sessions as are borrowed, plus kFreeMax. A borrower gets a session of its own NumaNode: the last
// returned one, because its buffers are in the cache. Any thread.
#ifndef ERIS_SERVER_GUARD_SESSION_POOL_H_
#define ERIS_SERVER_GUARD_SESSION_POOL_H_

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/engine.h"

namespace eris::server {

class SessionPool {
 public:
  // Number of free ones to keep: each may hold an outgoing buffer for every AEU, and many streams
  // would leave thousands behind.
  static constexpr size_t kFreeMax = 64;

  // A session on loan; the destructor returns it.
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
    const NumaNodeId here = engine_->NumaNodeHere();
    {
      base::MutexLock lock(&mu_);
      const auto found = std::find_if(free_.rbegin(), free_.rend(), [&](const auto& session) {
        return session->numa_node() == here;
      });
      if (found != free_.rend()) {
        Lease lease(this, std::move(*found));
        free_.erase(std::next(found).base());
        return lease;
      }
    }
    // Without memory it has an error, and the other call throws.
    auto made = engine_->NewSession(here);
    return Lease(this, made.ok() ? *std::move(made) : engine_->NewSession());
  }

 private:
  void GiveBack(std::unique_ptr<Session> session) {
    base::MutexLock lock(&mu_);
    // The oldest makes room, which may be of a NumaNode where nobody borrows any more. It ends with
    // the argument, after the lock.
    if (free_.size() == kFreeMax) {
      free_.front().swap(session);
      std::rotate(free_.begin(), std::next(free_.begin()), free_.end());
    } else {
      free_.push_back(std::move(session));
    }
  }

  // Immutable after construction.
  Engine* const engine_;

  base::Mutex mu_;
  std::vector<std::unique_ptr<Session>> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_SESSION_POOL_H_
