// What the history says of transfers: the newest, whom they wait for, and stalls.
#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/engine/played_aeus.h"

namespace eris::engine {
namespace {

TEST_F(TransferExecutorTest, TheHistoryHasTheNewestFirstAndABound) {
  PlannedTransfer link = Copy(Keys(0, 1));
  link.kind = TransferKind::kLink;
  for (size_t i = 0; i < kTransferHistoryMax + 10; ++i) {
    link.to = AeuId{i % 2 == 0 ? 1u : 0u};
    link.from = AeuId{i % 2 == 0 ? 0u : 1u};
    ASSERT_TRUE(Run(link).status.ok());
  }
  const std::vector<TransferRecord> history = executor_.history().Newest();
  ASSERT_EQ(history.size(), kTransferHistoryMax);
  EXPECT_EQ(history.front().id, kTransferHistoryMax + 10);
  EXPECT_EQ(history.back().id, 11u);
  EXPECT_EQ(executor_.history().totals().transfers[TransferKind::kLink], kTransferHistoryMax + 10);
  EXPECT_TRUE(executor_.history().Running().empty());
}

TEST_F(TransferExecutorTest, TheHistorySaysWhoIsWaitedFor) {
  const auto phase = [&] { return executor_.history().Running().at(0).phase; };
  std::vector<TransferPhase> phases;
  aeus_.on_give = [&](TransferStep&) { phases.push_back(phase()); };
  aeus_.on_conclude = [&] { phases.push_back(phase()); };
  ASSERT_TRUE(Run(Copy(Keys(0, 1))).status.ok());
  EXPECT_EQ(phases, (std::vector{TransferPhase::kSource, TransferPhase::kConclusion}));
  EXPECT_EQ(executor_.history().Newest().at(0).phase, TransferPhase::kBetweenSteps);
}

uint64_t test_now_ns = 0;  // of the clock below

TEST(TransferHistoryTest, AStepThatMakesNoProgressIsAStallOfThatLength) {
  constexpr uint64_t kSecond = 1000 * uint64_t{kTransferStallUs};
  test_now_ns = 1;
  TransferHistory history([] { return test_now_ns; });
  TransferStep step;
  const uint64_t id =
      history.Begin("o", {.range = {.lo = 0, .hi = 9}, .from = AeuId{0}, .to = AeuId{1}});
  const auto idle = [&] { return history.Running().at(0).idle_us; };
  // The rate has it wait: no stall, however long.
  test_now_ns += 5 * kSecond;
  EXPECT_EQ(history.totals().stalls, 0u);
  history.SetPhase(id, TransferPhase::kSource);
  EXPECT_EQ(idle(), 0);
  // A hash that prepares works in each turn.
  for (uint32_t turn = 1; turn < 5; ++turn) {
    test_now_ns += kSecond - 1;
    EXPECT_EQ(idle(), kTransferStallUs - 1);
    step.turns.store(turn);
    history.Look(id, step);
    EXPECT_EQ(idle(), 0);
  }
  EXPECT_EQ(history.totals().stalls, 0u);
  // Nothing moves; another transfer's step is in its way, and it is tried again.
  test_now_ns += kSecond / 2;
  history.Look(id, step);
  history.SetPhase(id, TransferPhase::kOtherTransfer);
  history.SetPhase(id, TransferPhase::kSource);
  test_now_ns += kSecond / 2;
  EXPECT_EQ(idle(), kTransferStallUs);
  EXPECT_EQ(history.totals().stalls, 1u);  // although nobody has looked
  history.Look(id, step);
  history.Look(id, step);
  EXPECT_EQ(history.totals().stalls, 1u);  // the same one
  // The rows leave, which is progress, and then the target takes its time.
  step.left.store(true);
  history.Look(id, step);
  EXPECT_EQ(idle(), 0);
  EXPECT_EQ(history.Running().at(0).phase, TransferPhase::kTarget);
  test_now_ns += 2 * kSecond;
  EXPECT_EQ(history.totals().stalls, 2u);
  history.SetPhase(id, TransferPhase::kConclusion);
  EXPECT_EQ(idle(), 2 * kTransferStallUs);
  step.outcome = StepOutcome::kInstalled;
  history.Add(id, step);
  EXPECT_EQ(idle(), 0);
  EXPECT_EQ(history.End(id, TransferOutcome::kDone, "").idle_us, 0);
  EXPECT_EQ(history.totals().stalls, 2u);
}

}  // namespace
}  // namespace eris::engine
