// What is under way for one reader: a scan or a join, which AEUs fill and notify. Counts
// references, waits for the next result on the reader's thread or calls back on the completion
// thread, and goes away there with the last reference.
#ifndef ERIS_ENGINE_CORE_READER_STATE_H_
#define ERIS_ENGINE_CORE_READER_STATE_H_

#include <atomic>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/mutex.h"
#include "engine/core/completion_queue.h"
#include "engine/core/core.h"
#include "engine/core/reader_signal.h"

namespace eris::engine {

// Result: an absl::StatusOr.
template <class Result>
class ReaderState : public CompletionTask {
 public:
  using NextResult = Result;
  using Callback = absl::AnyInvocable<void(NextResult) &&>;

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }  // from one that holds one
  // False when the last one has gone.
  bool TryRef() {
    uint32_t references = references_.load(std::memory_order_relaxed);  // the CAS decides
    while (references != 0) {
      if (references_.compare_exchange_weak(references, references + 1,
                                            std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
  void Unref() {
    // acq_rel: the last one sees what the others did before the end.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    // The last one may be an AEU, which takes no mutex and frees nothing: it only posts.
    dying_ = true;
    core_.completions.Push(this);
  }

  // The next result. Blocks until there is one or `deadline` passes (DeadlineExceeded). One call
  // of Next or NextAsync at a time.
  NextResult Next(absl::Time deadline) {
    for (;;) {
      const uint32_t events = signal_.events();
      {
        base::MutexLock lock(&mu_);
        if (auto next = TryNextOrFail()) return *std::move(next);
      }
      const bool worked = Work();
      int64_t timeout_ns = -1;
      if (deadline != absl::InfiniteFuture()) {
        timeout_ns = absl::ToInt64Nanoseconds(deadline - absl::Now());
        if (timeout_ns <= 0) {
          return base::LeanStatus(absl::StatusCode::kDeadlineExceeded,
                                  "no chunk came before the deadline");
        }
      }
      if (!worked) signal_.AwaitThread(events, timeout_ns);
    }
  }
  // The same, to `done` on the completion thread.
  void NextAsync(Callback done) {
    {
      base::MutexLock lock(&mu_);
      ERIS_CHECK(!callback_);  // one call at a time
      callback_ = std::move(done);
    }
    Ref();
    core_.completions.Push(this);
  }

  // On the completion thread.
  void Complete() final {
    if (dying_) {
      delete this;
      return;
    }
    for (;;) {
      const uint32_t events = signal_.events();
      std::optional<NextResult> next;
      std::optional<Callback> callback;
      {
        base::MutexLock lock(&mu_);
        next = TryNextOrFail();
        if (next) callback = std::exchange(callback_, std::nullopt);
      }
      if (next) {
        std::move (*callback)(*std::move(next));
        callback.reset();
        Unref();
        return;
      }
      if (Work()) {
        // Others have their turn before the next piece.
        core_.completions.Push(this);
        return;
      }
      if (signal_.AwaitCallback(events)) return;  // the next notification pushes it
    }
  }

 protected:
  // One reference, the caller's.
  explicit ReaderState(Core& core) : core_(core) {}
  ~ReaderState() override = default;

  // Any thread, after it has published something.
  void Notify() {
    // With the reference that the waiting one holds.
    if (signal_.Notify()) core_.completions.Push(this);
  }

  // A reference; lets it go unless it is kept.
  class Held {
   public:
    explicit Held(ReaderState& state) : state_(&state) {}
    ~Held() {
      if (state_ != nullptr) state_->Unref();
    }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void Keep() { state_ = nullptr; }

   private:
    ReaderState* state_;
  };

  // The next thing for the reader; nullopt: wait for a notification. Throws std::bad_alloc, and
  // Fail follows.
  virtual std::optional<NextResult> TryNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // A piece of what the reader alone does, where there is no next thing yet. False: there is none.
  virtual bool Work() ABSL_LOCKS_EXCLUDED(mu_) { return false; }
  // Ends it: what is under way is cancelled, and every TryNext returns the reason.
  virtual void Fail(absl::Status reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // Immutable after construction.
  Core& core_;

  // No AEU takes it.
  base::Mutex mu_;

 private:
  std::optional<NextResult> TryNextOrFail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    try {
      return TryNext();
    } catch (const std::bad_alloc&) {
      const absl::Status reason = base::NoMemory("the system has no memory for the next rows");
      Fail(reason);
      return NextResult(reason);
    }
  }

  std::optional<Callback> callback_ ABSL_GUARDED_BY(mu_);

  // Shared: written by AEUs and the reader.
  ReaderSignal signal_;
  std::atomic<uint32_t> references_{1};
  bool dying_ = false;  // written by the last reference before it is pushed
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_READER_STATE_H_
