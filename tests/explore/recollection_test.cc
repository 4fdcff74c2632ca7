// Foreign frees under every interleaving within bounds, at random beyond them, and with planted
// bugs.
#include "tests/explore/recollection_scenario.h"

#include "tests/explore/explore_testing.h"

namespace eris::explore {
namespace {

template <class... Parts>
PlannedScenario Freed(const RecollectionPlan& plan) {
  return {Make<RecollectionScenario<Parts...>>(plan), plan.freers + 1};
}
// Each kind of way home once.
constexpr RecollectionPlan kAlone{.freers = 2, .blocks = 2, .carriers = 0};
constexpr RecollectionPlan kCarried{.freers = 2, .blocks = 4, .carriers = 1, .in_carrier = 2};
constexpr RecollectionPlan kTwoBins{.freers = 2, .blocks = 2, .bins = 2, .carriers = 2};
constexpr RecollectionPlan kLooking{.freers = 2, .blocks = 2, .carriers = 1, .owner_looks = true};

TEST(ExploreRecollectionTest, EveryBlockComesHomeOnceExhaustively) {
  ExpectHoldsExhaustively("1 freer, 4 blocks, 1 carrier of 1", Freed({.blocks = 4}),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("1 freer, 4 blocks, 2 carriers of 2",
                          Freed({.blocks = 4, .carriers = 2, .in_carrier = 2}),
                          {.preemptions = 3, .old_stores = 2});
  ExpectHoldsExhaustively("2 freers, 1 block, alone",
                          Freed({.freers = 2, .blocks = 1, .carriers = 0}),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("2 freers, 2 bins", Freed(kTwoBins), {.preemptions = 2, .old_stores = 1});
  ExpectHoldsExhaustively("2 freers, the owner looks by itself",
                          Freed({.freers = 2, .blocks = 1, .owner_looks = true}),
                          {.preemptions = 2, .old_stores = 2});
}

TEST(ExploreRecollectionTest, EveryBlockComesHomeOnceAtRandom) {
  ExpectHoldsAtRandom({Freed(kAlone), Freed(kCarried), Freed(kTwoBins), Freed(kLooking),
                       Freed({.freers = 3, .blocks = 2, .bins = 2, .carriers = 1})},
                      20'000);
}

TEST(ExploreRecollectionTest, PlantedBugsAreFound) {
  const std::vector<PlannedScenario> all = {Freed(kAlone), Freed(kCarried), Freed(kTwoBins),
                                            Freed(kLooking)};
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kSeqCst, kRelaxed}}, "data race");
  ExpectFound(all, {{"::TakeAll(", Op::kExchange, kAcquire, kRelaxed}}, "data race");
  ExpectFound(all, {{"::BinFilled(", Op::kExchange, kSeqCst, kRelaxed}}, "deadlock");
  ExpectFound(all, {{"::BinFilled(", Op::kExchange, kSeqCst, kAcqRel}}, "deadlock");
  ExpectFound(all, {{"::Take(", Op::kExchange, kAcquire, kRelaxed}}, "deadlock");
  ExpectFound(all, {{"::Waits(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  // A load and a store where one operation is needed.
  ExpectFound(all, {{"::Push(", Op::kCompareExchange, kSeqCst, kSeqCst, true}}, "deadlock");
  ExpectFound(all, {{"::TakeAll(", Op::kExchange, kAcquire, kAcquire, true}}, "thread");
  ExpectFound(all, {{"::Take(", Op::kExchange, kAcquire, kAcquire, true}}, "deadlock");
}

// Planted: the owner is told as `Bug` does it.
enum class Telling : uint8_t { kByStore, kNotAtAll, kAwakeOnly };
template <Telling bug>
class BadRecollection {
 public:
  explicit BadRecollection(routing::BasicWaker<ModelMemory>& waker) : waker_(waker) {}
  void BinFilled() {
    if (bug == Telling::kNotAtAll) return;
    filled_.store(true, kSeqCst);
    if (bug != Telling::kAwakeOnly) waker_.Wake();
  }
  bool Take() {
    if (!filled_.load(kRelaxed)) return false;
    return filled_.exchange(false, kAcquire);
  }
  bool Waits() const { return filled_.load(kSeqCst); }

 private:
  routing::BasicWaker<ModelMemory>& waker_;
  ModelAtomic<bool> filled_{false};
};

// Planted: tells of a batch that is not the first, or of none.
template <bool kInverted>
struct BadBin : memory::BasicRecollectionBin<ModelMemory> {
  bool Push(memory::ReturnBatch* batch) {
    return !memory::BasicRecollectionBin<ModelMemory>::Push(batch) && kInverted;
  }
};

TEST(ExploreRecollectionTest, AnOwnerThatIsToldBadlyIsFound) {
  using Stores = BadRecollection<Telling::kByStore>;
  ExpectFound({Freed<Stores>(kTwoBins)}, {}, "deadlock");
  ExpectFound({Freed<Stores>(kLooking)}, {}, "deadlock");
  ExpectFound({Freed<BadRecollection<Telling::kNotAtAll>>(kAlone)}, {}, "deadlock");
  ExpectFound({Freed<BadRecollection<Telling::kAwakeOnly>>(kAlone)}, {}, "deadlock");
  using Listener = aeu::BasicRecollection<ModelMemory>;
  ExpectFound({Freed<Listener, BadBin<true>>(kAlone)}, {}, "deadlock");
  ExpectFound({Freed<Listener, BadBin<false>>(kAlone)}, {}, "deadlock");
}

TEST(ExploreRecollectionTest, OrdersThatNoScenarioNeeds) {
  const std::vector<PlannedScenario> all = {Freed(kAlone), Freed(kCarried), Freed(kTwoBins),
                                            Freed(kLooking)};
  // The owner goes to sleep by its flag and never looks at a bin for that.
  ExpectOrdersNeeded(all, "BasicRecollectionBin",
                     {
                         "BasicRecollectionBin::Push compare_exchange seq_cst -> acq_rel",
                         "BasicRecollectionBin::Push compare_exchange seq_cst -> release",
                     });
  ExpectOrdersNeeded(all, "BasicRecollection::", {});
}

}  // namespace
}  // namespace eris::explore
