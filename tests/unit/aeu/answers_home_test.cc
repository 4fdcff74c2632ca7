// Answers travel in the block that brought the keys: what an AEU touches meanwhile, when the block
// goes home, and what its sender then reads.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "aeu/aeu.h"
#include "base/check.h"
#include "routing/answers.h"
#include "routing/block_allowance.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/test_home.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using storage::KeyState;

constexpr uint64_t kUpper = uint64_t{1} << 63;  // the second AEU's range begins here
constexpr uint32_t kKeys = 300;                 // more than a group

// A reply whose columns nobody can read or write until they are opened.
struct ClosedReply final : routing::Reply {
  ClosedReply() : bytes(static_cast<size_t>(getpagesize())) {
    page = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ERIS_CHECK(page != MAP_FAILED && kKeys * (sizeof *values + sizeof *states) <= bytes);
    values = static_cast<uint64_t*>(page);
    states = reinterpret_cast<KeyState*>(values + kKeys);
  }
  ~ClosedReply() { munmap(page, bytes); }
  void Open() { ERIS_CHECK(mprotect(page, bytes, PROT_READ | PROT_WRITE) == 0); }
  static void Answered(routing::Reply* reply, uint32_t keys) noexcept {
    static_cast<ClosedReply*>(reply)->answered += keys;
  }

  const size_t bytes;
  void* page = nullptr;
  uint32_t answered = 0;
};

class AnswersHomeTest : public testing::TestWithParam<ObjectKind> {
 protected:
  static routing::InstallSegment OfKind() {
    routing::InstallSegment segment;
    segment.kind = GetParam();
    return segment;
  }
  static routing::PortOptions WithHome(routing::PortOptions options, test::TestHome& home) {
    options.home = &home.blocks();
    return options;
  }
  void Send(CommandType type, const std::vector<uint64_t>& keys,
            const std::vector<uint64_t>& values, routing::Reply& reply,
            routing::CompletionFunction complete, const std::vector<uint64_t>& expected = {}) {
    ASSERT_EQ(port_.Send(route_,
                         {.type = type,
                          .keys = keys,
                          .values = values,
                          .complete = complete,
                          .context = &reply,
                          .expected = expected,
                          .answers = routing::AnswersTo::kRecord},
                         KeyState::kRefused),
              0u);
  }
  // What the operation answers for all keys, with the reply closed while AEUs work.
  void Run(CommandType type, const std::vector<uint64_t>& values,
           const std::vector<uint64_t>& expected = {}) {
    ClosedReply reply;
    Send(type, keys_, values, reply, &ClosedReply::Answered, expected);
    port_.Flush();
    lab_.Settle();
    EXPECT_EQ(reply.answered, 0u) << "before somebody has taken the blocks home";
    EXPECT_TRUE(home_.told());
    reply.Open();
    EXPECT_TRUE(home_.Collect());
    EXPECT_EQ(reply.answered, kKeys);
    states_.assign(reply.states, reply.states + kKeys);
    values_.assign(reply.values, reply.values + kKeys);
  }
  uint64_t ValueOf(uint32_t i) const { return keys_[i] * 3 + 1; }
  // Every third key is in the object.
  bool Stored(uint32_t i) const { return i % 3 == 0; }

  void SetUp() override {
    for (uint32_t i = 0; i < kKeys; ++i) {
      keys_.push_back((i % 2 == 0 ? 0 : kUpper) + uint64_t{i} * 7919 + 5);
    }
    std::vector<uint64_t> some, values;
    for (uint32_t i = 0; i < kKeys; ++i) {
      if (!Stored(i)) continue;
      some.push_back(keys_[i]);
      values.push_back(ValueOf(i));
    }
    test::TestReply reply(some.size());
    client_.Send(route_, CommandType::kUpsert, some, values, reply);
    lab_.Settle();
    ASSERT_EQ(reply.answered, some.size());
  }

  test::LabMemory memory_;
  test::TestHome home_;
  test::AeuLab lab_{memory_, 2};
  test::LabClient client_{lab_};
  routing::ObjectRoute& route_ = lab_.Create(0, {1}, {0, kUpper}, {{0}, {1}}, OfKind());
  routing::Port port_{lab_.directory(), WithHome(lab_.port_options(), home_)};
  std::vector<uint64_t> keys_;
  std::vector<KeyState> states_;
  std::vector<uint64_t> values_;
};

TEST_P(AnswersHomeTest, NoAeuTouchesTheColumnsOfARequest) {
  const std::vector<uint64_t> ones(kKeys, 1);
  Run(CommandType::kLookup, {});
  for (uint32_t i = 0; i < kKeys; ++i) {
    ASSERT_EQ(states_[i], Stored(i) ? KeyState::kPresent : KeyState::kAbsent) << i;
    ASSERT_EQ(values_[i], Stored(i) ? ValueOf(i) : 0) << i;
  }
  std::vector<uint64_t> expected, desired;
  for (uint32_t i = 0; i < kKeys; ++i) {
    expected.push_back(i % 2 == 0 ? ValueOf(i) : 0);
    desired.push_back(ValueOf(i) + 1);
  }
  Run(CommandType::kCompareAndSet, desired, expected);
  for (uint32_t i = 0; i < kKeys; ++i) {
    const KeyState there = i % 2 == 0 ? KeyState::kPresent : KeyState::kUnequal;
    ASSERT_EQ(states_[i], Stored(i) ? there : KeyState::kAbsent) << i;
    ASSERT_EQ(values_[i], Stored(i) ? ValueOf(i) : 0) << i;
  }
  Run(CommandType::kAdd, ones);
  for (uint32_t i = 0; i < kKeys; ++i) {
    const uint64_t before = Stored(i) ? ValueOf(i) + (i % 2 == 0) : 0;
    ASSERT_EQ(states_[i], Stored(i) ? KeyState::kPresent : KeyState::kAbsent) << i;
    ASSERT_EQ(values_[i], before + 1) << i;
  }
  Run(CommandType::kUpsert, desired);
  EXPECT_EQ(states_, std::vector<KeyState>(kKeys, KeyState::kPresent));
  Run(CommandType::kInsertIfAbsent, ones);
  EXPECT_EQ(values_, desired);
  Run(CommandType::kReplaceIfPresent, ones);
  EXPECT_EQ(values_, desired);
  Run(CommandType::kErase, {});
  EXPECT_EQ(states_, std::vector<KeyState>(kKeys, KeyState::kPresent));
  Run(CommandType::kReplaceIfPresent, ones);
  EXPECT_EQ(states_, std::vector<KeyState>(kKeys, KeyState::kAbsent));
  EXPECT_EQ(values_, std::vector<uint64_t>(kKeys, 0));
  EXPECT_EQ(port_.outstanding(), 0u);
}

TEST_P(AnswersHomeTest, ABlockGoesHomeOnceAllItsCommandsAreExecuted) {
  test::TestReply first(1), second(2);
  Send(CommandType::kLookup, {keys_[0]}, {}, first, &test::TestReply::Answered);
  Send(CommandType::kLookup, {keys_[2], keys_[1]}, {}, second, &test::TestReply::Answered);
  port_.Flush();
  EXPECT_FALSE(home_.Collect());
  EXPECT_TRUE(lab_.Step(0));
  EXPECT_TRUE(home_.Collect());
  EXPECT_EQ(first.answered, 1u);
  EXPECT_EQ(second.answered, 1u) << "the other AEU has not turned";
  EXPECT_EQ(port_.outstanding(), 1u);
  EXPECT_FALSE(home_.told());
  EXPECT_TRUE(lab_.Step(1));
  EXPECT_TRUE(home_.told());
  EXPECT_TRUE(home_.Collect());
  EXPECT_EQ(second.answered, 2u);
  EXPECT_EQ(port_.outstanding(), 0u);
}

TEST_P(AnswersHomeTest, WhatIsNotExecutedSaysSo) {
  test::TestReply cancelled(3), gone(1);
  cancelled.SetCancelled();
  Send(CommandType::kLookup, {keys_[0], keys_[1], keys_[2]}, {}, cancelled,
       &test::TestReply::Answered);
  port_.Flush();
  lab_.Settle();
  test::TestReply dropped(1);
  lab_.SendDrop(route_, {0}, dropped);
  lab_.Settle();
  Send(CommandType::kLookup, {keys_[0]}, {}, gone, &test::TestReply::Answered);
  port_.Flush();
  lab_.Settle();
  EXPECT_TRUE(home_.Collect());
  EXPECT_EQ(cancelled.state_column, std::vector<KeyState>(3, KeyState::kCancelled));
  EXPECT_EQ(cancelled.value_column, std::vector<uint64_t>(3, 0));
  EXPECT_EQ(gone.state_column, std::vector<KeyState>{KeyState::kNoObject});
}

// Blocks that are executed and not taken home use up what other Ports may have.
TEST_P(AnswersHomeTest, ACallThatWaitsForRoomTakesHomeWhatOthersHaveOut) {
  struct Both final : routing::AnswerCollector {
    void CollectAll() noexcept override {
      for (test::TestHome* const home : homes) home->Collect();
    }
    std::vector<test::TestHome*> homes;
  } both;
  test::TestHome idle_home, home;
  both.homes = {&idle_home, &home};
  routing::BlockAllowance allowance(lab_.port_options().outgoing_bytes);
  const auto options_of = [&](test::TestHome& of) {
    routing::PortOptions options = WithHome(lab_.port_options(), of);
    options.allowance = &allowance;
    options.collector = &both;
    return options;
  };
  routing::Port idle(lab_.directory(), options_of(idle_home));
  routing::PortOptions waiting = options_of(home);
  waiting.wait_ns = 1'000'000'000;
  routing::Port port(lab_.directory(), waiting);
  const auto lookup = [&](routing::Port& by, test::TestReply& reply) {
    return by.Send(route_,
                   {.keys = {keys_.data(), reply.state_column.size()},
                    .complete = &test::TestReply::Answered,
                    .context = &reply,
                    .answers = routing::AnswersTo::kRecord},
                   KeyState::kRefused);
  };
  // Until nothing is left, and all of it is executed.
  std::vector<std::unique_ptr<test::TestReply>> replies;
  uint32_t refused = 0;
  for (int i = 0; i < 1000 && refused == 0; ++i) {
    replies.push_back(std::make_unique<test::TestReply>(64));
    refused = lookup(idle, *replies.back());
    idle.Flush();
  }
  ASSERT_GT(refused, 0u);
  lab_.Settle();
  ASSERT_TRUE(idle_home.told());
  ASSERT_EQ(replies.front()->answered, 0u);

  routing::PortOptions alone_options = waiting;
  alone_options.collector = nullptr;
  alone_options.wait_ns = 1'000'000;
  routing::Port alone(lab_.directory(), alone_options);
  test::TestReply none(64);
  EXPECT_EQ(lookup(alone, none), 64u) << "who takes home only his own";

  test::TestReply reply(64);
  EXPECT_EQ(lookup(port, reply), 0u);
  EXPECT_EQ(replies.front()->answered, 64u);
  port.Flush();
  lab_.Settle();
  EXPECT_TRUE(home.Collect());
  EXPECT_EQ(reply.answered, 64u);
  idle_home.Collect();
}

INSTANTIATE_TEST_SUITE_P(All, AnswersHomeTest,
                         testing::Values(ObjectKind::kIndex, ObjectKind::kHash),
                         [](const auto& kind) {
                           return kind.param == ObjectKind::kIndex ? "Index" : "Hash";
                         });

}  // namespace
}  // namespace eris::aeu
