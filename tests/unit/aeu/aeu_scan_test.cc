// Scans and aggregates of an AEU stepped by hand: slices, pauses for want of chunks, the ends of
// its ranges, cancellation and drops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/unit/aeu/aeu_fixture.h"

namespace eris::aeu {
namespace {

using routing::PartOutcome;

using AeuScanTest = AeuTest;

TEST_F(AeuScanTest, ADropEndsScansThatAreRunning) {
  Build(1);
  Upsert({1, 2, 3}, {1, 2, 3});
  TestScanPart paused, running(1, 2);  // one has no chunk, the other is full after two rows
  running.GiveAll();
  lab_->SendScan(*route_, {0}, {}, paused);
  lab_->SendScan(*route_, {0}, {}, running);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(running.ended, 0u);
  ASSERT_NE(running.TakeFilled(), nullptr);
  TestReply drop(1);
  lab_->SendDrop(*route_, {0}, drop);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(drop.answered, 1u);
  for (TestScanPart* part : {&paused, &running}) {
    EXPECT_EQ(part->ended, 1u);
    EXPECT_EQ(part->outcome(), PartOutcome::kNoObject);
  }
  EXPECT_FALSE((*lab_)[0].HasWork());
}

TEST_F(AeuScanTest, AScanOfAnUnknownObjectEndsAtOnce) {
  Build(1);
  const ObjectRoute other = Unknown(4, {8});
  TestScanPart part;
  lab_->SendScan(other, {0}, {}, part);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(part.outcome(), PartOutcome::kNoObject);
  EXPECT_EQ(part.ended, 1u);
}

TEST_F(AeuScanTest, AScanWithoutAnEmptyChunkPausesAndOtherCommandsGoOn) {
  Build(1);
  Upsert({1, 2, 3, 4, 5}, {10, 20, 30, 40, 50});
  TestScanPart part(1, 2);
  lab_->SendScan(*route_, {0}, {}, part);
  lab_->Step(0);
  EXPECT_FALSE((*lab_)[0].HasWork());  // paused: costs nothing
  EXPECT_FALSE(lab_->Step(0));
  EXPECT_EQ(ValueOf(3), 30u);
  std::vector<uint64_t> seen;
  part.GiveAll();
  for (int round = 0; part.ended == 0 && round < 10; ++round) {
    EXPECT_TRUE((*lab_)[0].HasWork());
    EXPECT_TRUE(lab_->Step(0));
    while (auto* chunk = part.TakeFilled()) {
      seen.insert(seen.end(), chunk->rows.keys, chunk->rows.keys + chunk->rows.rows);
      part.GiveChunk(chunk);
    }
  }
  EXPECT_EQ(seen, (std::vector<uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
  EXPECT_EQ(part.ended, 1u);
}

TEST_F(AeuScanTest, APausedScanThatIsCancelledEnds) {
  Build(1);
  TestScanPart part;
  lab_->SendScan(*route_, {0}, {}, part);
  lab_->Step(0);
  EXPECT_EQ(part.ended, 0u);
  part.SetCancelled();
  EXPECT_TRUE((*lab_)[0].HasWork());
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(part.outcome(), PartOutcome::kCancelled);
  EXPECT_EQ(part.ended, 1u);
}

TEST_F(AeuScanTest, SlicesAreBoundedAndPointCommandsRunBetweenThem) {
  Build(1);
  constexpr uint64_t kRows = 5000;
  UpsertDense(kRows);
  TestScanPart part;
  part.GiveAll();
  lab_->SendScan(*route_, {0}, {}, part);
  uint64_t turns = 0, before = 0;
  while (part.ended == 0 && turns < 1000) {
    TestReply lookup(1);
    uint64_t rows_when_answered = 0;
    lookup.on_answered = [&] { rows_when_answered = (*lab_)[0].counters().rows_scanned.Read(); };
    client_->Send(*route_, CommandType::kLookup, {kRows - 1}, {}, lookup);
    // No time for scans: each turn answers the least that is possible.
    EXPECT_TRUE((*lab_)[0].Step({.scan_ns = 0}));
    EXPECT_EQ(lookup.answered, 1u);
    EXPECT_EQ(rows_when_answered, before);  // it did not wait for this turn's slice
    const uint64_t rows = (*lab_)[0].counters().rows_scanned.Read();
    EXPECT_LE(rows - before, 1000u);
    before = rows;
    ++turns;
  }
  EXPECT_GE(turns, 5u);
  EXPECT_EQ(before, kRows);
  EXPECT_EQ(part.TakeKeys().size(), kRows);
}

TEST_F(AeuScanTest, AScanGoesOverAllRangesOfTheAeuAndStopsWhereTheyEnd) {
  struct Direction {
    storage::ScanQuery query;
    std::vector<AeuId> owners;
    std::vector<uint64_t> keys;
    Range rest;
  };
  const Direction directions[] = {
      {{}, {{0}, {0}, {1}}, {9, 10, 15}, {Key::FromU64(20), Key::FromU64(30)}},
      {{.direction = ScanDirection::kBackward},
       {{1}, {0}, {0}},
       {25, 15, 10},
       {Key::FromU64(4), Key::FromU64(10)}}};
  for (const Direction& one : directions) {
    BuildRanges(2, {0, 10, 20}, one.owners);
    Upsert({3, 9, 10, 15, 25, 35}, {1, 1, 1, 1, 1, 1});
    TestScanPart part;
    part.GiveAll();
    lab_->SendQuery(*route_, {0}, {Key::FromU64(4), Key::FromU64(30)}, part, one.query);
    lab_->Settle();
    EXPECT_EQ(part.TakeKeys(), one.keys);
    EXPECT_EQ(part.outcome(), PartOutcome::kMoved);
    EXPECT_EQ(part.rest(), one.rest);
  }
}

TEST_F(AeuScanTest, AScanHonoursItsLimitAcrossRanges) {
  BuildRanges(1, {0, 10, 20}, {{0}, {0}, {0}});
  Upsert({3, 9, 10, 15, 25}, {1, 1, 1, 1, 1});
  for (uint64_t limit = 0; limit < 7; ++limit) {
    TestScanPart part;
    part.GiveAll();
    lab_->SendScan(*route_, {0}, {}, part, limit);
    lab_->Settle();
    EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
    EXPECT_EQ(part.TakeKeys().size(), std::min<uint64_t>(limit, 5));
  }
}

TEST_F(AeuScanTest, AnAggregateMovesNoChunkAndSaysWhereItsRangesEnd) {
  BuildRanges(2, {0, 10, 20}, {{0}, {0}, {1}});
  Upsert({3, 9, 10, 15, 25}, {1, 2, 3, 4, 5});
  TestScanPart part;
  lab_->SendQuery(*route_, {0}, {Key::FromU64(4), Key::FromU64(30)}, part, {}, true);
  lab_->Settle();
  EXPECT_EQ(part.ended, 1u);
  EXPECT_EQ(part.outcome(), PartOutcome::kMoved);
  EXPECT_EQ(part.rest(), (Range{Key::FromU64(20), Key::FromU64(30)}));
  EXPECT_EQ(part.aggregate(), (RangeAggregate{3, 2, 4, 9, 0, 9, 15}));
}

// What passes rows over or adds them up is cut into slices like any other scan.
TEST_F(AeuScanTest, SlicesOfFiltersAndAggregatesAreBoundedByTheRowsLookedAt) {
  Build(1);
  constexpr uint64_t kRows = 5000;
  UpsertDense(kRows);
  for (const bool aggregate : {false, true}) {
    TestScanPart part;
    part.GiveAll();
    lab_->SendQuery(*route_, {0}, {}, part, {.values = {kRows, kRows}}, aggregate);
    uint64_t turns = 0, before = (*lab_)[0].counters().rows_scanned.Read();
    const uint64_t end = before + kRows;
    while (part.ended == 0 && turns < 1000) {
      EXPECT_TRUE((*lab_)[0].HasWork());
      EXPECT_TRUE((*lab_)[0].Step({.scan_ns = 0}));
      const uint64_t rows = (*lab_)[0].counters().rows_scanned.Read();
      EXPECT_LE(rows - before, 256u);
      before = rows;
      ++turns;
    }
    EXPECT_GE(turns, kRows / 256);
    EXPECT_EQ(before, end);
    EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
    EXPECT_EQ(part.aggregate().count, 0u);
  }
}

TEST_F(AeuScanTest, AnAggregateThatIsCancelledEndsInItsNextTurn) {
  Build(1);
  UpsertDense(1000);
  TestScanPart part;
  lab_->SendQuery(*route_, {0}, {}, part, {}, true);
  (*lab_)[0].Step({.scan_ns = 0});
  EXPECT_EQ(part.ended, 0u);
  part.SetCancelled();
  (*lab_)[0].Step({.scan_ns = 0});
  EXPECT_EQ(part.ended, 1u);
  EXPECT_EQ(part.outcome(), PartOutcome::kCancelled);
}

}  // namespace
}  // namespace eris::aeu
