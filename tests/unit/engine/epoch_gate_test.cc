#include "engine/epoch_gate.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace eris::engine {
namespace {

TEST(EpochGateTest, NobodyPassesWhileItIsHeld) {
  EpochGate gate;
  std::atomic<int> inside{0}, passed{0};
  std::atomic<bool> stop{false}, overlapped{false};
  std::vector<std::thread> beginners;
  for (int i = 0; i < 3; ++i) {
    beginners.emplace_back([&] {
      while (!stop.load()) {
        gate.Pass([&] {
          inside.store(1);
          passed.fetch_add(1);
          inside.store(0);
          return 0;
        });
      }
    });
  }
  // On a busy machine the threads may begin late.
  while (passed.load() == 0) sched_yield();
  for (int i = 0; i < 100; ++i) {
    EpochGate::Hold hold(gate);
    const int before = passed.load();
    for (int turn = 0; turn < 3; ++turn) sched_yield();
    if (inside.load() != 0 || passed.load() != before) overlapped.store(true);
  }
  stop.store(true);
  for (std::thread& beginner : beginners) beginner.join();
  EXPECT_FALSE(overlapped.load());
  EXPECT_GT(passed.load(), 0);
}

// A series of holds, each right behind the other, does not keep a beginner out.
TEST(EpochGateTest, WhoHasWaitedPassesBeforeTheNextHold) {
  EpochGate gate;
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> asks{false}, passed{false};
    std::optional<EpochGate::Hold> hold;
    hold.emplace(gate);
    std::thread beginner([&] {
      asks.store(true);
      gate.Pass([&] {
        passed.store(true);
        return 0;
      });
    });
    while (!asks.load() || gate.waiting() == 0) sched_yield();
    EXPECT_FALSE(passed.load());
    hold.reset();
    hold.emplace(gate);
    EXPECT_TRUE(passed.load());
    hold.reset();
    beginner.join();
  }
}

TEST(EpochGateTest, TransfersOfTwoTablesHoldItSideBySide) {
  EpochGate gate;
  std::optional<EpochGate::Hold> one, other;
  one.emplace(gate);
  other.emplace(gate);
  std::atomic<bool> passed{false};
  std::thread beginner([&] {
    gate.Pass([&] {
      passed.store(true);
      return 0;
    });
  });
  while (gate.waiting() == 0) sched_yield();
  one.reset();
  EXPECT_FALSE(passed.load());
  other.reset();
  beginner.join();
  EXPECT_TRUE(passed.load());
}

}  // namespace
}  // namespace eris::engine
