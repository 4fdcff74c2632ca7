// The incoming buffer under every interleaving within bounds, at random beyond them, and with
// planted bugs.
#include "tests/explore/explore_testing.h"
#include "tests/explore/sleep_scenarios.h"

namespace eris::explore {
namespace {

// writers, records of each, records that a half has room for
PlannedScenario Buffer(uint32_t writers, uint32_t records, uint32_t half_records) {
  return {Make<IncomingBufferScenario>(writers, records, half_records), writers + 1};
}
PlannedScenario Sleep(uint32_t senders, uint32_t pieces) {
  return {Make<SleepScenario<IncomingBufferWork>>(senders, pieces), senders + 1};
}
const std::vector<PlannedScenario>& Scenarios() {
  static const std::vector<PlannedScenario> all = {Buffer(2, 3, 2), Buffer(1, 3, 1),
                                                   Buffer(3, 3, 3), Sleep(2, 1), Sleep(1, 2)};
  return all;
}

TEST(ExploreIncomingBufferTest, EveryRecordArrivesOnceWholeAndInOrderExhaustively) {
  ExpectHoldsExhaustively("1 writer, 3 records, room for 1", Buffer(1, 3, 1),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("1 writer, 4 records, room for 2", Buffer(1, 4, 2),
                          {.preemptions = 2, .old_stores = 3});
  ExpectHoldsExhaustively("2 writers, 1 record, room for 1", Buffer(2, 1, 1),
                          {.preemptions = 2, .old_stores = 2, .spurious = 1});
  ExpectHoldsExhaustively("2 writers, 2 records, room for 2", Buffer(2, 2, 2),
                          {.preemptions = 2, .old_stores = 1});
}

TEST(ExploreIncomingBufferTest, EveryRecordArrivesOnceWholeAndInOrderAtRandom) {
  ExpectHoldsAtRandom({Buffer(2, 3, 2), Buffer(3, 3, 3), Buffer(3, 2, 1), Buffer(2, 8, 2)}, 20'000);
}

TEST(ExploreIncomingBufferTest, AnOwnerThatSleepsIsWoken) {
  ExpectHoldsExhaustively("2 senders, 1 record", Sleep(2, 1), {.preemptions = 2, .old_stores = 2});
  ExpectHoldsExhaustively("1 sender, 2 records", Sleep(1, 2),
                          {.preemptions = 3, .old_stores = 3, .spurious = 1});
  ExpectHoldsAtRandom({Sleep(2, 2), Sleep(3, 1)}, 10'000);
}

TEST(ExploreIncomingBufferTest, PlantedBugsAreFound) {
  const auto& all = Scenarios();
  // A writer's decrement without release; the owner's look at the writers without acquire.
  ExpectFound(all, {{"::TryWrite(", Op::kFetchSub, kSeqCst, kRelaxed}}, "data race");
  ExpectFound(all, {{"::TryTake(", Op::kLoad, kAcquire, kRelaxed}}, "data race");
  // The opening store and the generation both relaxed: a writer overwrites what is being read.
  ExpectFound(all, {{"::TryTake(", Op::kStore, kRelease, kRelaxed}}, "data race");
  // Neither the CAS nor the load of the generation acquires.
  ExpectFound(all,
              {{"::TryWrite(", Op::kLoad, kAcquire, kRelaxed},
               {"::TryWrite(", Op::kCompareExchange, kSeqCst, kRelease}},
              "data race");
  // Neither of the writer's operations is seq_cst: the owner sleeps over a record.
  ExpectFound(all,
              {{"::TryWrite(", Op::kCompareExchange, kSeqCst, kAcqRel},
               {"::TryWrite(", Op::kFetchSub, kSeqCst, kAcqRel}},
              "deadlock");
  ExpectFound(all, {{"::HasRecords(", Op::kLoad, kSeqCst, kAcquire}}, "deadlock");
  // A load and a store where one operation is needed.
  ExpectFound(all, {{"::TryWrite(", Op::kCompareExchange, kSeqCst, kSeqCst, true}}, "thread");
  ExpectFound(all, {{"::TryWrite(", Op::kFetchSub, kSeqCst, kSeqCst, true}}, "thread");
  ExpectFound(all, {{"::TryTake(", Op::kFetchAnd, kAcqRel, kAcqRel, true}}, "thread");
}

TEST(ExploreIncomingBufferTest, OrdersThatNoScenarioNeeds) {
  ExpectOrdersNeeded(
      Scenarios(), "BasicIncomingBuffer",
      {
          // Two edges from the owner's reading to the next writing: by the generation, and by the
          // descriptor that the CAS compares. Either is enough; both weakened are found (above).
          "BasicIncomingBuffer::TryTake store release -> relaxed",
          "BasicIncomingBuffer::TryTake store release #2 -> relaxed",
          "BasicIncomingBuffer::TryWrite load acquire -> relaxed",
          "BasicIncomingBuffer::TryWrite compare_exchange seq_cst -> release",
          "BasicIncomingBuffer::TryWrite compare_exchange seq_cst -> relaxed",
          // Two seq_cst operations before Wake. One is enough; both weakened are found.
          "BasicIncomingBuffer::TryWrite compare_exchange seq_cst -> acq_rel",
          "BasicIncomingBuffer::TryWrite compare_exchange seq_cst -> acquire",
          "BasicIncomingBuffer::TryWrite fetch_sub seq_cst -> acq_rel",
          "BasicIncomingBuffer::TryWrite fetch_sub seq_cst -> release",
          // Its result is the newest whatever its order, and the load of the writers acquires.
          "BasicIncomingBuffer::TryTake fetch_and acq_rel -> acquire",
          "BasicIncomingBuffer::TryTake fetch_and acq_rel -> release",
          "BasicIncomingBuffer::TryTake fetch_and acq_rel -> relaxed",
      });
}

}  // namespace
}  // namespace eris::explore
