// The queue of free tasks and the sleeping AEUs under every interleaving within bounds, at random
// beyond them, and with planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/task_scenarios.h"

namespace eris::explore {
namespace {

PlannedScenario Queue(uint32_t pushers, uint32_t tasks, uint32_t takers) {
  return {Make<TaskQueueScenario>(pushers, tasks, takers), pushers + takers};
}
PlannedScenario SleepAtTasks(uint32_t pushers, uint32_t tasks, uint32_t aeus, bool meet) {
  return {Make<TaskSleepScenario>(pushers, tasks, aeus, meet), pushers + aeus};
}

TEST(ExploreTaskQueueTest, NoTaskIsLostOrTakenTwice) {
  ExpectHoldsExhaustively("1 pusher of 2, 2 takers", Queue(1, 2, 2),
                          {.preemptions = 2, .old_stores = 1, .spurious = 1});
  ExpectHoldsExhaustively("2 pushers of 2, 1 taker", Queue(2, 2, 1),
                          {.preemptions = 2, .old_stores = 1, .spurious = 1});
  ExpectHoldsExhaustively("2 AEUs of 2 that push, then take", Queue(2, 2, 0),
                          {.preemptions = 2, .old_stores = 1, .spurious = 1});
  ExpectHoldsAtRandom({Queue(2, 3, 2), Queue(3, 2, 0), Queue(1, 4, 3)}, 10'000);
}

TEST(ExploreTaskQueueTest, PlantedBugsAreFound) {
  const std::vector<PlannedScenario> all = {Queue(1, 2, 2), Queue(2, 2, 0)};
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kRelease, kRelaxed}}, "race");
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kRelease, kRelease, true}}, "twice");
  ExpectFound(all, {{"::SortIn(", Op::kExchange, kAcquire, kRelaxed}}, "race");
  ExpectFound(all, {{"::SortIn(", Op::kExchange, kAcquire, kAcquire, true}}, "for ever");
  // The flag of a queue in use.
  ExpectFound(all, {{"::TryTake(", Op::kExchange, kAcquire, kRelaxed}}, "race");
  ExpectFound(all, {{"::TryTake(", Op::kExchange, kAcquire, kAcquire, true}}, "thread");
  ExpectFound(all, {{"::TryTake(", Op::kStore, kRelease, kRelaxed}}, "race");
}

TEST(ExploreTaskQueueTest, EveryOrderIsNeeded) {
  ExpectOrdersNeeded({Queue(1, 2, 2), Queue(2, 2, 0), SleepAtTasks(1, 1, 1, false)},
                     "BasicTaskQueue", {});
}

TEST(ExploreSleepersTest, NoAeuStaysAsleepBesideATask) {
  ExpectHoldsExhaustively("1 pusher of 2, 1 AEU", SleepAtTasks(1, 2, 1, false),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("1 pusher of 2, 2 AEUs that meet", SleepAtTasks(1, 2, 2, true),
                          {.preemptions = 2, .old_stores = 1});
  ExpectHoldsExhaustively("2 pushers of 1, 2 AEUs that meet", SleepAtTasks(2, 1, 2, true),
                          {.preemptions = 1, .old_stores = 1});
  ExpectHoldsAtRandom({SleepAtTasks(1, 3, 2, false), SleepAtTasks(2, 1, 2, true),
                       SleepAtTasks(1, 3, 3, true), SleepAtTasks(2, 2, 1, false)},
                      10'000);
}

TEST(ExploreSleepersTest, PlantedBugsAreFound) {
  const std::vector<PlannedScenario> all = {SleepAtTasks(1, 2, 1, false),
                                            SleepAtTasks(1, 2, 2, true)};
  ExpectFound(all, {{"BasicSleepers<Memory>::Add(", Op::kFetchOr, kSeqCst, kAcqRel}}, "deadlock");
  ExpectFound(all, {{"::TakeOne(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  ExpectFound(all, {{"::Push(", Op::kFetchAdd, kSeqCst, kAcqRel}}, "deadlock");
  ExpectFound(all, {{"::Empty(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  // Two tasks wake the same AEU.
  ExpectFound({SleepAtTasks(2, 1, 2, true)},
              {{"::TakeOne(", Op::kFetchAnd, kRelaxed, kRelaxed, true}}, "for ever");
}

TEST(ExploreSleepersTest, EveryOrderIsNeeded) {
  ExpectOrdersNeeded({SleepAtTasks(1, 2, 1, false), SleepAtTasks(1, 2, 2, true)}, "BasicSleepers",
                     {});
}

}  // namespace
}  // namespace eris::explore
