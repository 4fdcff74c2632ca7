#include "engine/objects/step_gate.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

namespace eris::engine {
namespace {

constexpr auto kAt5 = [] { return uint64_t{5}; };

TEST(StepGateTest, ScansAtOlderSnapshotsPassDuringAStep) {
  StepGate gate;
  StepGate::Hold hold(gate, kAt5);
  for (uint64_t snapshot = 1; snapshot < 5; ++snapshot) gate.Pass(snapshot);
}

TEST(StepGateTest, EveryScanPassesBetweenSteps) {
  StepGate gate;
  gate.Pass(1);
  { StepGate::Hold hold(gate, kAt5); }
  gate.Pass(7);
}

// A scan that has passed is older than every step that begins afterwards.
TEST(StepGateTest, TheEpochIsAskedWhenNobodyPassesAnyMore) {
  StepGate gate;
  std::atomic<uint64_t> epoch{1};
  std::atomic<bool> stop{false}, wrong{false};
  std::atomic<uint64_t> since{0}, passed{0};
  std::vector<std::thread> scans;
  for (int i = 0; i < 3; ++i) {
    scans.emplace_back([&] {
      while (!stop.load()) {
        const uint64_t snapshot = epoch.fetch_add(1);
        gate.Pass(snapshot);
        // Were a step under way now, it would have begun behind the snapshot.
        const uint64_t step = since.load();
        if (step != 0 && snapshot >= step) wrong.store(true);
        passed.fetch_add(1);
      }
    });
  }
  while (passed.load() == 0) sched_yield();  // on a busy machine the threads may begin late
  for (int i = 0; i < 100; ++i) {
    StepGate::Hold hold(gate, [&] { return epoch.load(); });
    since.store(epoch.load());  // not below what the gate was told
    for (int turn = 0; turn < 3; ++turn) sched_yield();
    since.store(0);
  }
  stop.store(true);
  for (std::thread& scan : scans) scan.join();
  EXPECT_FALSE(wrong.load());
}

// A series of steps, each right behind the other, does not keep a scan out.
TEST(StepGateTest, WhoHasWaitedPassesBeforeTheNextStep) {
  StepGate gate;
  for (int round = 0; round < 50; ++round) {
    std::atomic<bool> passed{false};
    std::optional<StepGate::Hold> hold;
    hold.emplace(gate, kAt5);
    std::thread scan([&] {
      gate.Pass(5);
      passed.store(true);
    });
    while (gate.waiting() == 0) sched_yield();
    EXPECT_FALSE(passed.load());
    hold.reset();
    hold.emplace(gate, kAt5);
    EXPECT_EQ(gate.waiting(), 0u);  // it is on its way out
    hold.reset();
    scan.join();
    EXPECT_TRUE(passed.load());
  }
}

}  // namespace
}  // namespace eris::engine
