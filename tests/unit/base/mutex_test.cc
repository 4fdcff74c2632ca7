// Mutex and CondVar with real threads; under the thread sanitizer the counter would be reported if
// the lock did not order its accesses.
#include "base/mutex.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::base {
namespace {

struct Counter {
  Mutex mu;
  CondVar changed;
  int count ABSL_GUARDED_BY(mu) = 0;
};

TEST(MutexTest, CountsOfManyThreadsAddUp) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 2000; ++j) {
        MutexLock lock(&counter.mu);
        ++counter.count;
        counter.changed.SignalAll();
      }
    });
  }
  {
    MutexLock lock(&counter.mu);
    while (counter.count != 8000) counter.changed.Wait(&counter.mu);
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MutexTest, TryLockFailsWhileAnotherThreadHolds) {
  Mutex mu;
  mu.Lock();
  bool taken = true;
  std::thread([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    taken = mu.TryLock();
    if (taken) mu.Unlock();
  }).join();
  EXPECT_FALSE(taken);
  mu.Unlock();
  // Clang knows a lock taken in a condition only.
  if (mu.TryLock()) {
    mu.Unlock();
  } else {
    ADD_FAILURE() << "a free mutex was not taken";
  }
}

TEST(CondVarTest, WaitEndsAtItsDeadlineWithTheMutexHeld) {
  Counter counter;
  MutexLock lock(&counter.mu);
  while (!counter.changed.WaitWithDeadline(&counter.mu, absl::Now())) {
  }
  while (!counter.changed.WaitWithTimeout(&counter.mu, absl::Milliseconds(1))) {
  }
  counter.count = 1;
  bool free = true;
  std::thread([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { free = counter.mu.TryLock(); }).join();
  EXPECT_FALSE(free);
}

TEST(CondVarTest, SignalBeforeAnInfiniteDeadlineWakesTheWaiter) {
  Counter counter;
  std::thread signaller([&] {
    MutexLock lock(&counter.mu);
    counter.count = 1;
    counter.changed.Signal();
  });
  {
    MutexLock lock(&counter.mu);
    while (counter.count == 0) {
      EXPECT_FALSE(counter.changed.WaitWithDeadline(&counter.mu, absl::InfiniteFuture()));
    }
  }
  signaller.join();
}

}  // namespace
}  // namespace eris::base
