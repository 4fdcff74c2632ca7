// A Port with keys of two parts: the second parts go where their firsts go.
#include <gtest/gtest.h>

#include <vector>

#include "routing/port.h"
#include "tests/unit/routing/port_records.h"

namespace eris::routing {
namespace {

TEST(TwoPartPortTest, SecondPartsGoWithTheirFirstsWhichAloneSayWhere) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  const std::vector<uint64_t> keys{150, 1, 150, 99, 100}, seconds{7, ~uint64_t{0}, 6, 500, 0};
  const std::vector<uint64_t> values{40, 41, 42, 43, 44}, expected{80, 81, 82, 83, 84};
  for (const CommandType type :
       {CommandType::kErase, CommandType::kUpsert, CommandType::kCompareAndSet}) {
    TestReply reply(keys.size());
    EXPECT_EQ(port.Send(*route, Command(type, keys, reply, values, expected, seconds),
                        KeyState::kRefused),
              0u);
    EXPECT_TRUE(port.Flush());
    const auto low = Take(endpoints[0]), high = Take(endpoints[1]);
    ASSERT_EQ(low.size(), 1u);
    ASSERT_EQ(high.size(), 1u);
    EXPECT_EQ(low[0].header.key_parts, 2);
    EXPECT_EQ(high[0].header.key_parts, 2);
    EXPECT_EQ(low[0].keys, (std::vector<uint64_t>{1, 99}));
    EXPECT_EQ(low[0].seconds, (std::vector<uint64_t>{~uint64_t{0}, 500}));
    EXPECT_EQ(high[0].keys, (std::vector<uint64_t>{150, 150, 100}));
    EXPECT_EQ(high[0].seconds, (std::vector<uint64_t>{7, 6, 0}));
    EXPECT_EQ(high[0].positions, (std::vector<uint32_t>{0, 2, 4}));
    if (HasValues(type)) {
      EXPECT_EQ(high[0].values, (std::vector<uint64_t>{40, 42, 44}));
    }
    if (HasExpected(type)) {
      EXPECT_EQ(high[0].expected, (std::vector<uint64_t>{80, 82, 84}));
    }
  }
}

TEST(TwoPartPortTest, OfTwoPartKeysThatFindNoRoomTheIndicesComeBack) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  FillIncoming(endpoints[1]);
  std::vector<uint64_t> keys, seconds;
  std::vector<uint32_t> positions;
  for (uint32_t i = 0; i < 400; ++i) {
    keys.push_back(i % 2 == 0 ? 7 : 107), seconds.push_back(5000 + i), positions.push_back(399 - i);
  }
  TestReply reply(keys.size());
  KeyedCommand command = Command(CommandType::kLookup, keys, reply, {}, {}, seconds);
  command.positions = positions;
  const uint32_t refused = port.Send(*route, command, KeyState::kMoved);
  ASSERT_GT(refused, 0u);
  ASSERT_EQ(port.refused_keys().size(), refused);
  std::vector<int> seen(keys.size());
  for (const uint32_t key : port.refused_keys()) {
    EXPECT_EQ(keys[key], 107u);
    EXPECT_EQ(reply.state_column[positions[key]], KeyState::kMoved);
    ++seen[key];
  }
  EXPECT_FALSE(port.Flush());
  const auto look = [&](uint32_t aeu) {
    for (const Received& one : Take(endpoints[aeu])) {
      for (size_t i = 0; i < one.keys.size(); ++i) {
        const uint32_t key = 399 - one.positions[i];
        EXPECT_EQ(one.keys[i], keys[key]);
        EXPECT_EQ(one.seconds[i], seconds[key]);
        ++seen[key];
      }
    }
  };
  look(0);
  ASSERT_TRUE(endpoints[1].incoming.TryTake());
  EXPECT_TRUE(port.Flush());
  look(0);  // what its incoming buffer had no room for
  look(1);
  EXPECT_EQ(seen, std::vector<int>(keys.size(), 1));
}

}  // namespace
}  // namespace eris::routing
