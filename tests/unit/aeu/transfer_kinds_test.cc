// Links and copies of partitions of every kind between AEUs stepped by hand: the rows that move,
// and the order of keys that meet a range on its way.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "aeu/transfers/transfer_runner.h"
#include "tests/unit/aeu/transfer_fixture.h"

namespace eris::aeu {
namespace {

class TransferOfKindTest : public TransferTest, public testing::WithParamInterface<Kind> {};
INSTANTIATE_TEST_SUITE_P(AllKinds, TransferOfKindTest, testing::ValuesIn(Kinds()),
                         [](const auto& of) { return std::string(of.param.name); });

const std::vector<Range>& Pieces() {
  static const std::vector<Range> pieces{
      Of(0, 50),                                         // the low end
      Of(0x7000'0000'0000'0000, 0x7000'0000'0000'0100),  // from the middle
      Of(0x7000'0000'0000'0050, std::nullopt),           // the high end
      Of(kLastKey, std::nullopt),
      Of(1000, 1001),
      Of(0, std::nullopt)};
  return pieces;
}

TEST_P(TransferOfKindTest, ALinkTakesTheRowsAlong) {
  for (const Range& piece : Pieces()) {
    Build(GetParam());
    Put(ManyRows());
    const uint32_t steps = driver().Run({.leaving = piece});
    if (!GetParam().links) {
      EXPECT_EQ(steps, 0u);
      EXPECT_EQ(driver().last().outcome, StepOutcome::kRefused);
      EXPECT_EQ(driver().last().status.code(), absl::StatusCode::kInvalidArgument);
    } else {
      EXPECT_EQ(steps, 1u);
      EXPECT_EQ(driver().last().bytes, 0u);
      EXPECT_EQ(RangesOf(1), std::vector<Range>{piece});
    }
    ExpectRows();
    // And back: what was cut is joined again.
    if (GetParam().links) {
      EXPECT_EQ(driver().Run({.from = 1, .to = 0, .leaving = piece}), 1u);
      EXPECT_TRUE(RangesOf(1).empty());
      EXPECT_EQ(RangesOf(0), std::vector<Range>{Of(0, std::nullopt)});
      ExpectRows();
    }
  }
}

TEST_P(TransferOfKindTest, ACopyTakesTheRowsAlongChunkByChunk) {
  for (const End end : {End::kLow, End::kHigh}) {
    for (const Range& piece : Pieces()) {
      const bool at_end = end == End::kLow ? piece.lo.head == 0 : !piece.hi;
      if (!GetParam().links && !at_end) continue;
      Build(GetParam());
      Put(ManyRows());
      uint64_t leaving = 0;
      for (const auto& [key, value] : model_) leaving += piece.ContainsU64(key.first);
      const uint32_t steps =
          driver().Run({.kind = TransferKind::kCopy, .leaving = piece, .end = end, .rows_max = 40});
      EXPECT_GE(steps, std::max<uint64_t>(1, leaving / 60));
      EXPECT_EQ(driver().rows(), leaving);
      EXPECT_EQ(RangesOf(1), std::vector<Range>{piece});
      lab().Settle();
      EXPECT_FALSE(lab()[0].HasWork());
      for (const Range& range : RangesOf(0)) EXPECT_FALSE(range.Empty());
      ExpectRows();
      Rows changed;
      for (const auto& [key, value] : model_) {
        if (value % 3 == 0) changed[key] = value + 1;
      }
      Put(changed);
      ExpectRows();
    }
  }
}

TEST_P(TransferOfKindTest, ChunksMayStopAndGoOnAndComeBack) {
  Build(GetParam(), 4);
  Put(ManyRows());
  const Range all = Of(0, std::nullopt);
  const auto copy = TransferKind::kCopy;
  EXPECT_EQ(driver().Run({.kind = copy, .leaving = all, .end = End::kLow, .rows_max = 60}, 3), 3u);
  ExpectRows();
  const Range moved = RangesOf(1)[0];
  const Range kept = RangesOf(0)[0];
  // From the other end of what is left, to another AEU; then back, while the first is still about
  // to forget.
  EXPECT_EQ(
      driver().Run({.to = 2, .kind = copy, .leaving = kept, .end = End::kHigh, .rows_max = 60}, 2),
      2u);
  ExpectRows();
  EXPECT_GT(
      driver().Run(
          {.from = 1, .to = 0, .kind = copy, .leaving = moved, .end = End::kHigh, .rows_max = 25}),
      1u);
  ExpectRows();
  EXPECT_GT(driver().Run({.from = 2,
                          .to = 1,
                          .kind = copy,
                          .leaving = RangesOf(2)[0],
                          .end = End::kLow,
                          .rows_max = 25}),
            1u);
  lab().Settle();
  EXPECT_TRUE(RangesOf(2).empty());
  ExpectRows();
}

TEST_P(TransferOfKindTest, WhatAStoppedCopyHasMadeReadyIsReleased) {
  Build(GetParam());
  Put(ManyRows());
  const TransferDriver::Transfer copy{
      .kind = TransferKind::kCopy, .leaving = Of(0, std::nullopt), .rows_max = 60};
  ASSERT_EQ(driver().Run(copy, 1), 1u);
  lab().Settle();
  const auto step = driver().Give({.kind = TransferKind::kCopy, .release = true});
  lab().Settle();
  EXPECT_EQ(step->ended, 1u);
  EXPECT_EQ(step->outcome, StepOutcome::kRefused);
  EXPECT_TRUE(step->status.ok()) << step->status;
  ExpectRows();
  // The rows that have left come back to the same partition.
  ASSERT_GT(driver().Run({.from = 1,
                          .to = 0,
                          .kind = TransferKind::kCopy,
                          .leaving = RangesOf(1)[0],
                          .end = End::kHigh}),
            0u);
  lab().Settle();
  EXPECT_EQ(RangesOf(0), std::vector<Range>{Of(0, std::nullopt)});
  ExpectRows();
}

TEST_P(TransferOfKindTest, AChunkThatFindsNoMemoryIsTakenBack) {
  for (const End end : {End::kLow, End::kHigh}) {
    Build(GetParam());
    Put(ManyRows());
    const TransferDriver::Transfer transfer{
        .kind = TransferKind::kCopy, .leaving = Of(0, std::nullopt), .end = end, .rows_max = 50};
    EXPECT_EQ(driver().Run(transfer, 2), 2u);
    const std::vector<Range> before = RangesOf(0), at_target = RangesOf(1);
    AeuTestPeer::FailAllocationsFrom(Slot(1), 1);
    TransferDriver::Transfer rest = transfer;
    rest.leaving = before[0];
    rest.rows_max = 400;
    EXPECT_EQ(driver().Run(rest), 0u);
    AeuTestPeer::FailAllocationsFrom(Slot(1), 0);
    EXPECT_EQ(driver().last().outcome, StepOutcome::kReturned);
    EXPECT_EQ(driver().last().status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_EQ(RangesOf(0), before);
    EXPECT_EQ(RangesOf(1), at_target);
    ExpectRows();
    // There is memory again.
    EXPECT_GT(driver().Run(rest), 0u);
    lab().Settle();
    EXPECT_TRUE(RangesOf(0).empty());
    ExpectRows();
  }
}

// What reaches the source after it has given the range away runs at the target, behind the range;
// what came before runs at the source.
TEST_P(TransferOfKindTest, KeysOfTheSourcesTurnRunOnceAndInOrder) {
  for (const bool link : {true, false}) {
    if (link && !GetParam().links) continue;
    Build(GetParam());
    Put(ManyRows());
    const Range piece = Of(0, 0x7000'0000'0000'0010);
    const auto kind = link ? TransferKind::kLink : TransferKind::kCopy;
    const auto before = Send(CommandType::kUpsert, {{{3, 0}, 31}, {{kLastKey, 0}, 91}});
    const auto step = driver().Give({.kind = kind, .leaving = piece, .rows_max = 10'000});
    const auto same_turn = Send(CommandType::kUpsert, {{{4, 0}, 41}});
    lab().Step(0);
    while (Slot(0).stub() == std::nullopt) lab().Step(0);
    EXPECT_EQ(before->reply.answered, 2u);
    // The table still says the source, and the target has not seen the range.
    const auto behind =
        Send(CommandType::kUpsert, {{{3, 0}, 32}, {{7, 0}, 71}, {{kLastKey, 0}, 92}});
    lab().Step(0);
    EXPECT_EQ(behind->reply.answered, 1u);  // what is still its own
    const auto erased = Send(CommandType::kErase, {{{7, 0}, 0}});
    lab().Step(0);
    EXPECT_EQ(step->ended, 0u);
    lab().Step(1);
    EXPECT_TRUE(step->installed());
    EXPECT_EQ(behind->reply.answered, 3u);
    EXPECT_EQ(erased->reply.answered, 1u);
    EXPECT_EQ(same_turn->reply.answered, 1u);
    driver().Publish(*step);
    const auto late = Send(CommandType::kLookup, {{{3, 0}, 0}}, 0, /*older=*/1);
    // By the table in which it is the target's, nobody sends it to the source.
    const auto wrong = Send(CommandType::kLookup, {{{3, 0}, 0}}, 0);
    EXPECT_EQ(driver().Conclude(*step), KeyState::kAbsent);
    EXPECT_FALSE(Slot(0).stub());
    lab().Settle();
    model_[{3, 0}] = 32;
    model_[{4, 0}] = 41;
    model_.erase({7, 0});
    model_[{kLastKey, 0}] = 92;
    EXPECT_EQ(late->reply.answered, 1u);
    EXPECT_EQ(late->reply.state_column[0], KeyState::kPresent);
    EXPECT_EQ(wrong->reply.state_column[0], KeyState::kMoved);
    EXPECT_EQ(lab()[1].Routing().redirected, 0u);
    ExpectRows();
  }
}

}  // namespace
}  // namespace eris::aeu
