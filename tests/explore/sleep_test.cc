// The waker and the ring under every interleaving within bounds, at random beyond them, and with
// planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/sleep_scenarios.h"

namespace eris::explore {
namespace {

template <class Work>
PlannedScenario Sleep(uint32_t senders, uint32_t pieces) {
  return {Make<SleepScenario<Work>>(senders, pieces), senders + 1};
}
PlannedScenario Ring(uint64_t items) { return {Make<RingScenario>(items), 2}; }

TEST(ExploreWakerTest, NoWakeUpIsLost) {
  ExpectHoldsExhaustively("1 sender, 3 pieces", Sleep<CounterWork>(1, 3),
                          {.preemptions = 4, .old_stores = 3, .spurious = 1});
  ExpectHoldsExhaustively("2 senders, 2 pieces", Sleep<CounterWork>(2, 2),
                          {.preemptions = 3, .old_stores = 2});
  ExpectHoldsAtRandom({Sleep<CounterWork>(2, 3), Sleep<CounterWork>(3, 2)}, 20'000);
}

TEST(ExploreWakerTest, PlantedBugsAreFound) {
  const std::vector<PlannedScenario> all = {Sleep<CounterWork>(1, 2), Sleep<CounterWork>(2, 2)};
  ExpectFound(all, {{"::PrepareToSleep(", Op::kStore, kSeqCst, kRelease}}, "deadlock");
  ExpectFound(all, {{"::Wake(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  ExpectFound(all, {{"::HasWork(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  ExpectFound(all, {{"::Send(", Op::kFetchAdd, kSeqCst, kAcqRel}}, "deadlock");
  ExpectFound(all, {{"::Wake(", Op::kExchange, kSeqCst, kSeqCst, true}}, "deadlock", 50'000);
}

TEST(ExploreWakerTest, OrdersThatNoScenarioNeeds) {
  ExpectOrdersNeeded({Sleep<CounterWork>(2, 1), Sleep<CounterWork>(1, 3)}, "BasicWaker",
                     {
                         // It decides who wakes: its result is the newest whatever its order, and
                         // the kernel orders the wake after it.
                         "BasicWaker::Wake exchange seq_cst -> acq_rel",
                         "BasicWaker::Wake exchange seq_cst -> acquire",
                         "BasicWaker::Wake exchange seq_cst -> release",
                         "BasicWaker::Wake exchange seq_cst -> relaxed",
                     });
}

TEST(ExploreSpscRingTest, ItemsArriveOnceAndInOrder) {
  ExpectHoldsExhaustively("4 items, ring of 2", Ring(4), {.preemptions = 3, .old_stores = 3});
  ExpectHoldsExhaustively("3 items, the consumer sleeps", Sleep<RingWork>(1, 3),
                          {.preemptions = 2, .old_stores = 2});
  ExpectHoldsAtRandom({Ring(10), Sleep<RingWork>(1, 6)}, 10'000);
}

TEST(ExploreSpscRingTest, OrdersThatNoScenarioNeeds) {
  ExpectOrdersNeeded({Ring(4), Sleep<RingWork>(1, 3)}, "BasicSpscRing",
                     {
                         // Whoever is about to sleep asks Empty, which is seq_cst.
                         "BasicSpscRing::Pop load seq_cst -> acquire",
                     });
}

}  // namespace
}  // namespace eris::explore
