// Join parts on AEUs stepped by hand: slices, pauses for want of blocks and of room, pieces of a
// pinned table, ends of every kind. Blocks and parts are the test's own.
#include "aeu/runners/join_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using routing::JoinBlock;
using routing::JoinPartEnd;
using routing::JoinSegment;
using routing::LookupQuery;
using routing::ObjectRoute;
using routing::PartOutcome;
using routing::RangeTable;
using routing::RangeWidth;
using storage::Key;
using storage::KeyState;
using storage::Range;
using test::AeuLab;
using test::LabClient;
using test::TestReply;

using JoinRows = std::map<uint64_t, uint64_t>;

Range Between(uint64_t lo, std::optional<uint64_t> hi) {
  Range range{Key::FromU64(lo), std::nullopt};
  if (hi) range.hi = Key::FromU64(*hi);
  return range;
}

struct TestBlock final : JoinBlock {
  explicit TestBlock(uint32_t block_rows)
      : columns(3 * size_t{block_rows}), state_column(block_rows, KeyState::kPending) {
    outer_keys = columns.data();
    join_keys = outer_keys + block_rows;
    values = join_keys + block_rows;
    states = state_column.data();
    capacity = block_rows;
  }
  static void Begin(JoinBlock* block, uint32_t keys) noexcept {
    auto* self = static_cast<TestBlock*>(block);
    EXPECT_EQ(self->owed, 0u) << "begun twice";
    self->owed = keys;
    ++self->begun;
  }
  static void Answered(routing::Reply* reply, uint32_t keys) noexcept {
    auto* self = static_cast<TestBlock*>(reply);
    EXPECT_GE(self->owed, keys) << "answered twice";
    self->owed -= keys;
  }

  std::vector<uint64_t> columns;
  std::vector<KeyState> state_column;
  uint32_t owed = 0;
  uint32_t begun = 0;
};

struct TestJoinPart final : routing::JoinPart {
  static void Ended(routing::Reply* reply, uint32_t n) noexcept {
    static_cast<TestJoinPart*>(reply)->ended += n;
  }
  uint32_t ended = 0;
};

class JoinRunnerTest : public testing::Test {
 protected:
  // Object 1 is the outer one, object 2 the inner one; partition i of either is AEU i's.
  void Build(uint32_t aeus, size_t half_bytes = 64 << 10, size_t outgoing_bytes = 4 << 10) {
    lab_ = std::make_unique<AeuLab>(memory_, aeus, half_bytes, outgoing_bytes);
    client_ = std::make_unique<LabClient>(*lab_);
    port_ = std::make_unique<routing::Port>(lab_->directory(), lab_->port_options());
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < aeus; ++i) starts.push_back(1000 * i), owners.push_back({i});
    outer_ = &lab_->Create(0, {1}, starts, owners);
    inner_ = &lab_->Create(1, {2}, starts, owners);
    for (uint32_t i = 0; i < aeus; ++i) {
      parts_.emplace_back().owner = AeuId{i};
      part_list_.push_back(&parts_.back());
    }
  }
  void Put(const ObjectRoute& route, const JoinRows& rows) {
    std::vector<uint64_t> keys, values;
    for (const auto& [key, value] : rows) keys.push_back(key), values.push_back(value);
    TestReply reply(keys.size());
    client_->Send(route, CommandType::kUpsert, keys, values, reply);
    lab_->Settle();
    ASSERT_EQ(reply.answered, keys.size());
  }
  // A block for one part.
  TestBlock& Give(uint32_t part, uint32_t rows) {
    TestBlock& block = blocks_.emplace_back(rows);
    parts_[part].GiveChunk(&block);
    return block;
  }
  struct Command {
    Range range;
    const RangeTable* table = nullptr;
    std::optional<LookupQuery> query = std::nullopt;
  };
  // To all AEUs, or one part to one of them: its own, or `aeu`.
  void Send(const Command& command, std::optional<uint32_t> only = std::nullopt,
            std::optional<uint32_t> aeu = std::nullopt) {
    struct {
      JoinSegment segment;
      LookupQuery query;
    } data{{.range = command.range,
            .table = command.table,
            .inner = inner_,
            .parts = only ? &part_list_[*only] : part_list_.data(),
            .part_count = only ? 1 : part_list_.size(),
            .begin_block = &TestBlock::Begin,
            .complete_block = &TestBlock::Answered},
           command.query.value_or(LookupQuery{})};
    const routing::CommandHeader header{
        .type = CommandType::kJoin,
        .slot = outer_->slot(),
        .object = outer_->object(),
        .complete = &TestJoinPart::Ended,
        .count = 1,
        .query_bytes = command.query ? uint32_t{sizeof(LookupQuery)} : 0};
    const auto segment =
        std::as_bytes(std::span(&data, 1)).first(command.query ? sizeof data : sizeof data.segment);
    if (only) {
      ASSERT_TRUE(port_->SendTo(AeuId{aeu.value_or(*only)}, header, segment));
    } else {
      std::vector<AeuId> targets, refused;
      for (uint32_t i = 0; i < lab_->size(); ++i) targets.push_back({i});
      port_->Multicast(targets, header, segment, refused);
      ASSERT_TRUE(refused.empty());
    }
    port_->Flush();
  }
  void ExpectEnd(uint32_t part, PartOutcome outcome, RangeWidth answered) {
    ASSERT_EQ(parts_[part].ended, 1u);
    EXPECT_EQ(parts_[part].end().outcome, outcome);
    EXPECT_TRUE(parts_[part].end().answered == answered);
  }
  // What the answered blocks say: outer key -> inner value.
  JoinRows Joined() const {
    JoinRows rows;
    for (const TestBlock& block : blocks_) {
      EXPECT_EQ(block.owed, 0u);
      for (uint32_t i = 0; i < block.rows; ++i) {
        if (block.states[i] == KeyState::kPresent) rows[block.outer_keys[i]] = block.values[i];
      }
    }
    return rows;
  }

  test::LabMemory memory_;
  std::unique_ptr<AeuLab> lab_;
  std::unique_ptr<LabClient> client_;
  std::unique_ptr<routing::Port> port_;
  ObjectRoute* outer_ = nullptr;
  ObjectRoute* inner_ = nullptr;
  std::deque<TestBlock> blocks_;
  std::deque<TestJoinPart> parts_;
  std::vector<routing::JoinPart*> part_list_;
};

TEST_F(JoinRunnerTest, OneMulticastJoinsTheRowsOfEveryAeu) {
  Build(3);
  Put(*outer_, {{5, 2500}, {6, 7}, {1005, 5}, {1006, 6}, {2999, 2500}, {9999, 1}});
  Put(*inner_, {{5, 50}, {7, 70}, {2500, 25}});
  for (uint32_t i = 0; i < 3; ++i) Give(i, 16);
  const auto table = outer_->Pin();
  Send({.range = Between(0, std::nullopt), .table = table.get()});
  lab_->Settle();
  EXPECT_EQ(Joined(), (JoinRows{{5, 25}, {6, 70}, {1005, 50}, {2999, 25}}));
  ExpectEnd(0, PartOutcome::kAnswered, 1000);
  ExpectEnd(1, PartOutcome::kAnswered, 1000);
  ExpectEnd(2, PartOutcome::kAnswered, (RangeWidth{1} << 64) - 2000);
  EXPECT_EQ(blocks_[0].begun, 1u);
}

TEST_F(JoinRunnerTest, APartWithoutABlockPausesAndLeavesTheAeuIdle) {
  Build(1);
  JoinRows rows;
  for (uint64_t key = 0; key < 20; ++key) rows[key] = key;
  Put(*outer_, rows);
  Put(*inner_, rows);
  Send({.range = Between(0, 20)}, 0);
  lab_->Settle();
  EXPECT_EQ((*lab_)[0].joins_running(), 1u);
  EXPECT_FALSE((*lab_)[0].HasWork());
  for (int block = 0; block < 2; ++block) {
    Give(0, 8);
    EXPECT_TRUE((*lab_)[0].HasWork());
    lab_->Settle();
    EXPECT_EQ(blocks_.back().rows, 8u);
    EXPECT_EQ(parts_[0].ended, 0u);
  }
  Give(0, 8);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, 20);
  EXPECT_EQ(parts_[0].end().unused, nullptr);
  EXPECT_EQ(Joined(), rows);
}

TEST_F(JoinRunnerTest, ABlockThatIsNotUsedGoesBackWithTheEnd) {
  Build(1);
  TestBlock& block = Give(0, 8);
  Send({.range = Between(0, std::nullopt)}, 0);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, RangeWidth{1} << 64);
  EXPECT_EQ(parts_[0].end().unused, &block);
  EXPECT_EQ(block.begun, 0u);
}

TEST_F(JoinRunnerTest, EmptyRangesEndWithoutABlock) {
  Build(2);
  Send({.range = Between(7, 7)}, 0);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, 0);
  // Nothing of the range is this AEU's by the table.
  const auto table = outer_->Pin();
  Send({.range = Between(10, 20), .table = table.get()}, 1);
  lab_->Settle();
  ExpectEnd(1, PartOutcome::kAnswered, 0);
}

TEST_F(JoinRunnerTest, AnObjectThatIsNotThereEndsThePart) {
  Build(1);
  TestReply dropped(1);
  lab_->SendDrop(*outer_, {0}, dropped);
  Give(0, 8);
  Send({.range = Between(0, 100)}, 0);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kNoObject, 0);
}

TEST_F(JoinRunnerTest, OnlyThePiecesOfThePinnedTableAreAnswered) {
  Build(2);
  JoinRows rows;
  for (uint64_t key = 0; key < 2000; key += 100) rows[key] = key;
  Put(*outer_, rows);
  Put(*inner_, rows);
  // By this version AEU 0 has [0, 300) and [500, 600) only, though it owns more.
  const RangeTable pinned(1, {0, 300, 500, 600}, {{0}, {1}, {0}, {1}});
  Give(0, 64);
  Send({.range = Between(100, 550), .table = &pinned}, 0);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, 250);
  EXPECT_EQ(Joined(), (JoinRows{{100, 100}, {200, 200}, {500, 500}}));
}

TEST_F(JoinRunnerTest, APieceThatIsNotOwnedAnyMoreIsReportedWithWhatFollows) {
  Build(2);
  Put(*outer_, {{10, 1}, {900, 1}, {1500, 1}, {1700, 1}});
  Put(*inner_, {{1, 11}});
  // By this version AEU 0 has [0, 1600) as one piece and everything from 1700 on; it owns [0,
  // 1000).
  const RangeTable pinned(1, {0, 1600, 1700}, {{0}, {1}, {0}});
  TestBlock& block = Give(0, 64);
  Send({.range = Between(5, 5000), .table = &pinned}, 0);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kMoved, 995);
  EXPECT_EQ(parts_[0].end().moved, Between(1000, 1600));
  EXPECT_EQ(parts_[0].end().rest, Between(1700, 5000));
  EXPECT_EQ(block.rows, 2u);  // what it owns has been sent before the end
  EXPECT_EQ(Joined(), (JoinRows{{10, 11}, {900, 11}}));

  // A range by itself has no rest.
  Give(1, 64);
  Send({.range = Between(1400, std::nullopt)}, 1);
  lab_->Settle();
  ExpectEnd(1, PartOutcome::kAnswered, (RangeWidth{1} << 64) - 1400);
}

TEST_F(JoinRunnerTest, TheFilterHoldsWhereTheKeyIsExecutedAlsoBehindAStub) {
  Build(2);
  JoinRows outer, inner, kept;
  for (uint64_t key = 0; key < 40; ++key) {
    outer[key] = 980 + key;  // half of the inner keys are the other AEU's
    inner[980 + key] = key % 4;
    if (key % 4 == 1 || key % 4 == 2) kept[key] = key % 4;
  }
  Put(*outer_, outer);
  Put(*inner_, inner);
  // Each lookup goes to AEU 0 first, which has just given the others away.
  AeuTestPeer::SlotOf((*lab_)[0], *inner_)->SetStub(Stub{Between(1000, std::nullopt), {1}, 2});
  ObjectRoute stale(
      inner_->slot(), inner_->object(),
      std::make_unique<RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}}));
  inner_ = &stale;
  Give(0, 64);
  Send({.range = Between(0, 1000), .query = LookupQuery{1, 2}}, 0);
  lab_->Settle();
  EXPECT_EQ((*lab_)[0].counters().forwarded.Read(), 20u);
  EXPECT_EQ(Joined(), kept);
  for (uint32_t i = 0; i < 40; ++i) {
    EXPECT_EQ(blocks_[0].states[i], kept.contains(i) ? KeyState::kPresent : KeyState::kAbsent) << i;
  }
}

// Lookups for an AEU that does not move find no room at some time. They are kept, no slice begins
// before they are sent, and the generating AEU goes on with its other work.
class JoinWithoutRoomTest : public JoinRunnerTest {
 protected:
  static constexpr uint64_t kRows = 900;
  JoinWithoutRoomTest() {
    Build(2, 4 << 10, 1 << 10);
    JoinRows outer, inner;
    for (uint64_t key = 0; key < kRows; ++key) outer[key] = 1000 + key, inner[1000 + key] = key + 1;
    Put(*outer_, outer);
    Put(*inner_, inner);
    first_ = &Give(0, kRows - 10);
    second_ = &Give(0, 64);
    Send({.range = Between(0, 1000)}, 0);
    // AEU 1 stands still.
    for (int turn = 0; turn < 20; ++turn) lab_->Step(0);
    EXPECT_EQ(first_->rows, kRows - 10);
    EXPECT_EQ(first_->begun, 1u);
    EXPECT_GT(first_->owed, 0u);
    EXPECT_EQ(second_->begun, 0u) << "no slice before what is left has been sent";
    EXPECT_EQ(parts_[0].ended, 0u);
    EXPECT_TRUE((*lab_)[0].HasWork());
    EXPECT_GT((*lab_)[0].Routing().refused, 0u);
  }
  void ExpectOwnLookupsAnswered() {
    TestReply reply(1);
    client_->Send(*outer_, CommandType::kLookup, {5}, {}, reply);
    lab_->Step(0);
    EXPECT_EQ(reply.answered, 1u);
    EXPECT_EQ(reply.value_column[0], 1005u);
  }
  TestBlock* first_ = nullptr;
  TestBlock* second_ = nullptr;
};

TEST_F(JoinWithoutRoomTest, KeysAreKeptAndSentLater) {
  ExpectOwnLookupsAnswered();
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, 1000);
  EXPECT_EQ(second_->rows, 10u);
  JoinRows all;
  for (uint64_t key = 0; key < kRows; ++key) all[key] = key + 1;
  EXPECT_EQ(Joined(), all);
}

TEST_F(JoinWithoutRoomTest, CancellingAnswersWhatHasNotBeenSent) {
  parts_[0].SetCancelled();
  first_->SetCancelled();
  lab_->Step(0);
  ExpectEnd(0, PartOutcome::kCancelled, kRows - 10);
  EXPECT_GT(std::count(first_->states, first_->states + first_->rows, KeyState::kCancelled), 0);
  EXPECT_GT(first_->owed, 0u);  // what AEU 1 has got
  lab_->Settle();
  EXPECT_EQ(first_->owed, 0u);
}

TEST_F(JoinWithoutRoomTest, ADropOfTheOuterObjectStillSendsWhatWasBegun) {
  TestReply dropped(1);
  lab_->SendDrop(*outer_, {0}, dropped);
  lab_->Step(0);
  EXPECT_EQ(dropped.answered, 1u);
  EXPECT_EQ(parts_[0].ended, 0u);
  lab_->Settle();
  ASSERT_EQ(parts_[0].ended, 1u);
  EXPECT_EQ(parts_[0].end().outcome, PartOutcome::kNoObject);
  EXPECT_EQ(second_->begun, 0u);
  JoinRows all;
  for (uint64_t key = 0; key < kRows - 10; ++key) all[key] = key + 1;
  EXPECT_EQ(Joined(), all);
}

TEST_F(JoinWithoutRoomTest, ADropOfTheInnerObjectAnswersEveryKey) {
  TestReply dropped(1);
  lab_->SendDrop(*inner_, {1}, dropped);
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, 1000);
  EXPECT_EQ(first_->owed, 0u);
  EXPECT_EQ(second_->owed, 0u);
  EXPECT_EQ(second_->states[0], KeyState::kNoObject);
}

TEST_F(JoinRunnerTest, APartCancelledWhilePausedEnds) {
  Build(1);
  Send({.range = Between(0, 100)}, 0);
  lab_->Settle();
  parts_[0].SetCancelled();
  EXPECT_TRUE((*lab_)[0].HasWork());
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kCancelled, 0);
}

// With the shortest slices there are, two joins share the turns.
TEST_F(JoinRunnerTest, JoinsTakeTurns) {
  Build(2);
  JoinRows rows;
  for (uint64_t key = 0; key < 900; ++key) rows[key] = key;
  Put(*outer_, rows);
  Put(*inner_, rows);
  for (int i = 0; i < 4; ++i) Give(0, 450), Give(1, 450);
  Send({.range = Between(0, 900)}, 0);
  // AEU 0 answers the other part, too: a single part is meant whoever gets it.
  Send({.range = Between(0, 900)}, 1, 0);
  int turns = 0;
  while (lab_->Step(0) && parts_[0].ended == 0) {
    ++turns;
    lab_->Step(1);
  }
  lab_->Settle();
  ExpectEnd(0, PartOutcome::kAnswered, 900);
  ExpectEnd(1, PartOutcome::kAnswered, 900);
  EXPECT_EQ(Joined(), rows);
}

}  // namespace
}  // namespace eris::aeu
