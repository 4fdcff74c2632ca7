// AEUs stepped by hand: one turn at a time, and what has become of the commands after it.
#include "aeu/aeu.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "aeu/state/reserve_more.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using routing::ObjectRoute;
using routing::PartOutcome;
using routing::RangeTable;
using storage::Key;
using storage::KeyState;
using storage::Range;
using test::AeuLab;
using test::LabClient;
using test::TestReply;
using test::TestScanPart;

constexpr KeyState kAbsent = KeyState::kAbsent;
constexpr KeyState kPresent = KeyState::kPresent;
constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();

using States = std::vector<KeyState>;

class AeuTest : public testing::Test {
 protected:
  // As if each had given the other's keys away just now: by the table before they had the wrong
  // ones, and send those on.
  void StubsToEachOther() {
    const routing::ObjectRoute& route = *route_;
    AeuTestPeer::SlotOf((*lab_)[0], route)->SetStub(Stub{{{1000, 0}, std::nullopt}, {1}, 2});
    AeuTestPeer::SlotOf((*lab_)[1], route)->SetStub(Stub{{{0, 0}, Key{1000, 0}}, {0}, 2});
  }
  // `count` AEUs; object 1 in slot 0, AEU i owns [1000 i, 1000 (i + 1)).
  void Build(uint32_t count, size_t half_bytes = 64 << 10) {
    lab_ = std::make_unique<AeuLab>(memory_, count, half_bytes);
    client_ = std::make_unique<LabClient>(*lab_);
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < count; ++i) starts.push_back(1000 * i), owners.push_back({i});
    route_ = &lab_->Create(0, {1}, starts, owners);
  }
  // A way to the same object as a sender with another table knows it.
  std::unique_ptr<ObjectRoute> OtherTable(std::vector<uint64_t> starts, std::vector<AeuId> owners) {
    return std::make_unique<ObjectRoute>(
        route_->slot(), route_->object(),
        std::make_unique<RangeTable>(0, std::move(starts), std::move(owners)));
  }
  void Upsert(const std::vector<uint64_t>& keys, const std::vector<uint64_t>& values) {
    TestReply reply(keys.size());
    client_->Send(*route_, CommandType::kUpsert, keys, values, reply);
    lab_->Settle();
    ASSERT_EQ(reply.answered, keys.size());
    for (const KeyState state : reply.state_column) ASSERT_LE(state, kPresent);
  }
  uint64_t ValueOf(uint64_t key) {
    TestReply reply(1);
    client_->Send(*route_, CommandType::kLookup, {key}, {}, reply);
    lab_->Settle();
    return reply.state_column[0] == kPresent ? reply.value_column[0] : kKeyMax;
  }

  test::LabMemory memory_;
  std::unique_ptr<AeuLab> lab_;
  std::unique_ptr<LabClient> client_;
  ObjectRoute* route_ = nullptr;
};

TEST_F(AeuTest, AnIdleStepDoesNothing) {
  Build(1);
  const uint64_t turns = (*lab_)[0].counters().turns.Read();
  EXPECT_FALSE((*lab_)[0].HasWork());
  EXPECT_FALSE(lab_->Step(0));
  EXPECT_EQ((*lab_)[0].counters().turns.Read(), turns);
}

// Commands of one object and operation run together, in the order of the first of them: so the
// erase, which came second of three, runs after both upserts of another Port.
TEST_F(AeuTest, CommandsOfOneOperationRunAsOneBatch) {
  Build(1);
  LabClient other(*lab_);
  TestReply first(1), erase(1), second(1);
  client_->Send(*route_, CommandType::kUpsert, {7}, {70}, first);
  other.Send(*route_, CommandType::kErase, {7}, {}, erase);
  client_->Send(*route_, CommandType::kUpsert, {7}, {71}, second);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(first.state_column, States{kAbsent});
  EXPECT_EQ(second.state_column, States{kPresent});
  EXPECT_EQ(erase.state_column, States{kPresent});
  EXPECT_EQ(ValueOf(7), kKeyMax);
}

TEST_F(AeuTest, WithinABatchTheLaterWriteOfAKeyWins) {
  Build(1);
  TestReply one(2), two(1);
  client_->Send(*route_, CommandType::kUpsert, {7, 7}, {70, 71}, one);
  client_->Send(*route_, CommandType::kUpsert, {7}, {72}, two);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(one.state_column, (States{kAbsent, kPresent}));
  EXPECT_EQ(ValueOf(7), 72u);
}

// Each mode is a group of its own; a group's commands run in their order of arrival.
TEST_F(AeuTest, ConditionalWritesOfSeveralCommandsRunAsOneBatch) {
  Build(1);
  LabClient other(*lab_);
  TestReply add(2), insert(2), more(1), late(1);
  client_->Send(*route_, CommandType::kAdd, {7, 7}, {70, 1}, add);
  other.Send(*route_, CommandType::kInsertIfAbsent, {8, 7}, {80, 99}, insert);
  client_->Send(*route_, CommandType::kAdd, {7}, {2}, more);
  other.Send(*route_, CommandType::kInsertIfAbsent, {8}, {81}, late);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(add.state_column, (States{kAbsent, kPresent}));
  EXPECT_EQ(add.value_column, (std::vector<uint64_t>{70, 71}));
  EXPECT_EQ(more.value_column, std::vector<uint64_t>{73});
  EXPECT_EQ(insert.state_column, (States{kAbsent, kPresent}));
  EXPECT_EQ(insert.value_column, (std::vector<uint64_t>{0, 73}));
  EXPECT_EQ(late.state_column, States{kPresent});
  EXPECT_EQ(late.value_column, std::vector<uint64_t>{80});
}

TEST_F(AeuTest, MoreCommandsThanOneRoundOfGroupsHoldsAreAllExecuted) {
  Build(1, 1 << 20);
  constexpr uint32_t kCommands = 2 * kGroupedCommandsMax + 100;
  std::vector<std::unique_ptr<TestReply>> replies;
  for (uint32_t i = 0; i < kCommands; ++i) {
    replies.push_back(std::make_unique<TestReply>(1));
    client_->Send(*route_, CommandType::kUpsert, {i % 900}, {i}, *replies.back());
  }
  EXPECT_TRUE(lab_->Step(0));
  for (uint32_t i = 0; i < kCommands; ++i) {
    ASSERT_EQ(replies[i]->answered, 1u);
    ASSERT_EQ(replies[i]->state_column[0], i < 900 ? kAbsent : kPresent);
  }
  EXPECT_EQ(ValueOf((kCommands - 1) % 900), kCommands - 1);
}

TEST_F(AeuTest, AcknowledgementsLeaveOnceAndAfterEverythingWasExecuted) {
  Build(1);
  TestReply upsert(3), lookup(2);
  bool executed_before_ack = false;
  upsert.on_answered = [&] {
    executed_before_ack = lookup.state_column == States{kPresent, kAbsent} &&
                          lookup.answered == 0 &&
                          upsert.state_column == States{kAbsent, kAbsent, kPresent};
  };
  client_->Send(*route_, CommandType::kUpsert, {1, 2, 1}, {10, 20, 11}, upsert);
  client_->Send(*route_, CommandType::kLookup, {1, 3}, {}, lookup);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_TRUE(executed_before_ack);
  EXPECT_EQ(upsert.answered, 3u);
  EXPECT_EQ(upsert.calls, 1u);
  EXPECT_EQ(lookup.answered, 2u);
  EXPECT_EQ(lookup.value_column[0], 11u);
}

TEST_F(AeuTest, ARequestInSeveralRecordsIsAcknowledgedKeyByKeyExactly) {
  Build(2);
  std::vector<uint64_t> keys(2000);
  std::iota(keys.begin(), keys.end(), 0);
  TestReply reply(keys.size());
  client_->Send(*route_, CommandType::kUpsert, keys, keys, reply);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(reply.answered, 1000u);
  EXPECT_TRUE(lab_->Step(1));
  EXPECT_EQ(reply.answered, 2000u);
  EXPECT_EQ(reply.state_column, States(2000, kAbsent));
}

TEST_F(AeuTest, AnUnknownObjectIsAnsweredAsSuch) {
  Build(1);
  const ObjectRoute other_slot(
      9, {2}, std::make_unique<RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}}));
  const ObjectRoute other_generation(
      0, {2}, std::make_unique<RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}}));
  TestReply good(1), slot(2), generation(1);
  client_->Send(other_slot, CommandType::kUpsert, {1, 2}, {1, 1}, slot);
  client_->Send(other_generation, CommandType::kUpsert, {5}, {5}, generation);
  client_->Send(*route_, CommandType::kUpsert, {6}, {60}, good);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(slot.state_column, (States{KeyState::kNoObject, KeyState::kNoObject}));
  EXPECT_EQ(slot.answered, 2u);
  EXPECT_EQ(generation.state_column, States{KeyState::kNoObject});
  EXPECT_EQ(generation.answered, 1u);
  EXPECT_EQ(good.state_column, States{kAbsent});
  EXPECT_EQ(ValueOf(5), kKeyMax);
  EXPECT_EQ(ValueOf(6), 60u);
}

TEST_F(AeuTest, ACancelledCommandIsAnsweredAndNotExecuted) {
  Build(1);
  TestReply reply(1);
  client_->Send(*route_, CommandType::kUpsert, {1}, {10}, reply);
  reply.SetCancelled();
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(reply.state_column, States{KeyState::kCancelled});
  EXPECT_EQ(reply.answered, 1u);
  EXPECT_EQ(ValueOf(1), kKeyMax);
}

TEST_F(AeuTest, KeysThatReachTheWrongAeuGoBackToTheSender) {
  Build(3);
  const auto stale = OtherTable({0, 1500}, {{2}, {1}});
  TestReply reply(4);
  client_->Send(*stale, CommandType::kUpsert, {5, 1200, 2500, 1700}, {1, 2, 3, 4}, reply);
  EXPECT_TRUE(lab_->Step(2));  // has 5 and 1200, owns neither
  EXPECT_EQ(reply.answered, 2u);
  EXPECT_TRUE(lab_->Step(1));  // has 2500 and 1700, owns the latter
  EXPECT_EQ(reply.answered, 4u);
  EXPECT_EQ(reply.state_column,
            (States{KeyState::kMoved, KeyState::kMoved, KeyState::kMoved, kAbsent}));
  EXPECT_TRUE(reply.moved());
  EXPECT_EQ((*lab_)[2].counters().redirected.Read(), 2u);
  EXPECT_EQ((*lab_)[1].counters().redirected.Read(), 1u);
  EXPECT_EQ(ValueOf(5), kKeyMax);
  EXPECT_EQ(ValueOf(1700), 4u);
}

// Two AEUs whose buffers are full of traffic for each other: neither waits, keys come back as
// moved, and a sender that sends them again by the table in force gets each of them executed.
TEST_F(AeuTest, FullBuffersOnBothSidesSendKeysBackAndNothingIsLost) {
  Build(2, 4 << 10);
  StubsToEachOther();
  const auto stale = OtherTable({0, 1000}, {{1}, {0}});  // everything to the wrong one
  std::vector<uint64_t> keys(1200);
  std::iota(keys.begin(), keys.end(), 400);
  TestReply reply(keys.size());
  std::vector<uint32_t> todo(keys.size());
  std::iota(todo.begin(), todo.end(), 0);
  uint64_t sent = 0, moved = 0, executed = 0;
  for (int round = 0; executed < keys.size() && round < 1000; ++round) {
    std::vector<uint64_t> some;
    for (const uint32_t position : todo) {
      reply.state_column[position] = KeyState::kPending;
      some.push_back(keys[position]);
    }
    sent += some.size();
    const ObjectRoute& route = round < 8 ? *stale : *route_;
    if (!todo.empty()) client_->Send(route, CommandType::kUpsert, some, some, reply, todo);
    todo.clear();
    lab_->Step(round / 4 % 2);
    executed = 0;
    for (uint32_t i = 0; i < keys.size(); ++i) {
      const KeyState state = reply.state_column[i];
      moved += state == KeyState::kMoved;
      executed += state == kAbsent;
      ASSERT_NE(state, kPresent) << "executed twice";
      if (state == KeyState::kMoved || state == KeyState::kRefused) todo.push_back(i);
    }
  }
  lab_->Settle();
  EXPECT_EQ(executed, keys.size());
  EXPECT_EQ(reply.answered, sent);
  EXPECT_GT(moved, 0u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_GT((*lab_)[i].counters().forwarded.Read(), 0u);
  }
  for (const uint64_t key : keys) ASSERT_EQ(ValueOf(key), key);
}

// The same with counters: what goes back as moved has not been counted, so that sending it again
// counts it once.
TEST_F(AeuTest, AnAddThatIsSentBackAndAgainCountsOnce) {
  Build(2, 4 << 10);
  StubsToEachOther();
  const auto stale = OtherTable({0, 1000}, {{1}, {0}});
  std::vector<uint64_t> keys(1200);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = 800 + i % 400;  // three times each
  TestReply reply(keys.size());
  std::vector<uint32_t> todo(keys.size());
  std::iota(todo.begin(), todo.end(), 0);
  uint64_t moved = 0, executed = 0;
  for (int round = 0; executed < keys.size() && round < 1000; ++round) {
    std::vector<uint64_t> some, deltas;
    for (const uint32_t position : todo) {
      reply.state_column[position] = KeyState::kPending;
      some.push_back(keys[position]);
      deltas.push_back(1 + position);
    }
    const ObjectRoute& route = round < 8 ? *stale : *route_;
    if (!todo.empty()) client_->Send(route, CommandType::kAdd, some, deltas, reply, todo);
    todo.clear();
    lab_->Step(round / 4 % 2);
    executed = 0;
    for (uint32_t i = 0; i < keys.size(); ++i) {
      const KeyState state = reply.state_column[i];
      moved += state == KeyState::kMoved;
      executed += state == kAbsent || state == kPresent;
      if (state == KeyState::kMoved || state == KeyState::kRefused) todo.push_back(i);
    }
  }
  lab_->Settle();
  EXPECT_EQ(executed, keys.size());
  EXPECT_GT(moved, 0u);
  for (uint64_t i = 0; i < 400; ++i) {
    ASSERT_EQ(ValueOf(800 + i), 3 * (1 + i) + 400 + 800) << "counter " << i;
  }
}

TEST_F(AeuTest, SeveralRangesOfAnObjectAtOneAeu) {
  lab_ = std::make_unique<AeuLab>(memory_, 2);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0, 10, 20, 30, kKeyMax}, {{0}, {1}, {0}, {1}, {0}});
  const auto all_to_0 = OtherTable({0}, {{0}});
  const std::vector<uint64_t> keys{25, 5, 10, 35, 20, kKeyMax, 9, 15, 30, kKeyMax - 1};
  std::vector<uint64_t> values(keys.size());
  std::iota(values.begin(), values.end(), 100);
  TestReply reply(keys.size());
  client_->Send(*all_to_0, CommandType::kUpsert, keys, values, reply);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(reply.answered, keys.size());
  const KeyState moved = KeyState::kMoved;
  EXPECT_EQ(reply.state_column, (States{kAbsent, kAbsent, moved, moved, kAbsent, kAbsent, kAbsent,
                                        moved, moved, moved}));
  Upsert({10, 35, 15, 30, kKeyMax - 1}, {102, 103, 107, 108, 109});
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(ValueOf(keys[i]), values[i]) << keys[i];
  uint64_t rows = 0;
  for (uint32_t aeu = 0; aeu < 2; ++aeu) {
    for (const ObjectLoad& load : (*lab_)[aeu].loads().All()) {
      EXPECT_EQ(load.partitions.size(), aeu == 0 ? 3u : 2u);
      for (const auto& partition : load.partitions) rows += partition->rows();
    }
  }
  EXPECT_EQ(rows, keys.size());
}

TEST_F(AeuTest, LoadsAreOfAllRangesWhateverTheOrderOfTheInstalls) {
  lab_ = std::make_unique<AeuLab>(memory_, 1);
  route_ = &lab_->Create(0, {1}, {0, 10, 20, 30}, {{0}, {0}, {0}, {0}});
  lab_->Install(*route_, {0}, {Key::FromU64(15), Key::FromU64(16)});
  const std::vector<ObjectLoad> loads = (*lab_)[0].loads().All();
  ASSERT_EQ(loads.size(), 1u);
  std::set<uint64_t> starts;
  for (const auto& partition : loads[0].partitions) starts.insert(partition->lo());
  EXPECT_EQ(starts, (std::set<uint64_t>{0, 10, 15, 20, 30}));
  EXPECT_EQ(loads[0].partitions.size(), starts.size());
}

TEST_F(AeuTest, KeysThatFindNoMemoryToBeSortedAreAnsweredSo) {
  lab_ = std::make_unique<AeuLab>(memory_, 1);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0, 10}, {{0}, {0}});
  for (const uint64_t nth : {1, 2, 2}) {  // the next column each time
    ReserveFailures().Arm(nth, memory::FailurePoint::Mode::kOnce);
    TestReply refused(2);
    client_->Send(*route_, CommandType::kUpsert, {5, 15}, {1, 2}, refused);
    EXPECT_TRUE(lab_->Step(0));
    ReserveFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
    EXPECT_EQ(refused.answered, 2u);
    EXPECT_EQ(refused.state_column, States(2, KeyState::kNoMemory));
  }
  EXPECT_EQ((*lab_)[0].loads().All()[0].partitions[0]->rows(), 0u);
  TestReply reply(2);
  client_->Send(*route_, CommandType::kUpsert, {5, 15}, {1, 2}, reply);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(reply.state_column, States(2, kAbsent));
  EXPECT_EQ(ValueOf(15), 2u);
}

TEST_F(AeuTest, AnEmptyRangeOwnsNoKey) {
  lab_ = std::make_unique<AeuLab>(memory_, 2);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0}, {{0}});
  // As the target of a transfer begins.
  lab_->Install(*route_, {1}, {Key::FromU64(50), Key::FromU64(50)});
  const auto stale = OtherTable({0}, {{1}});
  TestReply reply(3);
  client_->Send(*stale, CommandType::kUpsert, {49, 50, kKeyMax}, {1, 2, 3}, reply);
  EXPECT_TRUE(lab_->Step(1));
  EXPECT_EQ(reply.answered, 3u);
  EXPECT_EQ(reply.state_column, States(3, KeyState::kMoved));
  EXPECT_EQ(ValueOf(50), kKeyMax);
}

TEST_F(AeuTest, AnEmptyRangeHidesNoneThatBeginsWhereItDoes) {
  lab_ = std::make_unique<AeuLab>(memory_, 1);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0}, {{0}});
  lab_->Install(*route_, {0}, {Key::FromU64(0), Key::FromU64(0)});
  lab_->Install(*route_, {0}, {Key::FromU64(0), Key::FromU64(0)});
  TestReply reply(2);
  client_->Send(*route_, CommandType::kUpsert, {0, 50}, {1, 2}, reply);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(reply.state_column, States(2, kAbsent));
  EXPECT_EQ(ValueOf(50), 2u);
}

TEST_F(AeuTest, ADropSplitsTheGroupsOfItsTurn) {
  Build(1);
  Upsert({1}, {10});
  TestReply before(1), drop(1), after(1);
  client_->Send(*route_, CommandType::kLookup, {1}, {}, before);
  lab_->SendDrop(*route_, {0}, drop);
  client_->Send(*route_, CommandType::kLookup, {1}, {}, after);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(before.state_column, States{kPresent});
  EXPECT_EQ(drop.state_column, States{kAbsent});
  EXPECT_EQ(after.state_column, States{KeyState::kNoObject});
  EXPECT_TRUE((*lab_)[0].loads().All().empty());
}

TEST_F(AeuTest, ADropOfWhatIsNotThereIsAnswered) {
  Build(1);
  const ObjectRoute other(
      4, {8}, std::make_unique<RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}}));
  TestReply drop(1);
  lab_->SendDrop(other, {0}, drop);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(drop.state_column, States{kAbsent});
  EXPECT_EQ(drop.answered, 1u);
}

TEST_F(AeuTest, ADropEndsScansThatAreRunning) {
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

TEST_F(AeuTest, AScanOfAnUnknownObjectEndsAtOnce) {
  Build(1);
  const ObjectRoute other(
      4, {8}, std::make_unique<RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}}));
  TestScanPart part;
  lab_->SendScan(other, {0}, {}, part);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(part.outcome(), PartOutcome::kNoObject);
  EXPECT_EQ(part.ended, 1u);
}

TEST_F(AeuTest, AScanWithoutAnEmptyChunkPausesAndOtherCommandsGoOn) {
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

TEST_F(AeuTest, APausedScanThatIsCancelledEnds) {
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

TEST_F(AeuTest, SlicesAreBoundedAndPointCommandsRunBetweenThem) {
  Build(1);
  constexpr uint64_t kRows = 5000;
  for (uint64_t from = 0; from < kRows; from += 500) {
    std::vector<uint64_t> keys(500);
    std::iota(keys.begin(), keys.end(), from);
    Upsert(keys, keys);
  }
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
  auto* chunk = part.TakeFilled();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(chunk->rows.rows, kRows);
}

TEST_F(AeuTest, AScanGoesOverAllRangesOfTheAeuAndStopsWhereTheyEnd) {
  lab_ = std::make_unique<AeuLab>(memory_, 2);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0, 10, 20}, {{0}, {0}, {1}});
  Upsert({3, 9, 10, 15, 25}, {1, 1, 1, 1, 1});
  TestScanPart part;
  part.GiveAll();
  lab_->SendScan(*route_, {0}, {Key::FromU64(4), Key::FromU64(30)}, part);
  lab_->Settle();
  auto* chunk = part.TakeFilled();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(std::vector<uint64_t>(chunk->rows.keys, chunk->rows.keys + chunk->rows.rows),
            (std::vector<uint64_t>{9, 10, 15}));
  EXPECT_EQ(part.outcome(), PartOutcome::kMoved);
  ASSERT_TRUE(part.rest());
  EXPECT_EQ(*part.rest(), (Range{Key::FromU64(20), Key::FromU64(30)}));
}

TEST_F(AeuTest, AScanHonoursItsLimitAcrossRanges) {
  lab_ = std::make_unique<AeuLab>(memory_, 1);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0, 10, 20}, {{0}, {0}, {0}});
  Upsert({3, 9, 10, 15, 25}, {1, 1, 1, 1, 1});
  for (uint64_t limit = 0; limit < 7; ++limit) {
    TestScanPart part;
    part.GiveAll();
    lab_->SendScan(*route_, {0}, {}, part, limit);
    lab_->Settle();
    EXPECT_EQ(part.outcome(), PartOutcome::kAnswered);
    auto* chunk = part.TakeFilled();
    EXPECT_EQ(chunk == nullptr ? 0 : chunk->rows.rows, std::min<uint64_t>(limit, 5));
  }
}

TEST_F(AeuTest, ABackwardScanGoesOverAllRangesOfTheAeuAndStopsWhereTheyBegin) {
  lab_ = std::make_unique<AeuLab>(memory_, 2);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0, 10, 20}, {{1}, {0}, {0}});
  Upsert({3, 9, 10, 15, 25, 35}, {1, 1, 1, 1, 1, 1});
  TestScanPart part;
  part.GiveAll();
  lab_->SendQuery(*route_, {0}, {Key::FromU64(4), Key::FromU64(30)}, part,
                  {.direction = ScanDirection::kBackward});
  lab_->Settle();
  auto* chunk = part.TakeFilled();
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(std::vector<uint64_t>(chunk->rows.keys, chunk->rows.keys + chunk->rows.rows),
            (std::vector<uint64_t>{25, 15, 10}));
  EXPECT_EQ(part.outcome(), PartOutcome::kMoved);
  ASSERT_TRUE(part.rest());
  EXPECT_EQ(*part.rest(), (Range{Key::FromU64(4), Key::FromU64(10)}));
}

TEST_F(AeuTest, AnAggregateMovesNoChunkAndSaysWhereItsRangesEnd) {
  lab_ = std::make_unique<AeuLab>(memory_, 2);
  client_ = std::make_unique<LabClient>(*lab_);
  route_ = &lab_->Create(0, {1}, {0, 10, 20}, {{0}, {0}, {1}});
  Upsert({3, 9, 10, 15, 25}, {1, 2, 3, 4, 5});
  TestScanPart part;
  lab_->SendQuery(*route_, {0}, {Key::FromU64(4), Key::FromU64(30)}, part, {}, true);
  lab_->Settle();
  EXPECT_EQ(part.ended, 1u);
  EXPECT_EQ(part.outcome(), PartOutcome::kMoved);
  ASSERT_TRUE(part.rest());
  EXPECT_EQ(*part.rest(), (Range{Key::FromU64(20), Key::FromU64(30)}));
  EXPECT_EQ(part.aggregate(), (RangeAggregate{3, 2, 4, 9, 0, 9, 15}));
}

// What passes rows over or adds them up is cut into slices like any other scan.
TEST_F(AeuTest, SlicesOfFiltersAndAggregatesAreBoundedByTheRowsLookedAt) {
  Build(1);
  constexpr uint64_t kRows = 5000;
  for (uint64_t from = 0; from < kRows; from += 500) {
    std::vector<uint64_t> keys(500);
    std::iota(keys.begin(), keys.end(), from);
    Upsert(keys, keys);
  }
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

TEST_F(AeuTest, AnAggregateThatIsCancelledEndsInItsNextTurn) {
  Build(1);
  std::vector<uint64_t> keys(1000);
  std::iota(keys.begin(), keys.end(), 0);
  Upsert(keys, keys);
  TestScanPart part;
  lab_->SendQuery(*route_, {0}, {}, part, {}, true);
  (*lab_)[0].Step({.scan_ns = 0});
  EXPECT_EQ(part.ended, 0u);
  part.SetCancelled();
  (*lab_)[0].Step({.scan_ns = 0});
  EXPECT_EQ(part.ended, 1u);
  EXPECT_EQ(part.outcome(), PartOutcome::kCancelled);
}

class CountedIdleWork final : public IdleWork {
 public:
  bool Run(uint64_t deadline_ns) override {
    EXPECT_GT(deadline_ns, 0u);
    ++runs;
    return left;
  }
  int runs = 0;
  bool left = false;
};

TEST_F(AeuTest, IdleWorkRunsOnlyInTurnsThatFindNothingElse) {
  Build(1);
  CountedIdleWork work;
  (*lab_)[0].SetIdleWork(&work);
  TestReply reply(1);
  client_->Send(*route_, CommandType::kUpsert, {1}, {1}, reply);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(work.runs, 0);
  lab_->Step(0);
  EXPECT_EQ(work.runs, 1);
  EXPECT_FALSE((*lab_)[0].HasWork());
  work.left = true;
  lab_->Step(0);
  EXPECT_EQ(work.runs, 2);
  EXPECT_TRUE((*lab_)[0].HasWork());  // so that the AEU does not sleep
}

}  // namespace
}  // namespace eris::aeu
