// What can be seen of memory that follows a leap, and what bounds it: the transfer's note, the
// measure of rows, and the rate.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "aeu/state/clock.h"
#include "routing/home_note.h"
#include "tests/unit/aeu/transfer_fixture.h"

namespace eris::aeu {
namespace {

class LeapFiguresTest : public TransferTest {
 protected:
  using Note = std::shared_ptr<routing::HomeNote>;

  const Range kAll = Of(0, std::nullopt);
  const Range kFrom10 = Of(10, std::nullopt);

  // AEUs 0 and 2 on one NumaNode, 1 on the other. Of the rows one is below 10, so that no
  // superblock of the others holds nothing else.
  void BuildOnTwo(uint64_t count, const Kind& kind = U64()) {
    Build(kind, 4, 64 << 10, 2);
    Rows rows;
    for (uint64_t i = 0; i < count; ++i) rows[{i * 0x9e37'79b9'7f4a'7c15, 0}] = i % 9973;
    rows[{5, 0}] = 1;
    // A group that is a tree of its own, and one that is not.
    for (uint64_t i = 0; two_parts() && i < 5'000; ++i) rows[{77, i * i}] = i % 9973;
    for (uint64_t i = 0; two_parts() && i < 20; ++i) rows[{78, i}] = i;
    Put(rows);
  }
  // One hand-over, concluded.
  Note Leap(uint32_t from, uint32_t to, const Range& range) {
    const auto note = std::make_shared<routing::HomeNote>();
    const auto step =
        driver().Give({.from = from, .to = to, .kind = TransferKind::kLeap, .leaving = range});
    step->home = note;
    lab().Step(from);
    lab().Step(to);
    EXPECT_TRUE(step->installed());
    driver().PublishAndConclude(*step);
    return note;
  }
  void StepAll(int turns) {
    for (int turn = 0; turn < turns; ++turn) {
      for (uint32_t i = 0; i < lab().size(); ++i) lab().Step(i);
    }
  }
  void Rest() {
    for (bool works = true; works;) {
      StepAll(1);
      works = false;
      for (uint32_t i = 0; i < lab().size(); ++i) works |= lab()[i].HasWork();
    }
  }
  // What the account of its manager says.
  uint64_t UsedBytes(uint32_t aeu) {
    for (uint32_t i = 0; i < 3; ++i) Slot(i).cache().EndTurn();
    for (uint32_t i = 0; i < 3; ++i) {
      while (Slot(i).cache().Collect()) {
      }
    }
    return lab().ManagerOf({aeu}).Account().used_bytes;
  }
  storage::RowBytes Measure(uint32_t aeu) { return lab().Measure(*route_, {aeu}); }
};

// A command that comes while a range's memory follows mostly meets an AEU that rests.
TEST_F(LeapFiguresTest, BesideOtherWorkPiecesLeaveTimeBetweenThem) {
  BuildOnTwo(20'000);
  const Note note = Leap(0, 1, kFrom10);
  lab()[1].SetWorkClock([] {
    static uint64_t now_ns = 0;
    return now_ns += 100'000'000;  // a piece takes 100 ms
  });
  const auto sent = Send(CommandType::kUpsert, {{{1'000, 0}, 7}});
  lab().Step(1);
  EXPECT_EQ(sent->reply.answered, 1u);
  EXPECT_FALSE(lab()[1].HasWork());
  EXPECT_GT(lab()[1].WaitNs(), 50'000'000u);
  for (int i = 0; i < 10; ++i) {
    lab().Step(1);
    EXPECT_FALSE(lab()[1].HasWork()) << "it rests";
  }
  // Commands are executed all the same.
  const auto more = Send(CommandType::kUpsert, {{{1'001, 0}, 8}});
  lab().Step(1);
  EXPECT_EQ(more->reply.answered, 1u);
  while (lab()[1].WaitNs() > 0) usleep(1'000);
  EXPECT_TRUE(lab()[1].HasWork());
  lab()[1].SetWorkClock([] { return uint64_t{0}; });
  Rest();
  EXPECT_EQ(note->Read().state, MemoryFollows::kHome);
}

TEST_F(LeapFiguresTest, TheNoteTellsWhenAllIsAtHomeAndWhatCame) {
  BuildOnTwo(20'000);
  lab()[1].SetWorkClock(ThreadCpuNs);
  const uint64_t began_ns = NowNs();
  const Note note = Leap(0, 1, kFrom10);
  EXPECT_EQ(note->Read().state, MemoryFollows::kUnderWay);
  Rest();
  const routing::HomeNote::Figures home = note->Read();
  EXPECT_EQ(home.state, MemoryFollows::kHome);
  EXPECT_EQ(home.bytes, lab()[1].counters().bytes_brought_home.Read());
  EXPECT_GT(home.bytes, 20'000u * 16);
  EXPECT_EQ(home.bytes_remapped, 0u);
  EXPECT_GT(home.longest_pause_ns, 0u);
  EXPECT_GT(home.ended_ns, began_ns);
  EXPECT_LE(home.ended_ns, NowNs());
  EXPECT_EQ(note.use_count(), 1);
  ExpectRows();
}

TEST_F(LeapFiguresTest, TheNoteTellsWhatCameByRemapping) {
  BuildOnTwo(20'000);
  const Note note = Leap(0, 1, kAll);
  Rest();
  EXPECT_EQ(note->Read().state, MemoryFollows::kHome);
  EXPECT_GT(note->Read().bytes_remapped, 20'000u * 16);
}

TEST_F(LeapFiguresTest, SeveralTransfersAreNotedOfOneWalk) {
  BuildOnTwo(20'000);
  const Note first = Leap(0, 1, Of(0x8000'0000'0000'0000, std::nullopt));
  const Note second = Leap(0, 1, Of(10, 0x8000'0000'0000'0000));
  EXPECT_EQ(lab()[1].counters().homecomings.Read(), 1u);
  Rest();
  EXPECT_EQ(first->Read().state, MemoryFollows::kHome);
  EXPECT_EQ(second->Read().state, MemoryFollows::kHome);
  EXPECT_GE(first->Read().bytes, second->Read().bytes);
  EXPECT_GT(second->Read().bytes, 0u);
}

TEST_F(LeapFiguresTest, TheNoteTellsThatSomeStays) {
  BuildOnTwo(2'000);
  lab().ManagerOf({1}).run_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  const Note note = Leap(0, 1, kFrom10);
  Rest();
  EXPECT_EQ(note->Read().state, MemoryFollows::kStays);
  EXPECT_EQ(note->Read().bytes, 0u);
  EXPECT_GT(Measure(1).remote, 2'000u * 16);
  lab().ManagerOf({1}).run_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
}

TEST_F(LeapFiguresTest, ADropEndsTheNote) {
  BuildOnTwo(20'000);
  const Note note = Leap(0, 1, kFrom10);
  TestReply reply(1);
  lab().SendDrop(*route_, {1}, reply);
  lab().Step(1);
  ASSERT_EQ(reply.answered, 1u);
  EXPECT_EQ(note->Read().state, MemoryFollows::kNothing);
  EXPECT_EQ(note.use_count(), 1);
}

TEST_F(LeapFiguresTest, ANoteThatNobodyReadsAnyMoreIsForgotten) {
  BuildOnTwo(20'000);
  Note note = Leap(0, 1, Of(0x8000'0000'0000'0000, std::nullopt));
  const std::weak_ptr<routing::HomeNote> known = note;
  note.reset();
  EXPECT_FALSE(known.expired());  // the AEU has it
  Leap(0, 1, Of(10, 0x8000'0000'0000'0000));
  EXPECT_TRUE(known.expired());
}

// Every kind of index: all rows are counted, and those are remote that have not come home.
TEST_F(LeapFiguresTest, AnAeuMeasuresWhatItsRowsTakeAndWhere) {
  for (const Kind& kind : Kinds()) {
    if (!kind.links) continue;
    SCOPED_TRACE(kind.name);
    BuildOnTwo(3'000, kind);
    const storage::RowBytes before = Measure(0);
    EXPECT_GT(before.all, 3'000u * 16);
    EXPECT_EQ(before.all, UsedBytes(0));
    EXPECT_EQ(before.remote, 0u);
    EXPECT_EQ(Measure(2).all, 0u);  // it has no rows
    lab().directory().transfer_rate().SetLimit(1, NowNs());
    Leap(0, 1, kFrom10);
    StepAll(50);  // a piece, and then the rate has it wait
    const storage::RowBytes after = Measure(1);
    EXPECT_GT(after.remote, 3'000u * 8);
    EXPECT_LE(after.remote, after.all);
    EXPECT_GT(Measure(0).all, 0u);
    lab().directory().transfer_rate().SetLimit(0, NowNs());
    Rest();
    EXPECT_EQ(Measure(1).remote, 0u);
    EXPECT_EQ(Measure(1).all, UsedBytes(1));
    ExpectRows();
  }
}

TEST_F(LeapFiguresTest, AMeasureEndsWithItsCallerAndWithTheObject) {
  BuildOnTwo(20'000);
  storage::RowBytes bytes;
  TestReply cancelled(1), dropped(1), reply(1);
  lab().SendMeasure(*route_, {0}, bytes, cancelled);
  cancelled.SetCancelled();
  while (cancelled.answered == 0) lab().Step(0);
  EXPECT_EQ(cancelled.state_column[0], KeyState::kCancelled);
  lab().SendMeasure(*route_, {0}, bytes, dropped);
  lab().SendDrop(*route_, {0}, reply);
  while (dropped.answered == 0) lab().Step(0);
  EXPECT_EQ(dropped.state_column[0], KeyState::kNoObject);
  while (reply.answered == 0) lab().Step(0);
  TestReply late(1);
  lab().SendMeasure(*route_, {0}, bytes, late);
  while (late.answered == 0) lab().Step(0);
  EXPECT_EQ(late.state_column[0], KeyState::kNoObject);
}

TEST_F(LeapFiguresTest, TheRateHasMemoryWaitAndTheAeuSleep) {
  BuildOnTwo(20'000);
  base::ByteRate& rate = lab().directory().transfer_rate();
  rate.SetLimit(1, NowNs());
  const Note note = Leap(0, 1, kFrom10);
  StepAll(100);
  const uint64_t brought = lab()[1].counters().bytes_brought_home.Read();
  EXPECT_GT(brought, 0u);
  EXPECT_LT(brought, 20'000u);  // one piece, which is small
  EXPECT_FALSE(lab()[1].HasWork());
  EXPECT_GT(lab()[1].WaitNs(), 0u);
  EXPECT_LE(lab()[1].WaitNs(), 100'000'000u);  // then it looks at the rate again
  EXPECT_EQ(note->Read().state, MemoryFollows::kUnderWay);
  rate.SetLimit(0, NowNs());
  EXPECT_TRUE(lab()[1].HasWork());
  Rest();
  EXPECT_EQ(note->Read().state, MemoryFollows::kHome);
  EXPECT_EQ(lab()[1].WaitNs(), 0u);
  ExpectRows();
}

// 1 MB a second; what has come is never more than that, and one piece.
TEST_F(LeapFiguresTest, WhatComesHomeIsPaidForAtTheRate) {
  BuildOnTwo(20'000);
  lab().directory().transfer_rate().SetLimit(1'000'000, NowNs());
  const uint64_t began_ns = NowNs();
  const Note note = Leap(0, 1, kFrom10);
  while (note->Read().state == MemoryFollows::kUnderWay) {
    StepAll(1);
    const double seconds = static_cast<double>(NowNs() - began_ns) / 1e9;
    ASSERT_LE(static_cast<double>(note->Read().bytes), 1e6 * seconds + 50'000);
  }
  EXPECT_GE(NowNs() - began_ns, 200'000'000u);  // some 400 kB
}

}  // namespace
}  // namespace eris::aeu
