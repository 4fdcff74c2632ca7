// The way home of blocks with answers (routing/return_point.h) under every interleaving within
// bounds, at random beyond them, and with planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/home_scenario.h"

namespace eris::explore {
namespace {

PlannedScenario Home(uint32_t aeus, uint32_t blocks, uint32_t awaited) {
  return {Make<HomeScenario>(aeus, blocks, awaited), aeus + 2};
}
PlannedScenario SentOn(uint32_t aeus, uint32_t blocks, uint32_t awaited) {
  return {Make<HomeScenario>(aeus, blocks, awaited, true), aeus + 2};
}
const std::vector<PlannedScenario>& Scenarios() {
  static const std::vector<PlannedScenario> all = {Home(1, 2, 1), Home(1, 3, 2),   Home(2, 1, 2),
                                                   Home(2, 2, 2), SentOn(2, 1, 1), SentOn(2, 2, 2)};
  return all;
}

TEST(ExploreHomeTest, NoBlockIsForgottenExhaustively) {
  ExpectHoldsExhaustively("1 AEU, 2 blocks, 1 awaited", Home(1, 2, 1),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("1 AEU, 1 block, none awaited", Home(1, 1, 0),
                          {.preemptions = 3, .old_stores = 2});
  ExpectHoldsExhaustively("2 AEUs, 1 block each, both awaited", Home(2, 1, 2),
                          {.preemptions = 2, .old_stores = 1});
  ExpectHoldsExhaustively("2 AEUs answer in 1 block", SentOn(2, 1, 1),
                          {.preemptions = 2, .old_stores = 1});
}

TEST(ExploreHomeTest, NoBlockIsForgottenAtRandom) {
  ExpectHoldsAtRandom({Home(2, 3, 3), Home(2, 2, 1), SentOn(2, 3, 2)}, 15'000);
}

using StoppingPoint = routing::BasicReturnPoint<StoppingMemory>;

TEST(ExploreHomeTest, APusherThatStopsBeforeItsFutexCallHoldsUpNobody) {
  const PlannedScenario scenario{Make<StoppedPusherScenario<StoppingPoint>>(), 3};
  ExpectHoldsExhaustively("a pusher stops", scenario,
                          {.preemptions = 3, .old_stores = 2, .spurious = 1});
  ExpectHoldsAtRandom({scenario}, 10'000);
}

// Planted: only the thread that has taken the mark makes the futex call.
struct WakesAlone {
  explicit WakesAlone(routing::ReturnListener&) {}
  void Push(routing::BasicBlock<StoppingMemory>* block) {
    if (blocks.Push(block)) WakeAttendant();
  }
  void WakeAttendant() {
    uint32_t seen = 1;
    if (asleep.load(kSeqCst) == 1 && asleep.compare_exchange_strong(seen, 0, kRelaxed)) {
      StoppingMemory::FutexWakeAll(asleep);
    }
  }
  routing::BasicBlock<StoppingMemory>* TakeAll() { return blocks.TakeAll(); }
  void Attend() {}
  template <class Ready>
  void Sleep(const Ready& ready, int64_t) {
    asleep.store(1, kSeqCst);
    if (blocks.Empty() && !ready()) StoppingMemory::FutexWait(asleep, 1);
    asleep.store(0, kRelaxed);
  }
  void Leave() {}
  routing::BasicBlockQueue<StoppingMemory> blocks;
  ModelAtomic<uint32_t> asleep{0};
};

TEST(ExploreHomeTest, APusherOnWhichOthersRelyIsFoundWhenItStops) {
  ExpectFound({{Make<StoppedPusherScenario<WakesAlone>>(), 3}}, {}, "deadlock");
}

TEST(ExploreHomeTest, PlantedBugsAreFound) {
  const auto& all = Scenarios();
  ExpectFound(all, {{"::Sleep(", Op::kStore, kSeqCst, kRelease}}, "deadlock", 50'000);
  ExpectFound(all, {{"::Leave(", Op::kStore, kSeqCst, kRelease}}, "deadlock", 50'000);
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kSeqCst, kRelaxed}}, "data race");
  ExpectFound(all, {{"::Release(", Op::kFetchSub, kAcqRel, kRelaxed}}, "data race");
  // Two AEUs each think that the other one still answers, or both bring the block home.
  ExpectFound(all, {{"::Release(", Op::kFetchSub, kAcqRel, kAcqRel, true}}, "deadlock");
}

TEST(ExploreHomeTest, EveryOrderIsNeeded) {
  ExpectOrdersNeeded(Scenarios(), "BasicReturnPoint", {});
}

}  // namespace
}  // namespace eris::explore
