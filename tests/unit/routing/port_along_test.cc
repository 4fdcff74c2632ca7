// Keys that a Port sends along a stub, the order of what it sends to one target, and records taken
// back: what a range that changes hands relies on.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "routing/port.h"
#include "tests/support/seed.h"
#include "tests/unit/routing/port_records.h"

namespace eris::routing {
namespace {

TEST(PortAlongTest, KeysSentAlongGoToOneAeuWhateverTheTableSays) {
  TestEndpoints endpoints(3, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(3);
  // More than a record holds, of all three AEUs.
  std::vector<uint64_t> keys = Numbers(100, 60);
  keys.push_back(~uint64_t{0});
  keys.push_back(0);
  TestReply reply(keys.size());
  KeyedCommand command = Command(CommandType::kCompareAndSet, keys, reply, keys, keys);
  EXPECT_EQ(port.SendAlong({2}, 9, *route, command, KeyState::kMoved), 0u);
  EXPECT_TRUE(port.Flush());
  EXPECT_TRUE(Take(endpoints[0]).empty());
  EXPECT_TRUE(Take(endpoints[1]).empty());
  std::vector<uint64_t> taken, values, expected;
  std::vector<uint32_t> positions;
  const auto commands = Take(endpoints[2]);
  EXPECT_GT(commands.size(), 1u);
  for (const Received& one : commands) {
    EXPECT_EQ(one.header.table_version, 9u);
    taken.insert(taken.end(), one.keys.begin(), one.keys.end());
    values.insert(values.end(), one.values.begin(), one.values.end());
    expected.insert(expected.end(), one.expected.begin(), one.expected.end());
    positions.insert(positions.end(), one.positions.begin(), one.positions.end());
  }
  EXPECT_EQ(taken, keys);
  EXPECT_EQ(values, keys);
  EXPECT_EQ(expected, keys);
  std::vector<uint32_t> all(keys.size());
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(positions, all);
}

TEST(PortAlongTest, KeysSentAlongThatFindNoRoomAreAnswered) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  FillIncoming(endpoints[1]);
  const std::vector<uint64_t> keys = Numbers(200);
  TestReply reply(keys.size());
  const uint32_t refused =
      port.SendAlong({1}, 4, *route, Command(CommandType::kLookup, keys, reply), KeyState::kMoved);
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, 200u);
  const auto moved =
      std::count(reply.state_column.begin(), reply.state_column.end(), KeyState::kMoved);
  EXPECT_EQ(static_cast<uint32_t>(moved), refused);
  EXPECT_EQ(port.refused_keys().size(), refused);
  // What was buffered goes when there is room; a later Send is not disturbed by what was left.
  EXPECT_TRUE(endpoints[1].incoming.TryTake());
  TestReply later(1);
  EXPECT_EQ(port.Send(*route, Command(CommandType::kLookup, {7}, later), KeyState::kMoved), 0u);
  EXPECT_TRUE(port.Flush());
  size_t sent = 0;
  for (const Received& one : Take(endpoints[1])) sent += one.keys.size();
  EXPECT_EQ(sent, 200u - refused);
  EXPECT_EQ(Take(endpoints[0]).size(), 1u);
}

// Whichever call they came by: by the table, along a stub, by themselves, as a reference to the
// multicast buffer; with records that open a new buffer in between.
TEST(PortAlongTest, OneTargetsCommandsKeepTheOrderOfTheCalls) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 50; ++round) {
    TestEndpoints endpoints(2, kHalfBytes);
    Port port(endpoints.directory(), kOfAeu);
    const auto route = RouteTo(2);
    TestReply reply(64);
    std::vector<uint64_t> order, seen;
    const auto drain = [&] {
      const auto taken = endpoints[1].incoming.TryTake();
      if (!taken) return;
      ForEachRecord(*taken, [&](const CommandHeader* header) {
        if (header->type == CommandType::kMulticast) {
          const auto* segment = reinterpret_cast<const MulticastSegment*>(DataSegment(header));
          seen.push_back(segment->command->snapshot);
          BlockPool::Release(segment->block);
        } else if (seen.empty() || !IsKeyed(header->type) || seen.back() != header->snapshot) {
          seen.push_back(header->snapshot);  // a command's records count once
        }
      });
    };
    for (uint64_t number = 1; number <= 40; ++number) {
      const std::vector<uint64_t> keys(1 + random() % 60, 150);
      KeyedCommand command = Command(CommandType::kLookup, keys, reply);
      command.snapshot = number;
      CommandHeader header;
      header.type = CommandType::kHandOver;
      header.snapshot = number;
      const std::vector<std::byte> segment(16);
      switch (random() % 4) {
        case 0:
          if (port.Send(*route, command, KeyState::kMoved) == keys.size()) continue;
          break;
        case 1:
          if (port.SendAlong({1}, 4, *route, command, KeyState::kMoved) == keys.size()) continue;
          break;
        case 2:
          if (!port.SendTo({1}, header, segment)) continue;
          break;
        default: {
          const std::vector<AeuId> targets{{1}};
          std::vector<AeuId> refused;
          port.Multicast(targets, header, segment, refused);
          if (!refused.empty()) continue;
        }
      }
      order.push_back(number);
      if (random() % 6 == 0) drain();  // else its buffers fill up
      if (random() % 6 == 0) port.Flush();
    }
    while (!port.Flush()) drain();
    drain();
    drain();
    ASSERT_EQ(seen, order);
  }
}

TEST(PortAlongTest, ARecordCanBeTakenBack) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  // As the only one, and behind others.
  port.Withdraw({1}, port.Open({1}, 16));
  EXPECT_EQ(port.counters().Read().sent, 0u);
  EXPECT_TRUE(port.Flush());
  EXPECT_TRUE(Take(endpoints[1]).empty());
  TestReply reply(1);
  EXPECT_EQ(port.Send(*route, Command(CommandType::kLookup, {150}, reply), KeyState::kMoved), 0u);
  port.Withdraw({1}, port.Open({1}, 16));
  CommandHeader* kept = port.Open({1}, 16);
  ASSERT_NE(kept, nullptr);
  kept->type = CommandType::kHandOver;
  EXPECT_TRUE(port.Flush());
  EXPECT_EQ(port.counters().Read().sent, 2u);
  const auto commands = Take(endpoints[1]);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0].keys, std::vector<uint64_t>{150});
  EXPECT_EQ(commands[1].header.type, CommandType::kHandOver);
}

}  // namespace
}  // namespace eris::routing
