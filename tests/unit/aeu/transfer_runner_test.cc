// Ranges that change hands between AEUs stepped by hand: when a step may begin and end, what is
// refused and taken back, and keys that meet a range on its way. Rows of every kind are moved in
// transfer_kinds_test.cc.
#include "aeu/transfers/transfer_runner.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "aeu/state/reserve_more.h"
#include "tests/unit/aeu/transfer_fixture.h"

namespace eris::aeu {
namespace {

TEST_F(HandOverTest, AStepThatIsOutLeavesTheSourceIdle) {
  Put(Dense(0, 100));
  for (const auto& transfer : Both(0, 50)) {
    const auto step = driver().Give(transfer);
    while (step->ended == 0) {
      lab().Step(0);
      lab().Step(1);
    }
    lab().Settle();
    EXPECT_FALSE(lab()[0].HasWork());
    EXPECT_FALSE(lab()[1].HasWork());
    driver().PublishAndConclude(*step);
    lab().Settle();
    ExpectRows();
    driver().Run({.from = 1, .to = 0, .leaving = Of(0, 50)});
  }
}

TEST_F(HandOverTest, TheFiguresOfAStepAreTold) {
  Put(Dense(0, 1000));
  const auto step = driver().Give(Copy(0, std::nullopt, 300));
  lab().Settle();
  ASSERT_TRUE(step->installed());
  EXPECT_EQ(step->rows, 300u);
  EXPECT_GE(step->bytes, 300u * 16);
  EXPECT_LT(step->bytes, 300u * 32);
  EXPECT_EQ(step->covers, Of(0, 300));
  EXPECT_GT(step->source_cpu_ns, 0u);
  EXPECT_GT(step->source_wall_ns, 0u);
  EXPECT_GT(step->target_cpu_ns, 0u);
  EXPECT_GT(step->target_wall_ns, 0u);
  driver().PublishAndConclude(*step);
}

TEST_F(HandOverTest, CopiedRowsAreForgottenOverTurnsAndTheirMemoryComesBack) {
  Put(Dense(0, 20'000));
  const uint64_t used_before = Slot(0).cache().used_bytes();
  MoveAndConclude(Copy(0, 19'000, 100'000));
  EXPECT_EQ(lab()[0].loads().All()[0].partitions.size(), 1u);
  uint32_t turns = 0;
  while (lab()[0].HasWork()) {
    lab().Step(0);
    ASSERT_LT(++turns, 10 + 19'000 / WorkPace::kRowsFirst);
  }
  EXPECT_GT(turns, 1u);
  EXPECT_LT(Slot(0).cache().used_bytes(), used_before / 4);
  ExpectRows();
}

TEST_F(HandOverTest, ATurnThatTakesRowsInForgetsNoOthers) {
  Put(Dense(0, 20'000));
  MoveAndConclude(Copy(0, 19'000, 100'000));
  const auto back = driver().Give(
      {.from = 1, .to = 0, .kind = TransferKind::kCopy, .leaving = Of(0, 500), .rows_max = 1000});
  lab().Step(1);
  const uint64_t used = Slot(0).cache().used_bytes();
  lab().Step(0);
  ASSERT_TRUE(back->installed());
  const uint64_t used_with_them = Slot(0).cache().used_bytes();
  EXPECT_GE(used_with_them, used);
  lab().Step(0);
  EXPECT_LT(Slot(0).cache().used_bytes(), used_with_them);
  driver().PublishAndConclude(*back);
  ExpectRows();
  // What it has cost is told with the next conclusion, once.
  lab().Settle();
  StepWhileItHasWork(0);
  for (const bool told : {true, false}) {
    const auto next = MoveAndConclude(Copy(told ? 19'000 : 19'500, told ? 19'500 : 20'000));
    EXPECT_EQ(next->forget_cpu_ns > 0, told);
    EXPECT_EQ(next->forget_wall_ns > 0, told);
  }
}

TEST_F(HandOverTest, AnEmptyRangeGoesWhenItsLastRowIsForgotten) {
  Put(Dense(0, 20'000));
  MoveAndConclude(Copy(0, std::nullopt, 100'000));
  ASSERT_EQ(RangesOf(0).size(), 1u);
  EXPECT_TRUE(RangesOf(0)[0].Empty());
  // Meanwhile the range may come back.
  driver().Run({.from = 1, .to = 0, .leaving = Of(0, 500)});
  ExpectRows();
  lab().Settle();
  EXPECT_EQ(RangesOf(0), std::vector<Range>{Of(0, 500)});
  ExpectRows();
}

// A range grows downwards past one that has been given away and is still being forgotten: in the
// order of their beginnings it stands below that then, and all its keys are found.
TEST_F(HandOverTest, ARangeThatGrowsPastAnEmptyOneIsFound) {
  Put(Dense(0, 20'000));
  driver().Run(Linked(10, 20));
  const auto move = [&](uint32_t from, uint32_t to, const Range& leaving, uint32_t rows_max) {
    const auto step = driver().Give({.from = from,
                                     .to = to,
                                     .kind = TransferKind::kCopy,
                                     .leaving = leaving,
                                     .end = End::kHigh,
                                     .rows_max = rows_max});
    StepUntilGiven(*step);
    lab().Step(to);
    ASSERT_TRUE(step->installed());
    driver().PublishAndConclude(*step);
  };
  move(0, 1, Of(50, 20'000), 100'000);
  move(1, 0, Of(50, 20'000), 100'000);
  move(0, 1, Of(40, 20'000), 15'000);
  move(0, 1, Of(40, 5'000), 15'000);
  EXPECT_EQ(RangesOf(1), (std::vector<Range>{Of(10, 20), Of(40, 20'000), Of(50, 50)}));
  for (const uint64_t key : {40, 45, 49, 50, 51, 19'999}) {
    const auto sent = Send(CommandType::kLookup, {{{key, 0}, 0}}, 1);
    lab().Step(1);
    ASSERT_EQ(sent->reply.answered, 1u) << key;
    EXPECT_EQ(sent->reply.state_column[0], KeyState::kPresent) << key;
    EXPECT_EQ(sent->reply.value_column[0], key);
  }
  // And given away again from its low end, back past it.
  move(1, 0, Of(40, 60), 100);
  EXPECT_EQ(RangesOf(1), (std::vector<Range>{Of(10, 20), Of(50, 50), Of(60, 20'000)}));
  StepWhileItHasWork(1);
  EXPECT_EQ(RangesOf(1), (std::vector<Range>{Of(10, 20), Of(60, 20'000)}));
  ExpectRows();
}

// Else chunks could leave faster than their rows are freed, which would be freed in one go then.
TEST_F(HandOverTest, AChunkWaitsUntilTheRowsOfTheLastOneAreForgotten) {
  Put(Dense(0, 20'000));
  for (const Range& leaving : {Of(0, 15'000), Of(15'000, 19'000)}) {
    const auto step = driver().Give(
        {.kind = TransferKind::kCopy, .leaving = leaving, .end = End::kLow, .rows_max = 100'000});
    lab().Step(0);
    EXPECT_EQ(step->rows == 0, leaving.lo.head > 0);
    StepUntilGiven(*step);
    lab().Step(1);
    ASSERT_TRUE(step->installed());
    // A step that is out leaves the source idle.
    StepWhileItHasWork(0);
    driver().PublishAndConclude(*step);
    EXPECT_TRUE(lab()[0].HasWork());
  }
  StepWhileItHasWork(0);
  ExpectRows();
}

TEST_F(HandOverTest, WithoutRoomForTheMessageNothingChangesUntilThereIs) {
  for (const bool link : {true, false}) {
    Build(U64(), 3, 4 << 10);
    Put(Dense(0, 400));
    // Keys that are sent on fill what the source has for the target, which does not turn.
    ASSERT_EQ(driver().Run(Linked(1000, std::nullopt)), 1u);
    const Stub stub{Of(1000, std::nullopt), {1}, route_->version() + 1};
    Slot(0).SetStub(stub);
    std::vector<std::unique_ptr<Sent>> sent;
    uint64_t moved = 0;
    while (moved == 0) {
      sent.push_back(Send(CommandType::kLookup, Dense(1000, 1020), 0));
      lab().Step(0);
      moved = lab()[0].Routing().redirected;
      ASSERT_LT(sent.size(), 1000u);
    }
    // Until not even a short record fits.
    for (int i = 0; i < 40; ++i) {
      Slot(0).SetStub(stub);  // the old one broke
      sent.push_back(Send(CommandType::kLookup, Dense(1000, 1001), 0));
      lab().Step(0);
    }
    Slot(0).SetStub(std::nullopt);
    const auto step = driver().Give(link ? Linked(0, 200) : Copy(0, 200));
    for (int i = 0; i < 5; ++i) lab().Step(0);
    EXPECT_FALSE(Slot(0).stub());
    EXPECT_TRUE(lab()[0].HasWork());
    EXPECT_EQ(step->ended, 0u);
    // It serves the range meanwhile.
    const auto served = Send(CommandType::kUpsert, {{{5, 0}, 500}});
    lab().Step(0);
    EXPECT_EQ(served->reply.answered, 1u);
    model_[{5, 0}] = 500;
    lab().Settle();
    ASSERT_TRUE(step->installed()) << step->status;
    driver().PublishAndConclude(*step);
    ExpectRows();
    for (const auto& one : sent) EXPECT_EQ(one->reply.answered, one->keys.size());
  }
}

// The target's buffer stays full while keys come that go along the stub: they are redirected, never
// put before the range.
TEST_F(HandOverTest, KeysThatFindNoRoomBehindTheRangeGoBack) {
  Build(U64(), 3, 4 << 10);
  Put(Dense(0, 400));
  const auto step = driver().Give(Linked(0, 200));
  lab().Step(0);
  ASSERT_TRUE(Slot(0).stub());
  std::vector<std::unique_ptr<Sent>> sent;
  for (uint64_t i = 0; i < 300; ++i) {
    sent.push_back(Send(CommandType::kUpsert, {{{i % 200, 0}, 10'000 + i}}));
    lab().Step(0);
  }
  EXPECT_GT(lab()[0].Routing().redirected, 0u);
  EXPECT_GT(lab()[0].Routing().forwarded, 1u);
  lab().Settle();
  ASSERT_TRUE(step->installed());
  bool refused = false;
  for (const auto& one : sent) {
    ASSERT_EQ(one->reply.answered, 1u);
    const KeyState state = one->reply.state_column[0];
    ASSERT_TRUE(state == KeyState::kPresent || state == KeyState::kMoved);
    // None overtakes what has been refused before it.
    ASSERT_TRUE(state == KeyState::kMoved || !refused);
    refused |= state == KeyState::kMoved;
  }
  for (uint64_t i = 0; i < 300; ++i) {
    if (sent[i]->reply.state_column[0] == KeyState::kPresent) model_[{i % 200, 0}] = 10'000 + i;
  }
  driver().PublishAndConclude(*step);
  ExpectRows();
}

TEST_F(HandOverTest, AStepThatIsReturnedIsServedByTheSourceAgain) {
  Put(Dense(0, 400));
  for (const TransferKind kind : {TransferKind::kLink, TransferKind::kCopy}) {
    // The last AEU has no slot: nobody has made room there.
    const auto step =
        driver().Give({.to = 2, .kind = kind, .leaving = Of(100, 200), .rows_max = 1000});
    lab().Step(0);
    ASSERT_TRUE(Slot(0).stub());
    lab().Step(2);
    EXPECT_EQ(step->outcome, StepOutcome::kReturned);
    EXPECT_EQ(step->status.code(), absl::StatusCode::kNotFound);
    driver().Conclude(*step);
    EXPECT_FALSE(Slot(0).stub());
    lab().Settle();
    uint64_t rows = 0;
    for (const OwnedRange& owned : Slot(0).ranges()) rows += owned.partition->size();
    EXPECT_EQ(rows, 400u);
    ExpectRows();
  }
  EXPECT_EQ(driver().Run(Copy(0, 300)), 1u);
  ExpectRows();
}

TEST_F(HandOverTest, KeysSentOnBehindAReturnedRangeGoBackToTheSender) {
  Put(Dense(0, 400));
  const auto step = driver().Give(Copy(0, 100));
  lab().Step(0);
  AeuTestPeer::FailAllocationsFrom(Slot(1), 1);
  lab().Step(1);
  AeuTestPeer::FailAllocationsFrom(Slot(1), 0);
  ASSERT_EQ(step->outcome, StepOutcome::kReturned);
  const auto sent = Send(CommandType::kUpsert, {{{7, 0}, 1}, {{300, 0}, 2}});
  lab().Settle();
  EXPECT_EQ(sent->reply.state_column[0], KeyState::kMoved);
  EXPECT_EQ(sent->reply.state_column[1], KeyState::kPresent);
  EXPECT_EQ(lab()[1].Routing().redirected, 1u);
  EXPECT_EQ(lab()[0].Routing().redirected, 0u);
  driver().Conclude(*step);
  // What was sent behind it, by the same table, is not executed before it.
  const auto behind = Send(CommandType::kUpsert, {{{7, 0}, 3}, {{200, 0}, 4}}, 0, /*older=*/1);
  const auto again = Send(CommandType::kUpsert, {{{8, 0}, 5}});
  lab().Settle();
  EXPECT_EQ(behind->reply.state_column[0], KeyState::kMoved);
  EXPECT_EQ(behind->reply.state_column[1], KeyState::kPresent);
  EXPECT_EQ(again->reply.state_column[0], KeyState::kPresent);
  model_[{300, 0}] = 2;
  model_[{200, 0}] = 4;
  model_[{8, 0}] = 5;
  ExpectRows();
}

// There and back: a sender that has seen neither has commands on their way by both roads.
TEST_F(HandOverTest, ARangeThatHasComeBackRefusesOlderCommands) {
  for (const auto& there : Both(100, 200)) {
    Build(U64());
    Put(Dense(0, 400));
    const auto away = driver().Give(there);
    lab().Step(0);
    const auto sent_on = Send(CommandType::kUpsert, {{{150, 0}, 1}});
    lab().Step(0);
    lab().Step(1);
    ASSERT_TRUE(away->installed());
    driver().PublishAndConclude(*away);
    TransferDriver::Transfer back = there;
    back.from = 1;
    back.to = 0;
    ASSERT_EQ(driver().Run(back), 1u);
    const auto old = Send(CommandType::kUpsert, {{{150, 0}, 2}, {{50, 0}, 3}}, 0, /*older=*/2);
    const auto newer = Send(CommandType::kUpsert, {{{151, 0}, 4}});
    lab().Settle();
    EXPECT_EQ(sent_on->reply.state_column[0], KeyState::kPresent);
    EXPECT_EQ(old->reply.state_column[0], KeyState::kPresent);  // 50, which has never left
    EXPECT_EQ(old->reply.state_column[1], KeyState::kMoved);
    EXPECT_EQ(newer->reply.state_column[0], KeyState::kPresent);
    model_[{150, 0}] = 1;
    model_[{50, 0}] = 3;
    model_[{151, 0}] = 4;
    ExpectRows();
  }
}

TEST_F(HandOverTest, WhatIsOutOfDateIsRefused) {
  Put(Dense(0, 400));
  ASSERT_EQ(driver().Run(Linked(100, 200)), 1u);
  const auto refused = [&](const TransferDriver::Transfer& transfer, absl::StatusCode code) {
    EXPECT_EQ(driver().Run(transfer), 0u);
    EXPECT_EQ(driver().last().outcome, StepOutcome::kRefused);
    EXPECT_EQ(driver().last().status.code(), code) << driver().last().status;
  };
  for (const auto& transfer : Both(100, 200)) {
    refused(transfer, absl::StatusCode::kFailedPrecondition);  // it is the other's
  }
  for (const auto& transfer : Both(150, 300)) {
    refused(transfer, absl::StatusCode::kFailedPrecondition);  // its near end is
  }
  for (const auto& transfer : Both(50, 50)) refused(transfer, absl::StatusCode::kInvalidArgument);
  TransferDriver::Transfer by_nobody = Linked(0, 100);
  by_nobody.from = 2;
  refused(by_nobody, absl::StatusCode::kNotFound);
  ExpectRows();
  // What lies in one range of it goes, and the step says how far that is.
  const auto step = driver().Give(Linked(50, 300));
  lab().Settle();
  ASSERT_TRUE(step->installed());
  EXPECT_EQ(step->covers, Of(50, 100));
  driver().PublishAndConclude(*step);
  ExpectRows();
}

TEST_F(HandOverTest, OneStepAtATime) {
  Put(Dense(0, 400));
  for (const auto& transfer : Both(0, 100)) {
    const auto step = driver().Give(transfer);
    const auto second = driver().Give(Copy(200, std::nullopt));
    lab().Settle();
    ASSERT_TRUE(step->installed());
    EXPECT_EQ(second->outcome, StepOutcome::kRefused);
    const auto third = driver().Give(Linked(300, std::nullopt));
    lab().Settle();
    EXPECT_EQ(third->outcome, StepOutcome::kRefused);
    EXPECT_EQ(third->ended, 1u);
    driver().PublishAndConclude(*step);
    // The same conclusion again is nobody's.
    EXPECT_EQ(driver().Conclude(*step), KeyState::kNoObject);
    ExpectRows();
    EXPECT_EQ(driver().Run({.from = 1, .to = 0, .leaving = Of(0, 100)}), 1u);
  }
}

// Its pages are there, and are not waited for in the turn.
TEST_F(HandOverTest, AChunkIsMadeInTheMemoryThatItsStepBrings) {
  Put(Dense(0, 400));
  const auto step = driver().Give(Copy(0, 100));
  step->chunk.keys.reserve(1000);
  step->chunk.values.reserve(1000);
  const uint64_t* const columns[] = {step->chunk.keys.data(), step->chunk.values.data()};
  lab().Settle();
  ASSERT_TRUE(step->installed());
  EXPECT_EQ(step->chunk.keys.size(), 100u);
  EXPECT_EQ(step->chunk.keys.data(), columns[0]);
  EXPECT_EQ(step->chunk.values.data(), columns[1]);
  driver().PublishAndConclude(*step);
  ExpectRows();
}

TEST_F(HandOverTest, RefusedForWantOfMemoryAtTheSourceNothingChanges) {
  Put(Dense(0, 2000));
  bool refused = false;
  for (uint64_t nth = 1; nth < 200; ++nth) {
    AeuTestPeer::FailAllocationsFrom(Slot(0), nth);
    const uint32_t steps = driver().Run(Linked(777, 1533));
    AeuTestPeer::FailAllocationsFrom(Slot(0), 0);
    ExpectRows();
    if (steps == 1) {
      EXPECT_TRUE(refused);
      return;
    }
    refused = true;
    EXPECT_EQ(driver().last().outcome, StepOutcome::kRefused);
    EXPECT_EQ(driver().last().status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(RangesOf(1).empty());
  }
  FAIL() << "never enough memory";
}

// Room for ranges is made before anything changes, at the source and at the target; what comes back
// to a source finds it as well.
TEST_F(HandOverTest, WithoutRoomForAnotherRangeNothingChanges) {
  Put(Dense(0, 2000));
  for (const auto& transfer : {Linked(777, 1533), Copy(0, 500)}) {
    for (uint64_t nth = 1;; ++nth) {
      ReserveFailures().Arm(nth, memory::FailurePoint::Mode::kOnce);
      const uint32_t steps = driver().Run(transfer);
      ReserveFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
      ExpectRows();
      if (steps == 1) {
        EXPECT_GT(nth, 4u);  // some at the source, some at the target
        break;
      }
      EXPECT_EQ(driver().last().status.code(), absl::StatusCode::kResourceExhausted);
      EXPECT_TRUE(RangesOf(1).empty());
    }
    EXPECT_GT(driver().Run({.from = 1, .to = 0, .leaving = transfer.leaving}), 0u);
    lab().Settle();
    ExpectRows();
  }
}

TEST_F(HandOverTest, ARangeThatComesBackAsksForNoRoom) {
  Put(Dense(0, 2000));
  const auto step = driver().Give(Linked(777, 1533));
  lab().Step(0);
  ReserveFailures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  lab().Step(1);
  ASSERT_EQ(step->outcome, StepOutcome::kReturned);
  driver().Conclude(*step);
  ReserveFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
  ExpectRows();
}

}  // namespace
}  // namespace eris::aeu
