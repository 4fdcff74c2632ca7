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
using Stopping = routing::BasicWaker<StoppingMemory>;
template <class Waker = Stopping>
PlannedScenario SleepAndStop(uint32_t senders, uint32_t pieces) {
  return {Make<StoppedWakerScenario<Waker>>(senders, pieces), senders + 1};
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
  // An owner that has got up is marked, or a later sleep by an earlier one's call.
  ExpectFound(all, {{"::Wake(", Op::kCompareExchange, kRelaxed, kRelaxed, true}}, "deadlock");
}

TEST(ExploreWakerTest, AWakerThatStopsBeforeItsFutexCallHoldsUpNobody) {
  ExpectHoldsExhaustively("1 other sender, 2 pieces", SleepAndStop(2, 2),
                          {.preemptions = 3, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("2 other senders, 1 piece", SleepAndStop(3, 1),
                          {.preemptions = 2, .old_stores = 2});
  ExpectHoldsAtRandom({SleepAndStop(2, 4), SleepAndStop(3, 2)}, 20'000);
}

// Planted: whoever has taken the mark is the only one to make the futex call.
struct WakesAlone {
  bool Wake() {
    if (sleeping.load(kSeqCst) == 0 || sleeping.exchange(0, kSeqCst) == 0) return false;
    StoppingMemory::FutexWakeAll(sleeping);
    return true;
  }
  void PrepareToSleep() { sleeping.store(1, kSeqCst); }
  void CancelSleep() { sleeping.store(0, kRelaxed); }
  void Sleep() {
    StoppingMemory::FutexWait(sleeping, 1);
    CancelSleep();
  }
  ModelAtomic<uint32_t> sleeping{0};
};

TEST(ExploreWakerTest, AWakerOnWhichOthersRelyIsFoundWhenItStops) {
  ExpectFound({SleepAndStop<WakesAlone>(2, 1)}, {}, "deadlock");
  ExpectFound({SleepAndStop<WakesAlone>(3, 2)}, {}, "deadlock");
}

TEST(ExploreWakerTest, EveryOrderIsNeeded) {
  ExpectOrdersNeeded({Sleep<CounterWork>(2, 1), Sleep<CounterWork>(1, 3)}, "BasicWaker", {});
  ExpectOrdersNeeded({SleepAndStop(2, 2)}, "BasicWaker", {});
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
