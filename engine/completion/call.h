// A running asynchronous call. Its callback gets one answer, on the completion thread: the call's
// own, or the status given to Cancel if that comes first.
#ifndef ERIS_ENGINE_COMPLETION_CALL_H_
#define ERIS_ENGINE_COMPLETION_CALL_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "engine/completion/completion_queue.h"
#include "eris/session.h"

namespace eris::engine {

// The subclass's Complete runs when no more answers are owed to the call: it calls End, then
// Answer.
template <class Result>
class Call : public Pending,
             public CompletionTask,
             public std::enable_shared_from_this<Call<Result>> {
 public:
  using Callback = absl::AnyInvocable<void(Result) &&>;

  void Cancel(absl::Status status) final {
    if (ended_.load(std::memory_order_acquire)) return;  // pairs with End
    if (cancel_asked_.exchange(true, std::memory_order_acq_rel)) return;
    StopWork();
    cancel_.call = this->shared_from_this();
    cancel_.status = std::move(status);
    completions_.Push(&cancel_);
  }

 protected:
  // `completions` outlives the call.
  Call(CompletionQueue& completions, Callback done)
      : completions_(completions), done_(std::move(done)) {}

  CompletionQueue& completions() { return completions_; }
  // From Begin on the call exists until End, or until TakeBack if nothing has begun after all.
  void Begin() { self_ = this->shared_from_this(); }
  void TakeBack() { self_.reset(); }
  // The result keeps the call alive.
  std::shared_ptr<Call> End() {
    std::shared_ptr<Call> kept = std::move(self_);
    ended_.store(true, std::memory_order_release);  // pairs with Cancel
    return kept;
  }
  // On the completion thread.
  bool answered() const { return answered_; }
  void Answer(Result result) {
    if (std::exchange(answered_, true)) return;
    std::move(done_)(std::move(result));
    done_ = nullptr;  // releases what it captured now, not with the last handle
  }

 private:
  class CancelTask final : public CompletionTask {
   public:
    void Complete() override {
      const std::shared_ptr<Call> kept = std::move(call);
      kept->Answer(kept->CancelledResult(std::move(status)));
    }
    std::shared_ptr<Call> call;
    absl::Status status;
  };

  // Tells the call's workers that it is no longer wanted. Called once; any thread; must not block.
  virtual void StopWork() = 0;
  virtual Result CancelledResult(absl::Status status) const = 0;

  // Immutable after construction.
  CompletionQueue& completions_;

  // Owned by the completion thread, after Begin.
  Callback done_;
  bool answered_ = false;
  std::shared_ptr<Call> self_;

  // Shared: written by the thread that cancels first. acq_rel: that thread owns cancel_.
  std::atomic<bool> cancel_asked_{false};
  std::atomic<bool> ended_{false};
  CancelTask cancel_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_CALL_H_
