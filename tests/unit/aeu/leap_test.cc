// Ranges that leap between AEUs of two NumaNodes, stepped by hand: the owner changes at once, the
// memory comes home over turns, while keys are read and written and ranges move on.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "aeu/transfers/homecoming.h"
#include "tests/support/seed.h"
#include "tests/unit/aeu/transfer_fixture.h"

namespace eris::aeu {
namespace {

class LeapTest : public TransferTest, public testing::WithParamInterface<Kind> {
 protected:
  // AEUs 0 and 2 on one NumaNode, 1 on the other; the fourth has no slot.
  void BuildOnTwo() { Build(GetParam(), 4, 64 << 10, 2); }
  void ExpectMemory(uint32_t aeu, bool used) {
    for (uint32_t i = 0; i < 3; ++i) Slot(i).cache().EndTurn();
    for (uint32_t i = 0; i < 3; ++i) {
      while (Slot(i).cache().Collect()) {
      }
    }
    EXPECT_EQ(lab().ManagerOf({aeu}).Account().used_bytes > 0, used) << "AEU " << aeu;
  }
  // The NumaNode of the AEU is said to have room.
  storage::KeyState AskForMemory(uint32_t aeu) {
    TestReply reply(1);
    EXPECT_TRUE(lab().TrySend(AeuId{aeu}, *route_, CommandType::kComeHome, &reply,
                              &TestReply::Answered, routing::ComeHomeSegment{}));
    while (reply.answered == 0) lab().Step(aeu);
    return reply.state_column[0];
  }
  // Until nobody has anything to do; how many turns brought memory home.
  uint32_t Rest() {
    uint32_t turns = 0;
    for (bool works = true; works;) {
      for (uint32_t i = 0; i < lab().size(); ++i) {
        const uint64_t before = lab()[i].counters().bytes_brought_home.Read();
        lab().Step(i);
        turns += lab()[i].counters().bytes_brought_home.Read() > before;
      }
      works = false;
      for (uint32_t i = 0; i < lab().size(); ++i) {
        works |= lab()[i].HasWork() || lab()[i].WaitNs() > 0;
      }
    }
    return turns;
  }
  // Many rows and one below 10, so that no superblock of the rows from 10 on holds nothing else.
  Rows ManyAndOneLow(uint64_t count) {
    Rows rows;
    for (uint64_t i = 0; i < count; ++i) rows[{i * 0x9e37'79b9'7f4a'7c15, 0}] = i % 9973;
    rows[{5, 0}] = 1;
    return rows;
  }
};
std::vector<Kind> LinkedKinds() {
  std::vector<Kind> kinds = Kinds();
  std::erase_if(kinds, [](const Kind& kind) { return !kind.links; });
  return kinds;
}
INSTANTIATE_TEST_SUITE_P(AllKinds, LeapTest, testing::ValuesIn(LinkedKinds()),
                         [](const auto& each) { return std::string(each.param.name); });

const Range kAll = Of(0, std::nullopt);
const Range kFrom10 = Of(10, std::nullopt);

TEST_P(LeapTest, AWholeRangeGoesAndItsMemoryFollows) {
  BuildOnTwo();
  Put(ManyRows());
  const uint32_t steps = driver().Run({.kind = TransferKind::kLeap, .leaving = kAll});
  EXPECT_EQ(steps, 1u);
  EXPECT_EQ(driver().last().bytes, 0u);
  EXPECT_EQ(RangesOf(1), std::vector<Range>{kAll});
  Rest();
  EXPECT_GT(lab()[1].counters().bytes_brought_home.Read(), 0u);
  // Its superblock holds nothing else.
  EXPECT_EQ(lab()[1].counters().bytes_remapped.Read(),
            lab()[1].counters().bytes_brought_home.Read());
  EXPECT_EQ(lab()[1].counters().homecomings_refused.Read(), 0u);
  ExpectRows();
  ExpectMemory(0, false);
  ExpectMemory(1, true);
  EXPECT_EQ(lab().ManagerOf({1}).spilled_bytes(), 0u);
}

TEST_P(LeapTest, PagesComeHomeWhileKeysAreWritten) {
  for (uint32_t turns = 1; turns < 12; ++turns) {  // after which keys are written
    BuildOnTwo();
    Put(ManyRows());
    EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kAll}), 1u);
    for (uint32_t i = 0; i < turns; ++i) lab().Step(i % 2);
    Rows more;
    for (uint64_t i = 0; i < 200; ++i) more[{i * 0x9e37'79b9'7f4a'7c15 + 1, 0}] = i;
    const auto sent = Send(CommandType::kUpsert, more);
    for (const auto& [key, value] : more) model_[key] = value;
    Rest();
    EXPECT_EQ(sent->reply.answered, more.size());
    EXPECT_GT(lab()[1].counters().bytes_brought_home.Read(), 0u);
    EXPECT_EQ(lab()[1].counters().homecomings.Read(), 0u);
    ExpectRows();
    ExpectMemory(0, false);
  }
}

TEST_P(LeapTest, WhatGoesOnBetweenClaimAndPagesComesHomeThere) {
  for (uint32_t turns = 0; turns < 8; ++turns) {
    Build(GetParam(), 5, 64 << 10, 2);  // AEUs 0, 2 and 4 on one NumaNode, 1 and 3 on the other
    Put(ManyRows());
    EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kAll}), 1u);
    for (uint32_t i = 0; i < turns; ++i) lab().Step(i % 2);
    const Range upper = Of(0x7000'0000'0000'0000, std::nullopt);
    EXPECT_EQ(driver().Run({.from = 1, .to = 3, .kind = TransferKind::kLink, .leaving = upper}),
              1u);
    Rest();
    ExpectRows();
    EXPECT_EQ(driver().Run({.from = 3, .to = 0, .kind = TransferKind::kLeap, .leaving = upper}),
              1u);
    Rest();
    ExpectRows();
    for (uint32_t aeu = 0; aeu < 4; ++aeu) EXPECT_EQ(lab()[aeu].counters().homecomings.Read(), 0u);
    EXPECT_EQ(lab().ManagerOf({0}).spilled_bytes(), 0u);
  }
}

TEST_F(TransferTest, AHashDoesNotLeap) {
  Build(Kinds().back(), 3, 64 << 10, 2);
  Put(ManyRows());
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kAll}), 0u);
  EXPECT_EQ(driver().last().outcome, StepOutcome::kRefused);
  EXPECT_EQ(driver().last().status.code(), absl::StatusCode::kInvalidArgument);
  ExpectRows();
}

TEST_P(LeapTest, APartGoesAndComesBackWithItsMemory) {
  for (const Range& piece : {Of(0, 50), Of(0x7000'0000'0000'0000, 0x7000'0000'0000'0100),
                             Of(kLastKey, std::nullopt), Of(1000, 1001)}) {
    BuildOnTwo();
    Put(ManyRows());
    EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = piece}), 1u);
    Rest();
    ExpectRows();
    EXPECT_EQ(driver().Run({.from = 1, .to = 0, .kind = TransferKind::kLeap, .leaving = piece}),
              1u);
    Rest();
    EXPECT_EQ(RangesOf(0), std::vector<Range>{kAll});
    ExpectRows();
    ExpectMemory(0, true);
    ExpectMemory(1, false);
  }
}

TEST_P(LeapTest, MemoryComesHomeOverTurnsWhileKeysAreWritten) {
  BuildOnTwo();
  Put(ManyAndOneLow(20'000));
  const auto step = driver().Give({.kind = TransferKind::kLeap, .leaving = kFrom10});
  lab().Step(0);
  lab().Step(1);
  ASSERT_TRUE(step->installed());
  driver().PublishAndConclude(*step);
  // The first turns are for commands, too.
  Rows more;
  for (uint64_t i = 0; i < 40; ++i) more[{i * 0x9e37'79b9'7f4a'7c15 + 1, 0}] = i;
  const auto sent = Send(CommandType::kUpsert, more);
  for (const auto& [key, value] : more) model_[key] = value;
  EXPECT_TRUE(lab()[1].HasWork());
  EXPECT_EQ(lab()[1].counters().homecomings.Read(), 1u);
  EXPECT_GT(Rest(), 3u);
  EXPECT_EQ(lab()[1].counters().homecomings.Read(), 0u);
  EXPECT_EQ(sent->reply.answered, more.size());
  EXPECT_EQ(lab()[1].counters().bytes_remapped.Read(), 0u);
  ExpectRows();
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = Of(0, 10)}), 1u);
  Rest();
  ExpectMemory(0, false);
}

TEST_P(LeapTest, ARangeMayLeapOnBeforeItsMemoryIsHome) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  BuildOnTwo();
  Put(ManyRows());
  uint32_t owner = 0;
  for (int round = 0; round < 60; ++round) {
    const uint32_t to = (owner + 1 + static_cast<uint32_t>(random() % 2)) % 3;
    const auto kind =
        random() % 4 == 0 && owner % 2 == to % 2 ? TransferKind::kLink : TransferKind::kLeap;
    const auto step = driver().Give({.from = owner, .to = to, .kind = kind, .leaving = kAll});
    for (int turns = 0; turns < 1'000 && step->ended == 0; ++turns) {
      for (uint32_t i = 0; i < 3; ++i) lab().Step(i);
    }
    ASSERT_TRUE(step->installed());
    driver().PublishAndConclude(*step);
    for (uint64_t turns = random() % 4; turns > 0; --turns) lab().Step(to);
    owner = to;
  }
  Rest();
  ExpectRows();
  // A link takes over what a leap has left to do: the last owner has the memory, too.
  if (owner != 1) {
    ExpectMemory(1, false);
    return;
  }
  ExpectMemory(0, false);
}

TEST_P(LeapTest, WhatALinkTakesAwayFromAWalkComesHomeThere) {
  // AEUs 1 and 3 are on the other NumaNode.
  Build(GetParam(), 5, 64 << 10, 2);
  Put(ManyRows());
  const auto hand_over = [&](uint32_t from, uint32_t to, TransferKind kind, const Range& range) {
    const auto step = driver().Give({.from = from, .to = to, .kind = kind, .leaving = range});
    lab().Step(from);
    lab().Step(to);
    ASSERT_TRUE(step->installed());
    EXPECT_TRUE(step->memory_follows);
    driver().PublishAndConclude(*step);
  };
  hand_over(0, 1, TransferKind::kLeap, kAll);
  hand_over(1, 3, TransferKind::kLink, Of(0x7000'0000'0000'0000, std::nullopt));
  EXPECT_EQ(lab()[3].counters().homecomings.Read(), 1u);
  Rest();
  EXPECT_GT(lab()[3].counters().bytes_brought_home.Read(), 0u);
  ExpectRows();
  for (uint32_t aeu = 0; aeu < 4; ++aeu) Slot(aeu).cache().EndTurn();
  while (Slot(0).cache().Collect()) {
  }
  EXPECT_EQ(lab().ManagerOf({0}).Account().used_bytes, 0u);
}

// A walk that has only counted what is before a range that comes has still to bring it.
TEST_P(LeapTest, ARangeThatComesBehindACensusLosesNothingBeforeIt) {
  constexpr uint64_t kLow = uint64_t{1} << 61, kHigh = uint64_t{3} << 61;
  for (uint32_t turns = 0; turns < 12; ++turns) {
    SCOPED_TRACE(turns);
    BuildOnTwo();
    Put(ManyAndOneLow(5'000));
    const auto leap = [&](const Range& range) {
      const auto step = driver().Give({.kind = TransferKind::kLeap, .leaving = range});
      for (int i = 0; i < 1'000 && step->ended == 0; ++i) {
        lab().Step(0);
        lab().Step(1);
      }
      ASSERT_TRUE(step->installed());
      driver().PublishAndConclude(*step);
    };
    leap(Of(10, kLow));
    leap(Of(kHigh, std::nullopt));
    for (uint32_t i = 0; i < turns; ++i) lab().Step(1);
    leap(Of(kLow, kHigh));
    Rest();
    EXPECT_EQ(lab().Measure(*route_, {1}).remote, 0u);
    ExpectRows();
  }
}

TEST_P(LeapTest, AWalkEndsWhereTheRangeEnds) {
  BuildOnTwo();
  Put(ManyAndOneLow(20'000));
  // All but a few rows are on the other NumaNode, at home.
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kFrom10}), 1u);
  EXPECT_GT(Rest(), 3u);
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = Of(0, 10)}), 1u);
  // A few turns for the few: the others are not walked over.
  uint32_t turns = 0;
  for (; lab()[1].counters().homecomings.Read() > 0; ++turns) {
    lab().Step(0);
    lab().Step(1);
  }
  EXPECT_LE(turns, 6u);
  Rest();
  ExpectRows();
  ExpectMemory(0, false);
}

TEST_P(LeapTest, TheStepSetsWhatATurnMayTake) {
  BuildOnTwo();
  for (uint32_t i = 0; i < 2; ++i) lab()[i].SetWorkClock(ThreadCpuNs);
  Put(ManyAndOneLow(5'000));
  // Some rows stay on either NumaNode, so no superblock changes hands.
  Range range = kFrom10;
  const auto turns_with = [&](uint32_t from, uint32_t to, uint64_t cpu_ns) {
    const auto step =
        driver().Give({.from = from, .to = to, .kind = TransferKind::kLeap, .leaving = range});
    step->turn_cpu_ns_max = cpu_ns;
    lab().Step(from);
    lab().Step(to);
    EXPECT_TRUE(step->installed());
    driver().PublishAndConclude(*step);
    return Rest();
  };
  // The first pieces are small with any budget. After these leaps each AEU knows what a piece
  // costs.
  turns_with(0, 1, 1'000'000);
  range = Of(10, 0xf000'0000'0000'0000);
  turns_with(1, 0, 1'000'000);
  const uint32_t few = turns_with(0, 1, 1'000'000'000);
  turns_with(1, 0, 1'000'000);
  EXPECT_GT(turns_with(0, 1, 1'000), 2 * few);
}

TEST_P(LeapTest, WithoutMemoryOnTheNumaNodeAllStaysAndIsServed) {
  BuildOnTwo();
  Put(ManyAndOneLow(2'000));
  lab().ManagerOf({1}).run_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kFrom10}), 1u);
  Rest();
  EXPECT_EQ(lab()[1].counters().homecomings_refused.Read(), 1u);
  EXPECT_EQ(lab()[1].counters().bytes_brought_home.Read(), 0u);
  ExpectRows();
  lab().ManagerOf({1}).run_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
  ExpectMemory(0, true);
}

TEST_P(LeapTest, SuperblocksWithoutNewPagesAreSpilledAndComeHomeLater) {
  Build(GetParam(), 5, 64 << 10, 2);
  Put(ManyRows());
  lab().other_pool().take_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kAll}), 1u);
  Rest();
  EXPECT_EQ(lab()[1].counters().homecomings_refused.Read(), 1u);
  EXPECT_EQ(lab()[1].counters().bytes_brought_home.Read(), 0u);
  EXPECT_GT(lab().ManagerOf({1}).spilled_bytes(), 0u);
  ExpectRows();
  lab().other_pool().take_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(driver().Run({.from = 1, .to = 3, .kind = TransferKind::kLeap, .leaving = kAll}), 1u);
  Rest();
  EXPECT_GT(lab()[3].counters().bytes_remapped.Read(), 0u);
  EXPECT_EQ(lab().ManagerOf({1}).spilled_bytes(), 0u);
  ExpectRows();
}

TEST_P(LeapTest, WhatHasFoundNoRoomComesWhenItIsAskedFor) {
  for (const bool spilled : {true, false}) {
    SCOPED_TRACE(spilled ? "superblocks" : "blocks");
    Build(GetParam(), 5, 64 << 10, 2);
    Put(spilled ? ManyRows() : ManyAndOneLow(20'000));
    EXPECT_EQ(AskForMemory(1), storage::KeyState::kAbsent);  // there is none, so nothing begins
    EXPECT_FALSE(lab()[1].HasWork());
    lab().other_pool().take_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
    EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = spilled ? kAll : kFrom10}), 1u);
    Rest();
    EXPECT_EQ(lab()[1].counters().objects_left.Read(), 1u);
    EXPECT_GT(lab().Measure(*route_, {1}).remote, 0u);
    EXPECT_TRUE(!spilled || lab().ManagerOf({1}).spilled_bytes() > 0);
    EXPECT_EQ(AskForMemory(1), storage::KeyState::kPresent);  // and there is no room
    Rest();
    EXPECT_EQ(lab()[1].counters().objects_left.Read(), 1u);
    EXPECT_GT(lab().Measure(*route_, {1}).remote, 0u);

    lab().other_pool().take_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
    AskForMemory(1);
    EXPECT_GT(lab()[1].counters().homecomings.Read(), 0u);
    AskForMemory(1);  // it is on its way
    EXPECT_EQ(lab()[1].counters().homecomings.Read(), 1u);
    Rest();
    EXPECT_EQ(lab()[1].counters().objects_left.Read(), 0u);
    EXPECT_EQ(lab()[1].counters().homecomings.Read(), 0u);
    EXPECT_EQ(lab().Measure(*route_, {1}).remote, 0u);
    EXPECT_EQ(lab().ManagerOf({1}).spilled_bytes(), 0u);
    ExpectRows();
  }
}

// A range that goes on by a link takes along what its memory is to do.
TEST_P(LeapTest, WhatHasFoundNoRoomIsKnownToTheNextOwner) {
  Build(GetParam(), 5, 64 << 10, 2);
  Put(ManyAndOneLow(20'000));
  lab().other_pool().take_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kFrom10}), 1u);
  Rest();
  EXPECT_EQ(driver().Run({.from = 1, .to = 3, .kind = TransferKind::kLink, .leaving = kFrom10}),
            1u);
  Rest();
  EXPECT_EQ(lab()[1].counters().objects_left.Read(), 0u);  // it has nothing any more
  EXPECT_EQ(lab()[3].counters().objects_left.Read(), 1u);
  lab().other_pool().take_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
  AskForMemory(3);
  Rest();
  EXPECT_EQ(lab()[3].counters().objects_left.Read(), 0u);
  EXPECT_EQ(lab().Measure(*route_, {3}).remote, 0u);
  ExpectRows();
}

TEST_P(LeapTest, AskingForMemoryOfADroppedObjectIsAnswered) {
  Build(GetParam(), 5, 64 << 10, 2);
  Put(ManyAndOneLow(20'000));
  lab().other_pool().take_failures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(driver().Run({.kind = TransferKind::kLeap, .leaving = kFrom10}), 1u);
  Rest();
  EXPECT_EQ(lab()[1].counters().objects_left.Read(), 1u);
  lab().other_pool().take_failures().Arm(0, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(AskForMemory(1), storage::KeyState::kPresent);
  TestReply dropped(1);
  lab().SendDrop(*route_, {1}, dropped);
  while (dropped.answered == 0) lab().Step(1);
  EXPECT_EQ(lab()[1].counters().objects_left.Read(), 0u);
  EXPECT_EQ(lab()[1].counters().homecomings.Read(), 0u);
  EXPECT_EQ(AskForMemory(1), storage::KeyState::kNoObject);
  EXPECT_FALSE(lab()[1].HasWork());
}

}  // namespace
}  // namespace eris::aeu
