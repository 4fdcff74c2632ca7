// Threads that wake each other: a wake-up that is lost would let the test hang. And, in one thread,
// who makes the futex call.
#include "routing/waker.h"

#include <gtest/gtest.h>

#include <functional>

#include <atomic>
#include <thread>
#include <vector>

namespace eris::routing {
namespace {

// Work is a number; whoever waits for it sleeps as an AEU does.
struct Side {
  std::atomic<uint64_t> work{0};
  Waker waker;

  void Send(uint64_t value) {
    work.store(value, std::memory_order_seq_cst);
    waker.Wake();
  }
  void Await(uint64_t value) {
    while (work.load(std::memory_order_relaxed) < value) {
      waker.PrepareToSleep();
      if (work.load(std::memory_order_seq_cst) >= value) {
        waker.CancelSleep();
        return;
      }
      waker.Sleep();
    }
  }
};

TEST(WakerTest, PingPongLosesNoWakeUp) {
  constexpr uint64_t kRounds = 10'000;
  Side ping, pong;
  std::thread other([&] {
    for (uint64_t round = 1; round <= kRounds; ++round) {
      ping.Await(round);
      pong.Send(round);
    }
  });
  for (uint64_t round = 1; round <= kRounds; ++round) {
    ping.Send(round);
    pong.Await(round);
  }
  other.join();
}

TEST(WakerTest, ManySendersWakeOneSleeper) {
  constexpr uint64_t kSenders = 4;
  constexpr uint64_t kEach = 3'000;
  Side sleeper;
  std::vector<std::thread> senders;
  for (uint64_t i = 0; i < kSenders; ++i) {
    senders.emplace_back([&] {
      for (uint64_t n = 0; n < kEach; ++n) {
        sleeper.work.fetch_add(1, std::memory_order_seq_cst);
        sleeper.waker.Wake();
      }
    });
  }
  for (uint64_t seen = 0; seen < kSenders * kEach;) {
    sleeper.Await(seen + 1);
    seen = sleeper.work.load(std::memory_order_relaxed);
  }
  for (std::thread& sender : senders) sender.join();
}

TEST(WakerTest, AWakeBeforeTheSleepEndsIt) {
  Waker waker;
  waker.PrepareToSleep();
  EXPECT_TRUE(waker.Wake());
  waker.Sleep();  // returns at once, else the test hangs
  EXPECT_FALSE(waker.Wake());
}

TEST(WakerTest, ASleepWithALimitEndsByItself) {
  Waker waker;
  waker.PrepareToSleep();
  waker.Sleep(/*timeout_ns=*/1'000'000);  // else the test hangs
  EXPECT_FALSE(waker.Wake());
}

// Counts the futex calls instead of making them.
struct CountingMemory : base::RealMemory {
  static inline int waits = 0;
  static inline int wakes = 0;
  static void FutexWaitFor(Atomic<uint32_t>& word, uint32_t expected, int64_t) {
    if (word.load(std::memory_order_relaxed) == expected) ++waits;
  }
  static inline std::function<void()> before_wake = nullptr;
  static void FutexWakeAll(Atomic<uint32_t>&) {
    if (before_wake != nullptr) before_wake();
    ++wakes;
  }
};

class WakerStatesTest : public testing::Test {
 protected:
  void SetUp() override { CountingMemory::waits = CountingMemory::wakes = 0; }
  BasicWaker<CountingMemory> waker_;
};

TEST_F(WakerStatesTest, ARunningAeuCostsNoFutexCall) {
  EXPECT_FALSE(waker_.Wake());
  waker_.PrepareToSleep();
  waker_.CancelSleep();
  EXPECT_FALSE(waker_.Wake());
  EXPECT_EQ(CountingMemory::wakes, 0);
}

TEST_F(WakerStatesTest, WhoFindsItBeingWokenMakesTheFutexCallToo) {
  waker_.PrepareToSleep();
  int by_second = -1;
  CountingMemory::before_wake = [&] {
    CountingMemory::before_wake = nullptr;
    EXPECT_TRUE(waker_.Wake());  // another thread, while the first one has not made its call
    by_second = CountingMemory::wakes;
  };
  EXPECT_TRUE(waker_.Wake());
  EXPECT_EQ(by_second, 1);
  EXPECT_EQ(CountingMemory::wakes, 2);
}

TEST_F(WakerStatesTest, OneCallIsEnoughForASleep) {
  for (int sleep = 1; sleep <= 3; ++sleep) {
    waker_.PrepareToSleep();
    EXPECT_TRUE(waker_.Wake());
    EXPECT_FALSE(waker_.Wake());
    EXPECT_EQ(CountingMemory::wakes, sleep);
    if (sleep < 3) waker_.Sleep();
  }
}

TEST_F(WakerStatesTest, BeingWokenItDoesNotFallAsleepAndIsAwakeAfterwards) {
  waker_.PrepareToSleep();
  EXPECT_TRUE(waker_.Wake());
  waker_.Sleep();
  EXPECT_EQ(CountingMemory::waits, 0);
  EXPECT_FALSE(waker_.Wake());
  EXPECT_EQ(CountingMemory::wakes, 1);
}

TEST_F(WakerStatesTest, CancelSleepEndsBeingWoken) {
  waker_.PrepareToSleep();
  EXPECT_TRUE(waker_.Wake());
  waker_.CancelSleep();
  EXPECT_FALSE(waker_.Wake());
  EXPECT_EQ(CountingMemory::wakes, 1);
}

TEST_F(WakerStatesTest, EachSleepIsWokenAnew) {
  for (int i = 1; i <= 3; ++i) {
    waker_.PrepareToSleep();
    waker_.Sleep();  // nobody has come
    EXPECT_EQ(CountingMemory::waits, i);
    waker_.PrepareToSleep();
    EXPECT_TRUE(waker_.Wake());
    EXPECT_EQ(CountingMemory::wakes, i);
    waker_.CancelSleep();
  }
}

}  // namespace
}  // namespace eris::routing
