// What else meets a range that changes hands: scans and joins that wait, snapshots whose old rows
// move along, drops of the object. AEUs are stepped by hand.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "routing/join_part.h"
#include "tests/unit/aeu/transfer_fixture.h"

namespace eris::aeu {
namespace {

TEST_F(HandOverTest, AScanWaitsForTheConclusionAndEndsAsMoved) {
  for (const bool backward : {false, true}) {
    for (const bool aggregate : {false, true}) {
      Build(U64());
      Put(Dense(0, 400));
      const auto step = driver().Give(Linked(100, 300));
      lab().Step(0);
      TestScanPart part(2);
      part.GiveAll();
      storage::ScanQuery query;
      if (backward) query.direction = ScanDirection::kBackward;
      lab().SendQuery(*route_, {0}, Of(50, 350), part, query, aggregate);
      lab().Settle();
      EXPECT_EQ(part.ended, 0u);
      EXPECT_FALSE(lab()[0].HasWork());
      driver().PublishAndConclude(*step);
      EXPECT_EQ(part.ended, 1u);  // in the turn of the conclusion
      EXPECT_EQ(part.outcome(), PartOutcome::kMoved);
      EXPECT_EQ(part.rest(), backward ? Of(50, 300) : Of(100, 350));
      if (aggregate) {
        EXPECT_EQ(part.aggregate().count, 50u);
      } else {
        EXPECT_EQ(part.TakeKeys().size(), 50u);
      }
    }
  }
}

TEST_F(HandOverTest, AScanGoesOnWhereTheRangeIsTakenBack) {
  for (const TransferKind kind : {TransferKind::kLink, TransferKind::kCopy}) {
    Build(U64());
    Put(Dense(0, 400));
    const auto step =
        driver().Give({.to = 2, .kind = kind, .leaving = Of(100, 300), .rows_max = 1000});
    lab().Step(0);
    TestScanPart part(2);
    part.GiveAll();
    lab().SendScan(*route_, {0}, Of(50, 350), part);
    lab().Settle();
    EXPECT_EQ(part.ended, 0u);
    EXPECT_FALSE(lab()[0].HasWork());
    driver().Conclude(*step);
    lab().Settle();
    EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
    EXPECT_EQ(part.TakeKeys().size(), 300u);
  }
}

TEST_F(HandOverTest, AScanThatWaitsCanBeCancelledAndOneThatIsDoneDoesNotWait) {
  Put(Dense(0, 400));
  const auto step = driver().Give(Linked(100, 300));
  lab().Step(0);
  TestScanPart waits(1), done(1), few(1);
  for (TestScanPart* part : {&waits, &done, &few}) part->GiveAll();
  lab().SendScan(*route_, {0}, Of(50, 350), waits);
  lab().SendScan(*route_, {0}, Of(50, 100), done);
  lab().SendScan(*route_, {0}, Of(50, 350), few, 50);
  lab().Settle();
  EXPECT_EQ(done.outcome(), PartOutcome::kAnswered);
  EXPECT_EQ(few.outcome(), PartOutcome::kAnswered);
  EXPECT_EQ(waits.ended, 0u);
  waits.SetCancelled();
  EXPECT_TRUE(lab()[0].HasWork());
  lab().Settle();
  EXPECT_EQ(waits.outcome(), PartOutcome::kCancelled);
  driver().PublishAndConclude(*step);
}

struct LabJoinBlock final : routing::JoinBlock {
  explicit LabJoinBlock(uint32_t room) : columns(3 * size_t{room}), answers(room) {
    outer_keys = columns.data();
    join_keys = outer_keys + room;
    values = join_keys + room;
    states = answers.data();
    capacity = room;
  }
  static void Begin(JoinBlock*, uint32_t) noexcept {}
  static void Answered(routing::Reply* reply, uint32_t keys) noexcept {
    static_cast<LabJoinBlock*>(reply)->answered += keys;
  }
  std::vector<uint64_t> columns;
  std::vector<KeyState> answers;
  uint32_t answered = 0;
};
struct LabJoinPart final : routing::JoinPart {
  static void Ended(routing::Reply* reply, uint32_t n) noexcept {
    static_cast<LabJoinPart*>(reply)->ended += n;
  }
  uint32_t ended = 0;
};

TEST_F(HandOverTest, AJoinWaitsForTheConclusion) {
  for (const bool installed : {true, false}) {
    Build(U64());
    Put(Dense(0, 400));
    const auto step =
        driver().Give({.to = installed ? 1u : 2u, .leaving = Of(100, 300), .rows_max = 1000});
    lab().Step(0);
    LabJoinBlock first(256), second(256);
    LabJoinPart part;
    part.GiveChunk(&first);
    part.GiveChunk(&second);
    routing::JoinPart* const parts[] = {&part};
    const routing::JoinSegment segment{.range = Of(50, 350),
                                       .inner = route_,
                                       .parts = parts,
                                       .part_count = 1,
                                       .begin_block = &LabJoinBlock::Begin,
                                       .complete_block = &LabJoinBlock::Answered};
    ASSERT_TRUE(
        lab().TrySend({0}, *route_, CommandType::kJoin, &part, &LabJoinPart::Ended, segment));
    lab().Settle();
    EXPECT_EQ(part.ended, 0u);
    EXPECT_EQ(lab()[0].joins_running(), 1u);
    EXPECT_FALSE(lab()[0].HasWork());
    if (installed) driver().Publish(*step);
    driver().Conclude(*step);
    lab().Settle();
    EXPECT_EQ(part.ended, 1u);
    if (installed) {
      EXPECT_EQ(part.end().outcome, PartOutcome::kMoved);
      EXPECT_EQ(part.end().moved, Of(100, 350));
      EXPECT_TRUE(part.end().answered == 50);
      EXPECT_EQ(first.answered, 50u);
    } else {
      EXPECT_EQ(part.end().outcome, PartOutcome::kAnswered);
      EXPECT_TRUE(part.end().answered == 300);
      EXPECT_EQ(first.answered + second.answered, 300u);
    }
  }
}

// --- Snapshots.

class HandOverSnapshotTest : public HandOverTest {
 protected:
  // Reads from all AEUs that own pieces, as the range table says.
  std::map<uint64_t, uint64_t> Read(uint64_t snapshot) {
    std::map<uint64_t, uint64_t> rows;
    const auto table = route_->Pin();
    for (size_t i = 0; i < table->size(); ++i) {
      TestScanPart part(1);
      part.GiveAll();
      lab().SendQuery(*route_, table->owners()[i], table->RangeOf(i), part, {}, false, snapshot);
      lab().Settle();
      EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
      const auto* chunk = part.TakeFilled();
      for (uint32_t row = 0; chunk != nullptr && row < chunk->rows.rows; ++row) {
        rows[chunk->rows.keys[row]] = chunk->rows.values[row];
      }
    }
    return rows;
  }
  static std::map<uint64_t, uint64_t> Flat(const Rows& rows) {
    std::map<uint64_t, uint64_t> flat;
    for (const auto& [key, value] : rows) flat[key.first] = value;
    return flat;
  }
};

TEST_F(HandOverSnapshotTest, OldRowsMoveAlongAndTheAccountsAddUp) {
  for (const bool link : {true, false}) {
    for (const bool returned : {true, false}) {
      Build(U64());
      Put(Dense(0, 400));
      const auto held = *registry().Begin();
      const auto then = Flat(model_);
      Put(Dense(50, 350, 1000));
      lab().Settle();
      const int64_t kept = registry().version_bytes();
      EXPECT_GT(kept, 0);
      TransferDriver::Transfer transfer = link ? Linked(100, 200) : Copy(100, 200);
      transfer.rows_max = 100 * (1 + storage::kRowsPerVersion);  // one chunk
      if (returned) transfer.to = 2;
      EXPECT_EQ(driver().Run(transfer), returned ? 0u : 1u);
      EXPECT_EQ(Read(held.epoch), then);
      EXPECT_EQ(Read(0), Flat(model_));
      // Written at the new owner, too.
      Put(Dense(90, 210, 5000));
      EXPECT_EQ(Read(held.epoch), then);
      EXPECT_EQ(Read(0), Flat(model_));
      lab().Settle();
      if (link || returned) {
        EXPECT_GE(registry().version_bytes(), kept);
      }
      registry().End(held.slot);
      for (int i = 0; i < 1000; ++i) {
        for (uint32_t aeu = 0; aeu < 3; ++aeu) lab().Step(aeu);
      }
      EXPECT_EQ(registry().version_bytes(), 0);
      EXPECT_EQ(Read(0), Flat(model_));
    }
  }
}

// The snapshot ends while its rows are on their way: their new owner has looked at the snapshots
// already, and yet frees them.
TEST_F(HandOverSnapshotTest, OldRowsThatNobodyNeedsAnyMoreAreFreedByTheNewOwner) {
  for (const auto& transfer : Both(100, 200)) {
    Build(U64());
    Put(Dense(0, 400));
    const auto held = *registry().Begin();
    Put(Dense(50, 350, 1000));
    const auto step = driver().Give(transfer);
    lab().Step(0);
    registry().End(held.slot);
    const auto unmoved = Send(CommandType::kLookup, {{{1, 0}, 0}});
    lab().Settle();
    ASSERT_TRUE(step->installed());
    driver().PublishAndConclude(*step);
    lab().Settle();
    StepWhileItHasWork(0);
    StepWhileItHasWork(1);
    EXPECT_EQ(registry().version_bytes(), 0);
    ExpectRows();
  }
}

TEST_F(HandOverSnapshotTest, ADropTakesWhatIsKeptOutOfTheAccounts) {
  for (auto transfer : Both(100, 200)) {
    transfer.rows_max = 100 * (1 + storage::kRowsPerVersion);  // one chunk
    Build(U64());
    Put(Dense(0, 400));
    const auto held = *registry().Begin();
    Put(Dense(50, 350, 1000));
    EXPECT_EQ(driver().Run(transfer), 1u);
    EXPECT_GT(registry().version_bytes(), 0);
    TestReply dropped(1);
    lab().SendDrop(*route_, {0}, dropped);
    lab().SendDrop(*route_, {1}, dropped);
    lab().Settle();
    EXPECT_EQ(dropped.answered, 2u);
    EXPECT_EQ(registry().version_bytes(), 0);
    registry().End(held.slot);
  }
}

// --- Drops.

TEST_F(HandOverTest, ADropEndsAStepInWhateverStateItIs) {
  enum Moment { kGiven, kOut, kInstalled, kReturned, kForgetting };
  for (const Moment moment : {kGiven, kOut, kInstalled, kReturned, kForgetting}) {
    for (const TransferKind kind : {TransferKind::kLink, TransferKind::kCopy}) {
      SCOPED_TRACE(testing::Message() << moment << " " << (kind == TransferKind::kLink));
      Build(U64());
      Put(Dense(0, 20'000));
      const auto step = driver().Give({.to = moment == kReturned ? 2u : 1u,
                                       .kind = kind,
                                       .leaving = Of(100, 15'000),
                                       .rows_max = 100'000});
      TestReply dropped(1);
      if (moment >= kOut) lab().Step(0);
      if (moment == kInstalled || moment == kForgetting) lab().Step(1);
      if (moment == kReturned) lab().Step(2);
      if (moment == kForgetting) {
        driver().PublishAndConclude(*step);
      }
      lab().SendDrop(*route_, {0}, dropped);
      if (moment == kGiven) {
        // Both in one turn, the drop last.
        lab().Step(0);
        EXPECT_EQ(step->outcome, StepOutcome::kRefused);
        EXPECT_EQ(step->status.code(), absl::StatusCode::kNotFound);
      }
      lab().SendDrop(*route_, {1}, dropped);
      lab().Settle();
      EXPECT_EQ(dropped.answered, 2u);
      EXPECT_EQ(step->ended, 1u);
      if (moment == kOut) {
        // The target had it installed before its own drop.
        EXPECT_EQ(step->outcome, StepOutcome::kInstalled);
      }
      if (moment != kForgetting && moment != kGiven) {
        EXPECT_EQ(driver().Conclude(*step), KeyState::kNoObject);
        EXPECT_EQ(step->partition, nullptr);
      }
      lab().Settle();
      EXPECT_FALSE(lab()[0].HasWork());
      EXPECT_FALSE(lab()[1].HasWork());
    }
  }
}

// Whoever pauses, drops or gives up does not wait until a hash has looked through all of its rows.
TEST_F(HandOverTest, AStepThatIsGivenUpEndsInTheNextTurn) {
  Build(Kinds().back());
  lab()[0].SetWorkClock([] { return uint64_t{0}; });  // as many rows a turn as there may be
  Put(Dense(0, 5 * CopyMethod::kWalkedPerTurn));
  const TransferDriver::Transfer copy{
      .kind = TransferKind::kCopy, .leaving = Of(0, std::nullopt), .rows_max = 1000};
  const auto step = driver().Give(copy);
  for (int turn = 0; turn < 12; ++turn) lab().Step(0);
  ASSERT_EQ(step->ended, 0u);
  step->give_up.store(true);
  lab().Step(0);
  EXPECT_EQ(step->ended, 1u);
  EXPECT_EQ(step->outcome, StepOutcome::kRefused);
  EXPECT_EQ(step->status.code(), absl::StatusCode::kCancelled);
  // To take back what was made ready is not waited for either.
  const auto release = driver().Give({.kind = TransferKind::kCopy, .release = true});
  lab().Step(0);
  EXPECT_EQ(release->ended, 1u);
  EXPECT_TRUE(release->status.ok()) << release->status;
  EXPECT_TRUE(lab()[0].HasWork());  // more than a turn may take back
  StepWhileItHasWork(0);
  ExpectRows();
  // The next one may come before it has ended.
  const auto again = driver().Give(copy);
  lab().Step(0);
  again->give_up.store(true);
  lab().Step(0);
  const auto release_again = driver().Give({.kind = TransferKind::kCopy, .release = true});
  lab().Step(0);
  EXPECT_GT(driver().Run(copy), 0u);
  EXPECT_TRUE(driver().last().status.ok()) << driver().last().status;
  ExpectRows();
}

// Objects come and go while a hash makes its rows ready to leave, which takes several turns.
TEST_F(HandOverTest, DropsOfOtherObjectsDoNotHoldAHashUp) {
  const Kind hash = Kinds().back();
  ASSERT_STREQ(hash.name, "hash");
  uint32_t turns_alone = 0;
  for (const bool drops : {false, true}) {
    Build(hash);
    lab()[0].SetWorkClock([] { return uint64_t{0}; });  // as many rows a turn as there may be
    Put(Dense(0, 5 * CopyMethod::kWalkedPerTurn));
    const auto step = driver().Give(
        {.kind = TransferKind::kCopy, .leaving = Of(0, std::nullopt), .rows_max = 1000});
    uint32_t turns = 0;
    for (; step->rows == 0 && turns < 100; ++turns) {
      if (drops) {
        routing::ObjectRoute& other = lab().Create(7, {100 + turns}, {0}, {{0}});
        TestReply dropped(1);
        lab().SendDrop(other, {0}, dropped);
        lab().Step(0);
        ASSERT_EQ(dropped.answered, 1u);
      } else {
        lab().Step(0);
      }
    }
    ASSERT_GT(step->rows, 0u) << step->status << " after " << turns;
    if (drops) {
      EXPECT_LE(turns, 2 * turns_alone);
    } else {
      turns_alone = turns;
      EXPECT_GE(turns, 3u);
    }
    lab().Settle();
    ASSERT_TRUE(step->installed());
    driver().PublishAndConclude(*step);
    lab().Settle();
    ExpectRows();
  }
}

}  // namespace
}  // namespace eris::aeu
