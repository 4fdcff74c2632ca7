// Snapshots that get too old, by a clock that the test says.
#include "engine/core/snapshot.h"

#include <gtest/gtest.h>

#include "aeu/state/clock.h"
#include "tests/support/one_numa_node.h"

namespace eris::engine {
namespace {

constexpr uint64_t kAgeNs = 60'000'000'000;

TEST(SnapshotAgeTest, AnIdleEngineGivesUpWhatIsTooOldThoughNoOldRowsAreKept) {
  Core core{test::OneNumaNode()};
  core.directory.snapshots().SetLimits(~uint64_t{0}, kAgeNs);
  const auto first = *TakeSnapshot(core);
  ASSERT_EQ(core.directory.snapshots().version_bytes(), 0);
  EXPECT_FALSE(GiveUpAged(core, first->begun_ns()));
  EXPECT_FALSE(GiveUpAged(core, first->begun_ns() + kAgeNs));
  EXPECT_TRUE(core.directory.snapshots().Holds(first->epoch()));
  EXPECT_TRUE(GiveUpAged(core, first->begun_ns() + kAgeNs + 1));
  EXPECT_FALSE(core.directory.snapshots().Holds(first->epoch()));
  EXPECT_TRUE(first->aborted());
  const auto second = *TakeSnapshot(core);
  EXPECT_FALSE(GiveUpAged(core, second->begun_ns() + 1));
  EXPECT_FALSE(second->aborted());
  EXPECT_EQ(SnapshotFor(core, first).status().code(), absl::StatusCode::kAborted);
}

// A clock that has just begun.
TEST(SnapshotAgeTest, NothingIsTooOldBeforeTheAgeHasPassedAtAll) {
  Core core{test::OneNumaNode()};
  core.directory.snapshots().SetLimits(~uint64_t{0}, kAgeNs);
  const auto held = *core.directory.snapshots().Begin(/*begun_ns=*/0);
  EXPECT_FALSE(GiveUpAged(core, kAgeNs));
  core.directory.snapshots().End(held.slot);
}

}  // namespace
}  // namespace eris::engine
