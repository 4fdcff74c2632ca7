// Lets a bounded number of calls be under way, and hands their answers to a checker in the order in
// which the calls were sent, whatever the order in which they come. One sending thread; any thread
// answers.
#ifndef ERIS_TESTS_STRESS_IN_ORDER_H_
#define ERIS_TESTS_STRESS_IN_ORDER_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

#include "base/mutex.h"

namespace eris::stress {

template <class Sent, class Answered>
class InOrder {
 public:
  struct Call {
    Sent sent;
    Answered answered{};
    bool done = false;
  };
  using Checker = std::function<void(const Sent&, const Answered&)>;

  // `check` is called with a lock held: by one thread at a time.
  InOrder(size_t under_way_max, Checker check)
      : under_way_max_(under_way_max), check_(std::move(check)) {}
  ~InOrder() { AwaitNone(); }

  // Waits for room. The call stays valid until Done.
  Call* Enter(Sent sent) {
    base::MutexLock lock(&mu_);
    while (calls_.size() >= under_way_max_) fewer_.Wait(&mu_);
    calls_.push_back(std::make_unique<Call>(Call{std::move(sent)}));
    return calls_.back().get();
  }
  void Done(Call* call, Answered answered) {
    base::MutexLock lock(&mu_);
    call->answered = std::move(answered);
    call->done = true;
    while (!calls_.empty() && calls_.front()->done) {
      check_(calls_.front()->sent, calls_.front()->answered);
      calls_.pop_front();
    }
    fewer_.SignalAll();
  }
  void AwaitNone() {
    base::MutexLock lock(&mu_);
    while (!calls_.empty()) fewer_.Wait(&mu_);
  }

 private:
  const size_t under_way_max_;
  const Checker check_;
  base::Mutex mu_;
  base::CondVar fewer_;
  std::deque<std::unique_ptr<Call>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::stress

#endif  // ERIS_TESTS_STRESS_IN_ORDER_H_
