// AEUs stepped by hand: one turn at a time, and what has become of the commands after it.
#include "aeu/aeu.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <set>
#include <vector>

#include "aeu/state/reserve_more.h"
#include "tests/sim/aeu_peer.h"
#include "tests/unit/aeu/aeu_fixture.h"

namespace eris::aeu {
namespace {

using enum KeyState;

using States = std::vector<KeyState>;

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
  test::LabClient other(*lab_);
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
  test::LabClient other(*lab_);
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
  const ObjectRoute other_slot = Unknown(9, {2}), other_generation = Unknown(0, {2});
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

// Two AEUs whose buffers are full of traffic for each other. Keys come back as moved, and the
// sender sends them again.
class FullBuffersTest : public AeuTest {
 protected:
  // Sends all keys to the wrong AEU in the first rounds. What comes back is sent again, and in the
  // later rounds by the table in force, until each key has been executed. What each was answered.
  States SendUntilExecuted(CommandType type, const std::vector<uint64_t>& keys,
                           const std::vector<uint64_t>& values) {
    Build(2, 4 << 10);
    // As if each had given the other's keys away just now: by the table before they had the wrong
    // ones, and send those on.
    AeuTestPeer::SlotOf((*lab_)[0], *route_)->SetStub(Stub{{{1000, 0}, std::nullopt}, {1}, 2});
    AeuTestPeer::SlotOf((*lab_)[1], *route_)->SetStub(Stub{{{0, 0}, Key{1000, 0}}, {0}, 2});
    const auto stale = OtherTable({0, 1000}, {{1}, {0}});
    TestReply reply(keys.size());
    std::vector<uint32_t> todo(keys.size());
    std::iota(todo.begin(), todo.end(), 0);
    uint64_t sent = 0, moved = 0, executed = 0;
    for (int round = 0; executed < keys.size() && round < 1000; ++round) {
      std::vector<uint64_t> some, their_values;
      for (const uint32_t position : todo) {
        reply.state_column[position] = KeyState::kPending;
        some.push_back(keys[position]);
        their_values.push_back(values[position]);
      }
      sent += some.size();
      const ObjectRoute& route = round < 8 ? *stale : *route_;
      if (!todo.empty()) client_->Send(route, type, some, their_values, reply, todo);
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
    EXPECT_EQ(reply.answered, sent);
    EXPECT_GT(moved, 0u);
    for (uint32_t i = 0; i < 2; ++i) EXPECT_GT((*lab_)[i].counters().forwarded.Read(), 0u);
    return reply.state_column;
  }
};

TEST_F(FullBuffersTest, KeysAreSentBackOnBothSidesAndNothingIsLost) {
  std::vector<uint64_t> keys(1200);
  std::iota(keys.begin(), keys.end(), 400);
  EXPECT_EQ(SendUntilExecuted(CommandType::kUpsert, keys, keys), States(keys.size(), kAbsent))
      << "executed twice";
  for (const uint64_t key : keys) ASSERT_EQ(ValueOf(key), key);
}

// What goes back as moved has not been counted, so that sending it again counts it once.
TEST_F(FullBuffersTest, AnAddThatIsSentBackAndAgainCountsOnce) {
  std::vector<uint64_t> keys(1200), deltas(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = 800 + i % 400;  // three times each
  std::iota(deltas.begin(), deltas.end(), 1);
  SendUntilExecuted(CommandType::kAdd, keys, deltas);
  for (uint64_t i = 0; i < 400; ++i) {
    ASSERT_EQ(ValueOf(800 + i), 3 * (1 + i) + 400 + 800) << "counter " << i;
  }
}

TEST_F(AeuTest, SeveralRangesOfAnObjectAtOneAeu) {
  BuildRanges(2, {0, 10, 20, 30, kKeyMax}, {{0}, {1}, {0}, {1}, {0}});
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
    const LoadBoard& loads = (*lab_)[aeu].loads();
    uint64_t here = 0;
    for (const ObjectLoad& load : loads.All()) {
      EXPECT_EQ(load.partitions.size(), aeu == 0 ? 3u : 2u);
      for (const auto& partition : load.partitions) here += partition->rows();
      EXPECT_EQ(loads.TotalsOf(load.object)->rows, here);
      EXPECT_EQ(loads.TotalsOf(load.object)->memory_bytes, load.memory_bytes);
      EXPECT_GT(load.memory_bytes, 0u);
    }
    ASSERT_EQ(loads.Totals().size(), 1u);
    EXPECT_EQ(loads.Totals()[0].rows, here);
    EXPECT_FALSE(loads.TotalsOf(ObjectId{12'345}).has_value());
    rows += here;
  }
  EXPECT_EQ(rows, keys.size());
}

TEST_F(AeuTest, LoadsAreOfAllRangesWhateverTheOrderOfTheInstalls) {
  BuildRanges(1, {0, 10, 20, 30}, {{0}, {0}, {0}, {0}});
  lab_->Install(*route_, {0}, {Key::FromU64(15), Key::FromU64(16)});
  const std::vector<ObjectLoad> loads = (*lab_)[0].loads().All();
  ASSERT_EQ(loads.size(), 1u);
  std::set<uint64_t> starts;
  for (const auto& partition : loads[0].partitions) starts.insert(partition->lo());
  EXPECT_EQ(starts, (std::set<uint64_t>{0, 10, 15, 20, 30}));
  EXPECT_EQ(loads[0].partitions.size(), starts.size());
}

TEST_F(AeuTest, KeysThatFindNoMemoryToBeSortedAreAnsweredSo) {
  BuildRanges(1, {0, 10}, {{0}, {0}});
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
  BuildRanges(2, {0}, {{0}});
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
  BuildRanges(1, {0}, {{0}});
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
  TestReply drop(1);
  const ObjectRoute other = Unknown(4, {8});
  lab_->SendDrop(other, {0}, drop);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(drop.state_column, States{kAbsent});
  EXPECT_EQ(drop.answered, 1u);
}

class CountedIdleWork final : public IdleWork {
 public:
  bool Run(uint64_t deadline_ns) override {
    EXPECT_GT(deadline_ns, 0u);
    ++runs;
    return left > 0 && left-- > 0;
  }
  bool HasWork() const override { return left > 0; }
  int runs = 0;
  int left = 0;
};

TEST_F(AeuTest, IdleWorkRunsOnlyInTurnsThatFindNothingElse) {
  Build(1);
  CountedIdleWork work;
  (*lab_)[0].SetIdleWork(&work);
  TestReply reply(1);
  client_->Send(*route_, CommandType::kUpsert, {1}, {1}, reply);
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ(work.runs, 0);
  EXPECT_FALSE(lab_->Step(0));
  EXPECT_EQ(work.runs, 1);
  EXPECT_FALSE((*lab_)[0].HasWork());
  (*lab_)[0].SetIdleWork(nullptr);
}

TEST_F(AeuTest, IdleWorkIsWork) {
  Build(1);
  CountedIdleWork work;
  (*lab_)[0].SetIdleWork(&work);
  lab_->Settle();
  work.left = 1;
  EXPECT_TRUE((*lab_)[0].HasWork());  // so that the AEU does not sleep
  const uint64_t turns = (*lab_)[0].counters().turns.Read();
  const uint64_t busy_ns = (*lab_)[0].counters().busy_ns.Read();
  EXPECT_TRUE(lab_->Step(0));
  EXPECT_EQ((*lab_)[0].counters().turns.Read(), turns + 1);
  EXPECT_GT((*lab_)[0].counters().busy_ns.Read(), busy_ns);
  // And it sleeps, rather than to ask again and again, as soon as there is none.
  EXPECT_FALSE((*lab_)[0].HasWork());
  EXPECT_FALSE(lab_->Step(0));
  (*lab_)[0].SetIdleWork(nullptr);
}

}  // namespace
}  // namespace eris::aeu
