// Where a session's blocks come home, and the completion task that puts their answers in order if
// no thread waits for one (routing/return_point.h).
#ifndef ERIS_ENGINE_COMPLETION_ANSWER_POINT_H_
#define ERIS_ENGINE_COMPLETION_ANSWER_POINT_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "engine/completion/completion_queue.h"
#include "routing/answers.h"
#include "routing/block_pool.h"

namespace eris::engine {

class AnswerPoint final : public routing::ReturnListener, public CompletionTask {
 public:
  // `completions` outlives it.
  explicit AnswerPoint(CompletionQueue& completions) : completions_(completions), blocks_(*this) {}

  routing::ReturnPoint& blocks() { return blocks_; }

  void BlocksAreHome() noexcept override {
    // acq_rel: if the task is queued already, it takes the blocks after it has reset the flag.
    if (!queued_.exchange(true, std::memory_order_acq_rel)) completions_.Push(this);
  }
  void Complete() override {
    queued_.exchange(false, std::memory_order_acq_rel);  // pairs with BlocksAreHome
    routing::CollectAnswers(blocks_);
  }

  // The calling thread takes the answers itself: it waits for one.
  class Attendance {
   public:
    explicit Attendance(AnswerPoint& point) : blocks_(point.blocks()) { blocks_.Attend(); }
    ~Attendance() { blocks_.Leave(); }
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;

   private:
    routing::ReturnPoint& blocks_;
  };

 private:
  CompletionQueue& completions_;
  routing::ReturnPoint blocks_;
  std::atomic<bool> queued_{false};
};

// All points of a NumaNode's sessions. An AEU may still look at one after its session has ended, so
// they are used again, and freed with the engine.
class AnswerPoints {
 public:
  explicit AnswerPoints(CompletionQueue& completions) : completions_(completions) {}

  // Any thread. Throws std::bad_alloc.
  AnswerPoint& Take() {
    base::MutexLock lock(&mu_);
    if (free_.empty()) {
      free_.reserve(all_.size() + 1);  // so that Put needs no memory
      all_.push_back(std::make_unique<AnswerPoint>(completions_));
      return *all_.back();
    }
    AnswerPoint& point = *free_.back();
    free_.pop_back();
    return point;
  }
  // O(sessions). An attendant takes its blocks itself, and must not depend on this thread's core.
  // Without mu_ while it collects: the last answer of a session's last request ends its point.
  void CollectAll() noexcept {
    for (size_t i = 0;; ++i) {
      AnswerPoint* const point = At(i);
      if (point == nullptr) break;
      if (!point->blocks().attended()) routing::CollectAnswers(point->blocks());
    }
  }
  // Any thread: all of its blocks have come home.
  void Put(AnswerPoint& point) noexcept {
    base::MutexLock lock(&mu_);
    free_.push_back(&point);
  }

 private:
  // nullptr: there are not so many.
  AnswerPoint* At(size_t index) {
    base::MutexLock lock(&mu_);
    return index < all_.size() ? all_[index].get() : nullptr;
  }

  CompletionQueue& completions_;
  base::Mutex mu_;
  std::vector<std::unique_ptr<AnswerPoint>> all_ ABSL_GUARDED_BY(mu_);
  std::vector<AnswerPoint*> free_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_COMPLETION_ANSWER_POINT_H_
