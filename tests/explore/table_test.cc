// Partition tables that are superseded while Ports read them, under every interleaving within
// bounds, at random beyond them, and with planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/table_scenario.h"

namespace eris::explore {
namespace {

// readers, objects, versions of each, reads of each reader, reads between releases
PlannedScenario Tables(uint32_t readers, uint32_t objects, uint32_t versions, uint32_t reads,
                       uint32_t release_every) {
  return {Make<TableScenario>(readers, objects, versions, reads, release_every), readers + 1};
}
const std::vector<PlannedScenario>& Scenarios() {
  static const std::vector<PlannedScenario> all = {Tables(1, 1, 3, 3, 100), Tables(1, 1, 3, 3, 1),
                                                   Tables(2, 1, 2, 2, 2), Tables(2, 2, 2, 4, 3)};
  return all;
}

TEST(ExploreTableTest, NoVersionIsFreedWhileItIsReadExhaustively) {
  ExpectHoldsExhaustively("1 reader, 3 versions", Tables(1, 1, 3, 3, 100),
                          {.preemptions = 4, .old_stores = 3});
  ExpectHoldsExhaustively("1 reader that lets go, 3 versions", Tables(1, 1, 3, 3, 1),
                          {.preemptions = 4, .old_stores = 3});
  ExpectHoldsExhaustively("1 reader of 2 objects", Tables(1, 2, 2, 4, 3),
                          {.preemptions = 3, .old_stores = 2});
  ExpectHoldsExhaustively("2 readers, 2 versions", Tables(2, 1, 2, 2, 2),
                          {.preemptions = 3, .old_stores = 2});
}

TEST(ExploreTableTest, NoVersionIsFreedWhileItIsReadAtRandom) {
  ExpectHoldsAtRandom({Tables(2, 2, 3, 6, 4), Tables(3, 1, 4, 5, 100), Tables(3, 2, 2, 4, 2)},
                      15'000);
}

TEST(ExploreTableTest, PlantedBugsAreFound) {
  const auto& all = Scenarios();
  ExpectFound(all, {{"::Publish(", Op::kStore, kSeqCst, kRelaxed}}, "thread");
  ExpectFound(all, {{"::Publish(", Op::kStore, kSeqCst, kRelease}}, "thread");
  ExpectFound(all, {{"::Acquire(", Op::kStore, kSeqCst, kRelease}}, "thread");
  ExpectFound(all, {{"::Acquire(", Op::kLoad, kSeqCst, kAcquire}}, "thread");
  ExpectFound(all, {{"::Shows(", Op::kLoad, kSeqCst, kAcquire}}, "thread");
  ExpectFound(all, {{"::Release(", Op::kStore, kRelease, kRelaxed}}, "data race");
}

TEST(ExploreTableTest, OrdersThatNoScenarioNeeds) {
  ExpectOrdersNeeded(
      Scenarios(), "BasicTableReader::",
      {
          // The second load decides for a version that the slot does not show yet; one that it
          // shows is kept, and was acquired before. acquire is for an address that a new version
          // gets again while a slot still shows it: the arena gives none twice.
          "BasicTableReader::Acquire load seq_cst -> acquire",
          "BasicTableReader::Acquire load seq_cst -> relaxed",
      });
  ExpectOrdersNeeded(Scenarios(), "BasicPublishedTable", {});
}

}  // namespace
}  // namespace eris::explore
