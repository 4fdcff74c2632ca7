// Blocks of a pool, the ingress queue and the multicast under every interleaving within bounds, at
// random beyond them, and with planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/sleep_scenarios.h"

namespace eris::explore {
namespace {

// ports, blocks that each pushes, blocks of its pool (0: two sizes)
PlannedScenario Ingress(uint32_t ports, uint32_t blocks, uint32_t pool_blocks) {
  return {Make<IngressScenario>(ports, blocks, pool_blocks), ports + 1};
}
// readers, records, records in a block, blocks of the pool
PlannedScenario Multicast(uint32_t readers, uint32_t records, uint32_t in_block, uint32_t blocks) {
  return {Make<MulticastScenario>(readers, records, in_block, blocks), readers + 1};
}
PlannedScenario Sleep(uint32_t senders, uint32_t pieces) {
  return {Make<SleepScenario<IngressWork>>(senders, pieces), senders + 1};
}
const std::vector<PlannedScenario>& Scenarios() {
  static const std::vector<PlannedScenario> all = {Ingress(2, 2, 1),      Ingress(2, 3, 2),
                                                   Ingress(1, 4, 0),      Multicast(2, 2, 1, 1),
                                                   Multicast(2, 4, 2, 2), Sleep(2, 1)};
  return all;
}

TEST(ExploreBlocksTest, BlocksArriveOnceAndAreFreedOnceExhaustively) {
  ExpectHoldsExhaustively("1 Port, 3 blocks, pool of 1", Ingress(1, 3, 1),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("1 Port, 4 blocks of two sizes", Ingress(1, 4, 0),
                          {.preemptions = 2, .old_stores = 2});
  ExpectHoldsExhaustively("2 Ports, 1 block", Ingress(2, 1, 1),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("2 Ports, 2 blocks, pools of 1", Ingress(2, 2, 1),
                          {.preemptions = 1, .old_stores = 1});
  ExpectHoldsExhaustively("multicast to 1, 2 blocks, pool of 1", Multicast(1, 2, 1, 1),
                          {.preemptions = 3, .old_stores = 2});
  ExpectHoldsExhaustively("multicast to 2, 2 records in a block", Multicast(2, 2, 2, 1),
                          {.preemptions = 2, .old_stores = 1});
}

TEST(ExploreBlocksTest, BlocksArriveOnceAndAreFreedOnceAtRandom) {
  ExpectHoldsAtRandom({Ingress(2, 4, 1), Ingress(3, 2, 2), Ingress(2, 4, 0), Multicast(2, 4, 2, 1),
                       Multicast(2, 4, 1, 2)},
                      15'000);
}

TEST(ExploreBlocksTest, AnOwnerThatSleepsIsWoken) {
  ExpectHoldsExhaustively("2 senders, 1 block", Sleep(2, 1), {.preemptions = 2, .old_stores = 2});
  ExpectHoldsExhaustively("1 sender, 2 blocks", Sleep(1, 2),
                          {.preemptions = 3, .old_stores = 2, .spurious = 1});
  ExpectHoldsAtRandom({Sleep(2, 2), Sleep(3, 1)}, 10'000);
}

TEST(ExploreBlocksTest, PlantedBugsAreFound) {
  const auto& all = Scenarios();
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kSeqCst, kRelaxed}}, "data race");
  ExpectFound(all, {{"::TakeAll(", Op::kExchange, kAcquire, kRelaxed}}, "data race");
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kSeqCst, kAcqRel}}, "deadlock");
  ExpectFound(all, {{"::Empty(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  ExpectFound(all, {{"::Return(", Op::kCompareExchange, kRelease, kRelaxed}}, "data race");
  ExpectFound(all, {{"::CollectReturned(", Op::kExchange, kAcquire, kRelaxed}}, "data race");
  ExpectFound(all, {{"::Release(", Op::kFetchSub, kAcqRel, kRelaxed}}, "data race");
  ExpectFound(all, {{"::Unref(", Op::kFetchSub, kAcqRel, kRelaxed}}, "data race");
  // A load and a store where one operation is needed: lost blocks, freed twice or never.
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kSeqCst, kSeqCst, true}}, "thread");
  ExpectFound(all, {{"::TakeAll(", Op::kExchange, kAcquire, kAcquire, true}}, "thread");
  ExpectFound(all, {{"::Return(", Op::kCompareExchange, kRelease, kRelease, true}}, "free");
  ExpectFound(all, {{"::CollectReturned(", Op::kExchange, kAcquire, kAcquire, true}}, "leak");
  ExpectFound(all, {{"::Release(", Op::kFetchSub, kAcqRel, kAcqRel, true}}, "leak");
  ExpectFound(all, {{"::Unref(", Op::kFetchSub, kAcqRel, kAcqRel, true}}, "no longer, allocated");
  ExpectFound(all, {{"::HandOver(", Op::kFetchAdd, kRelaxed, kRelaxed, true}}, "leak");
}

TEST(ExploreBlocksTest, EveryOrderIsNeeded) {
  ExpectOrdersNeeded(Scenarios(), "BasicBlockPool", {});
  ExpectOrdersNeeded(Scenarios(), "BasicBlockQueue", {});
}

}  // namespace
}  // namespace eris::explore
