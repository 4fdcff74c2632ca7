// A running scan or join of one reader, which AEUs fill and notify. Counts references. Waits for
// the next chunk on the reader's thread, or calls back on the completion thread. Is destroyed there
// with the last reference. References are held by the reader's handle, its chunks, each part that
// is out, and everything else that AEUs still answer.
#ifndef ERIS_ENGINE_CORE_READER_STATE_H_
#define ERIS_ENGINE_CORE_READER_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/check.h"
#include "base/lean_status.h"
#include "base/mutex.h"
#include "engine/completion/completion_queue.h"
#include "engine/completion/reader_signal.h"
#include "engine/core/closing.h"
#include "engine/core/core.h"
#include "eris/query.h"

namespace eris::engine {

// Memory for rows, as the reader sees it while it holds a chunk.
struct ReaderBuffer {
  std::vector<ColumnView> shown{};  // the columns shown to the reader
  std::string strings{};            // the strings of one of them, if they had to be gathered
};

class ReaderState : public CompletionTask {
 public:
  using NextResult = Scan::NextResult;
  using Callback = Scan::Callback;

  // The schema of the chunks. Any thread.
  virtual const Schema& schema() const = 0;
  // nullptr: none, or it has been released. Any thread.
  virtual std::shared_ptr<Snapshot> snapshot() { return nullptr; }
  // As Scan::keepable. Any thread.
  virtual uint32_t keepable() const = 0;
  // Takes back a buffer that the reader has released. Any thread.
  virtual void ReturnBuffer(ReaderBuffer& buffer) = 0;
  // The reader wants no more: unused buffers may be returned.
  virtual void ReleaseBuffers() {}
  absl::string_view what() const { return what_; }  // for example "scan"

  // the caller holds a reference
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  // False if the last one has been released.
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
    // The last one may be an AEU, which takes no mutex and frees nothing: it only posts a task.
    dying_ = true;
    node_.completions.Push(this);
  }

  // The first reason is kept. Any thread.
  void Cancel(absl::Status reason) {
    {
      base::MutexLock lock(&mu_);
      Fail(std::move(reason));
    }
    Notify();
  }

  // The next chunk. Blocks until there is one or `deadline` passes (DeadlineExceeded). Only one
  // call of Next or NextAsync at a time.
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
  // The same, passed to `done` on the completion thread.
  void NextAsync(Callback done) {
    {
      base::MutexLock lock(&mu_);
      ERIS_CHECK(!callback_);  // one call at a time
      callback_ = std::move(done);
    }
    Ref();
    node_.completions.Push(this);
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
        // Let other tasks run before the next piece.
        node_.completions.Push(this);
        return;
      }
      if (signal_.AwaitCallback(events)) return;  // the next notification pushes it
    }
  }

  // Everything that AEUs answer has entered in_flight and holds a reference. Adds another one; the
  // caller (which may be an AEU) holds one.
  void EnterAgain() {
    Ref();
    node_.in_flight.EnterAgain();
  }
  // Ends it, after its last result has been published. On any thread; nothing of this object may be
  // accessed after it.
  void Leave() {
    // The release may destroy this object.
    InFlight::Lane& in_flight = node_.in_flight;
    Notify();
    Unref();
    in_flight.Leave();
  }

 protected:
  // Begins with one reference, the caller's. `what` outlives this.
  ReaderState(Core& core, SessionNode& node, absl::string_view what)
      : core_(core), node_(node), what_(what) {}
  ~ReaderState() override = default;

  // Any thread, after it has published a result.
  void Notify() {
    // Uses the reference that the waiting callback holds.
    if (signal_.Notify()) node_.completions.Push(this);
  }

  // A reference; releases it unless it is kept.
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

  // The next result for the reader; nullopt: wait for a notification. Throws std::bad_alloc; the
  // caller then calls Fail.
  virtual std::optional<NextResult> TryNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;
  // A piece of work for the reader's thread, while there is no result. False: there is none.
  virtual bool Work() ABSL_LOCKS_EXCLUDED(mu_) { return false; }
  // Asks AEUs to skip parts that they have not begun.
  virtual void CancelParts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) = 0;

  // Ends it, unless it has failed before: cancels running parts, and every TryNext returns the
  // reason.
  void Fail(absl::Status reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!error_.ok()) return;
    error_ = std::move(reason);
    CancelParts();
  }
  // What every TryNext after its end returns; nullopt: there is more to come.
  std::optional<NextResult> Ended() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!error_.ok()) return NextResult(error_);
    if (finished_) return NextResult(nullptr);
    return std::nullopt;
  }
  // Enters for `parts` parts that will be sent, each with a reference. False: the engine is
  // closing, and it has failed.
  bool EnterParts(size_t parts) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (size_t i = 0; i < parts; ++i) {
      if (node_.in_flight.TryEnter()) continue;
      for (; i > 0; --i) node_.in_flight.Leave();
      Fail(EngineClosing());
      return false;
    }
    for (size_t i = 0; i < parts; ++i) Ref();
    return true;
  }

  // Immutable after construction.
  Core& core_;
  SessionNode& node_;  // the session's

  // No AEU takes it.
  base::Mutex mu_;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mu_);

 private:
  std::optional<NextResult> TryNextOrFail() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    try {
      return TryNext();
    } catch (const std::bad_alloc&) {
      Fail(base::NoMemory("the system has no memory for the next rows"));
      return NextResult(error_);
    }
  }

  // Immutable after construction.
  const absl::string_view what_;

  std::optional<Callback> callback_ ABSL_GUARDED_BY(mu_);

  // Shared: written by AEUs and the reader.
  ReaderSignal signal_;
  std::atomic<uint32_t> references_{1};
  bool dying_ = false;  // written by the last reference before it is pushed
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_READER_STATE_H_
