// The registry of snapshots while AEUs take turns, under every interleaving within bounds, at
// random beyond them, and with planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/snapshot_scenario.h"

namespace eris::explore {
namespace {

// scans of the one AEU, threads with snapshots of their own, those of each
PlannedScenario Turns(uint32_t scans, uint32_t threads, uint32_t others) {
  return {Make<SnapshotTurnScenario>(scans, others), 2 + threads};
}
PlannedScenario Aborts(uint32_t threads) { return {Make<SnapshotAbortScenario>(), threads}; }
const std::vector<PlannedScenario>& Scenarios() {
  static const std::vector<PlannedScenario> all = {Turns(2, 0, 0), Turns(1, 1, 2), Turns(2, 1, 1),
                                                   Aborts(3), Aborts(4)};
  return all;
}

TEST(ExploreSnapshotTest, TurnsKnowTheSnapshotsBelowTheirEpochExhaustively) {
  ExpectHoldsExhaustively("2 scans", Turns(2, 0, 0), {.preemptions = 2, .old_stores = 2});
  ExpectHoldsExhaustively("1 scan, 1 other snapshot", Turns(1, 1, 1),
                          {.preemptions = 2, .old_stores = 1});
  ExpectHoldsExhaustively("one given up", Aborts(3), {.preemptions = 2, .old_stores = 2});
}

TEST(ExploreSnapshotTest, TurnsKnowTheSnapshotsBelowTheirEpochAtRandom) {
  ExpectHoldsAtRandom({Turns(3, 1, 3), Turns(2, 2, 2), Aborts(4)}, 10'000);
}

TEST(ExploreSnapshotTest, PlantedBugsAreFound) {
  const auto& all = Scenarios();
  ExpectFound(all, {{"::Begin(", Op::kCompareExchange, kRelease, kRelaxed}}, "thread");
  ExpectFound(all, {{"::Now(", Op::kLoad, kAcquire, kRelaxed}}, "thread");
  ExpectFound(all, {{"::Now(", Op::kLoad, kSeqCst, kRelaxed}}, "missed");
  ExpectFound(all, {{"::CountRelease(", Op::kFetchAdd, kSeqCst, kRelaxed}}, "missed");
}

TEST(ExploreSnapshotTest, OrdersThatNoScenarioNeeds) {
  ExpectOrdersNeeded(Scenarios(), "BasicSnapshotRegistry",
                     {
                         // For begun_ns, which no scenario looks at.
                         "BasicSnapshotRegistry::Begin store release -> relaxed",
                         // seq_cst for the sleep of an AEU, which is sleep_scenarios.h's.
                         "BasicSnapshotRegistry::Now load seq_cst -> acquire",
                         "BasicSnapshotRegistry::CountRelease fetch_add seq_cst -> acq_rel",
                         "BasicSnapshotRegistry::CountRelease fetch_add seq_cst -> release",
                     });
}

}  // namespace
}  // namespace eris::explore
