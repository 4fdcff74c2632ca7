// What a request's states say as a whole.
#include "engine/core/request.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/seed.h"

namespace eris::engine {
namespace {

using storage::KeyState;

TEST(RequestTest, SurveysOfTheStatesAgreeWithOneKeyAtATime) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  InFlight all_lanes;
  InFlight::Lane& in_flight = all_lanes.AddLane();
  for (int round = 0; round < 3000; ++round) {
    const auto count = static_cast<uint32_t>(1 + random() % 90);
    ASSERT_TRUE(in_flight.TryEnter());
    Request* request = Request::Create(routing::CommandType::kLookup, count, nullptr, in_flight);
    // Every second one is whole; the others have some of every state.
    const bool whole = round % 2 == 0;
    std::vector<uint32_t> moved;
    std::string bits((count + 7) / 8, '\0');
    uint32_t refused_expected = 0;
    bool all = true;
    for (uint32_t i = 0; i < count; ++i) {
      const auto state = static_cast<KeyState>(whole               ? 1 + random() % 2
                                               : random() % 9 == 0 ? 4 + random() % 5
                                                                   : 1 + random() % 2);
      request->states[i] = state;
      if (state == KeyState::kMoved) moved.push_back(i);
      if (state == KeyState::kPresent) bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
      if (state != KeyState::kPresent && state != KeyState::kAbsent) {
        ++refused_expected;
        all = false;
      }
    }
    EXPECT_EQ(request->AllExecuted(), all);
    EXPECT_EQ(request->MovedPositions(), moved);
    EXPECT_EQ(request->PackPresence(), bits);
    uint32_t refused = 77;
    if (all) {
      EXPECT_TRUE(request->Outcome({}, refused).ok());
      EXPECT_EQ(refused, 0u);
    } else {
      refused = refused_expected;
    }
    EXPECT_EQ(refused, refused_expected);
    request->Unref();
  }
  EXPECT_EQ(all_lanes.count(), 0u);
}

// Which states count as written and as there before, by the operation.
TEST(RequestTest, AppliedExecutedAndPresentFollowTheOperation) {
  using routing::CommandType;
  struct Row {
    KeyState state;
    bool executed, existed, insert, replace, swap, add;
  };
  const std::vector<Row> rows{{KeyState::kAbsent, true, false, true, false, false, true},
                              {KeyState::kPresent, true, true, false, true, true, true},
                              {KeyState::kUnequal, true, true, false, false, false, false},
                              {KeyState::kNoMemory, false, false, false, false, false, false},
                              {KeyState::kMoved, false, false, false, false, false, false},
                              {KeyState::kNoObject, false, false, false, false, false, false},
                              {KeyState::kCancelled, false, false, false, false, false, false},
                              {KeyState::kRefused, false, false, false, false, false, false}};
  const std::vector<std::pair<CommandType, bool Row::*>> applied_of{
      {CommandType::kInsertIfAbsent, &Row::insert},
      {CommandType::kReplaceIfPresent, &Row::replace},
      {CommandType::kCompareAndSet, &Row::swap},
      {CommandType::kAdd, &Row::add}};
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  InFlight all_lanes;
  InFlight::Lane& in_flight = all_lanes.AddLane();
  for (const auto& [type, member] : applied_of) {
    for (int round = 0; round < 200; ++round) {
      const auto count = static_cast<uint32_t>(1 + random() % 40);
      ASSERT_TRUE(in_flight.TryEnter());
      Request* request = Request::Create(type, count, nullptr, in_flight);
      std::vector<uint8_t> applied, existed, executed;
      uint32_t refused_expected = 0;
      for (uint32_t i = 0; i < count; ++i) {
        const Row* row = nullptr;
        do {
          row = &rows[random() % (random() % 2 == 0 ? rows.size() : 3)];
        } while (row->state == KeyState::kUnequal && type != CommandType::kCompareAndSet);
        request->states[i] = row->state;
        applied.push_back(row->*member);
        existed.push_back(row->existed);
        executed.push_back(row->executed);
        refused_expected += !row->executed;
      }
      const auto bits_of = [&](const std::vector<uint8_t>& bytes) {
        std::string bits((count + 7) / 8, '\0');
        for (uint32_t i = 0; i < count; ++i) {
          bits[i / 8] = static_cast<char>(bits[i / 8] | bytes[i] << (i % 8));
        }
        return bits;
      };
      ASSERT_EQ(request->PackApplied(), bits_of(applied));
      ASSERT_EQ(request->PackPresence(), bits_of(existed));
      ASSERT_EQ(request->PackExecuted(), bits_of(executed));
      ASSERT_EQ(request->AllExecuted(), refused_expected == 0);
      // Zeros where nothing has been answered.
      ASSERT_EQ(request->TakeColumns()[0].values, std::string(8 * count, '\0'));
      request->Unref();
    }
  }
  EXPECT_EQ(all_lanes.count(), 0u);
}

}  // namespace
}  // namespace eris::engine
