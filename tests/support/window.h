// Lets so many asynchronous calls of one caller be under way, and waits for their end.
#ifndef ERIS_TESTS_SUPPORT_WINDOW_H_
#define ERIS_TESTS_SUPPORT_WINDOW_H_

#include <cstdint>

#include "base/mutex.h"

namespace eris::test {

class Window {
 public:
  explicit Window(uint32_t calls) : calls_(calls) {}
  ~Window() { AwaitNone(); }
  void Enter() {
    base::MutexLock lock(&mu_);
    while (out_ == calls_) left_.Wait(&mu_);
    ++out_;
  }
  void Leave() {
    base::MutexLock lock(&mu_);
    --out_;
    left_.SignalAll();
  }
  void AwaitNone() {
    base::MutexLock lock(&mu_);
    while (out_ > 0) left_.Wait(&mu_);
  }

 private:
  const uint32_t calls_;
  base::Mutex mu_;
  base::CondVar left_;
  uint32_t out_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_WINDOW_H_
