// A Port against incoming buffers that the test itself takes from: no AEU. Ports outside the engine
// and multicasts: outside_port_test.cc.
#include "routing/port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "tests/support/seed.h"
#include "tests/support/test_endpoints.h"
#include "tests/support/test_reply.h"
#include "tests/unit/routing/port_records.h"

namespace eris::routing {
namespace {

TEST(PortTest, SplitsByOwnerAndKeepsPositionsAndValues) {
  TestEndpoints endpoints(3, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(3);
  const std::vector<uint64_t> keys{250, 1, 150, ~uint64_t{0}, 99, 100, 1};
  TestReply reply(keys.size());
  EXPECT_EQ(port.Send(*route, Command(CommandType::kUpsert, keys, reply, Numbers(7, 40)),
                      KeyState::kRefused),
            0u);
  EXPECT_TRUE(port.HasBuffered());
  EXPECT_FALSE(endpoints[0].incoming.HasRecords());
  EXPECT_TRUE(port.Flush());
  EXPECT_FALSE(port.HasBuffered());
  const std::vector<std::vector<uint64_t>> expected_keys{
      {1, 99, 1}, {150, 100}, {250, ~uint64_t{0}}};
  const std::vector<std::vector<uint32_t>> expected_positions{{1, 4, 6}, {2, 5}, {0, 3}};
  for (uint32_t aeu = 0; aeu < 3; ++aeu) {
    const auto commands = Take(endpoints[aeu]);
    ASSERT_EQ(commands.size(), 1u);
    const Received& one = commands[0];
    EXPECT_EQ(one.keys, expected_keys[aeu]);
    EXPECT_EQ(one.positions, expected_positions[aeu]);
    for (size_t i = 0; i < one.keys.size(); ++i) EXPECT_EQ(one.values[i], 40 + one.positions[i]);
    EXPECT_EQ(one.header.type, CommandType::kUpsert);
    EXPECT_EQ(one.header.slot, 5u);
    EXPECT_EQ(one.header.object, ObjectId{7});
    EXPECT_EQ(one.header.table_version, 3u);
    EXPECT_EQ(one.header.context, &reply);
  }
}

// Whatever way a command is split, and also after the Port has ended.
TEST(PortTest, KeysSentAreCountedByTheNumaNodesOfBothEnds) {
  TestEndpoints endpoints(6, kHalfBytes, 2);
  const PortRegistry& ports = endpoints.directory().ports();
  PortOptions from_two = kOfAeu;
  from_two.numa_node = NumaNodeId{2};
  std::vector<uint64_t> many(300);
  for (size_t i = 0; i < many.size(); ++i) many[i] = 200 + i;  // AEUs 2 to 4
  TestReply reply(many.size());
  const auto route = RouteTo(6);
  {
    Port zero(endpoints.directory(), kOfAeu);
    Port two(endpoints.directory(), from_two);
    const std::vector<uint64_t> few{1, 2, 3, 550};
    EXPECT_EQ(zero.Send(*route, Command(CommandType::kLookup, few, reply), KeyState::kRefused), 0u);
    EXPECT_EQ(two.Send(*route, Command(CommandType::kLookup, many, reply), KeyState::kRefused), 0u);
    ASSERT_NE(two.Open(AeuId{0}, 8), nullptr);  // a command without keys counts as one
    const CommandHeader* const withdrawn = two.Open(AeuId{0}, 8);
    two.Withdraw(AeuId{0}, withdrawn);
    EXPECT_TRUE(zero.Flush());
    EXPECT_TRUE(two.Flush());
    const SentBetween sent = ports.Sent();
    EXPECT_EQ(sent, (SentBetween{{3, 0, 1}, {}, {1, 200, 100}}));
    EXPECT_EQ(ports.Total().sent, 305u);
  }
  EXPECT_EQ(ports.Sent(), (SentBetween{{3, 0, 1}, {}, {1, 200, 100}}));
}

TEST(PortTest, GivenPositionsTravelWithTheirKeys) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  const std::vector<uint64_t> keys{120, 5, 130};
  const std::vector<uint32_t> positions{9, 4, 2};
  TestReply reply(10);
  KeyedCommand command = Command(CommandType::kErase, keys, reply);
  command.positions = positions;
  EXPECT_EQ(port.Send(*route, command, KeyState::kMoved), 0u);
  ASSERT_TRUE(port.Flush());
  const auto low = Take(endpoints[0]), high = Take(endpoints[1]);
  ASSERT_EQ(low.size(), 1u);
  ASSERT_EQ(high.size(), 1u);
  EXPECT_EQ(low[0].positions, (std::vector<uint32_t>{4}));
  EXPECT_EQ(high[0].positions, (std::vector<uint32_t>{9, 2}));
}

// Every number of keys up to several records: odd counts are padded, none is lost at a record's
// end.
TEST(PortTest, EveryCountArrivesWhole) {
  for (const auto& [type, two_parts] : {std::pair{CommandType::kLookup, false},
                                        {CommandType::kLookup, true},
                                        {CommandType::kUpsert, false},
                                        {CommandType::kUpsert, true},
                                        {CommandType::kCompareAndSet, false},
                                        {CommandType::kCompareAndSet, true}}) {
    for (size_t count = 1; count < 200; ++count) {
      TestEndpoints endpoints(1, 8 * kHalfBytes);
      Port port(endpoints.directory(), kOfAeu);
      const auto route = RouteTo(1);
      TestReply reply(count);
      const auto keys = Numbers(count, 7), values = Numbers(count, 1000),
                 expected = Numbers(count, 2000), seconds = Numbers(count, 3000);
      KeyedCommand command = Command(type, keys, reply, values, expected);
      if (two_parts) command.seconds = seconds;
      ASSERT_EQ(port.Send(*route, command, KeyState::kRefused), 0u);
      ASSERT_TRUE(port.Flush());
      std::vector<uint64_t> got;
      for (const Received& one : Take(endpoints[0])) {
        for (size_t i = 0; i < one.keys.size(); ++i) {
          ASSERT_EQ(one.positions[i], got.size());
          got.push_back(one.keys[i]);
          if (HasValues(type)) {
            ASSERT_EQ(one.values[i], 1000 + one.positions[i]);
          }
          if (HasExpected(type)) {
            ASSERT_EQ(one.expected[i], 2000 + one.positions[i]);
          }
          if (two_parts) {
            ASSERT_EQ(one.seconds[i], 3000 + one.positions[i]);
          }
        }
      }
      ASSERT_EQ(got, keys);
    }
  }
}

TEST(PortTest, AFullTargetHandsItsKeysBackAndOthersGetTheirs) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  FillIncoming(endpoints[1]);
  std::vector<uint64_t> keys;  // in turns to AEU 0 and AEU 1
  for (uint64_t i = 0; i < 400; ++i) keys.push_back(i % 2 == 0 ? i % 100 : 100 + i);
  TestReply reply(keys.size());
  const uint32_t refused =
      port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kMoved);
  EXPECT_FALSE(port.Flush());
  // What fits the outgoing buffer stays there for later; the others came back.
  uint64_t moved = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (reply.state_column[i] == KeyState::kPending) continue;
    EXPECT_EQ(reply.state_column[i], KeyState::kMoved);
    EXPECT_GE(keys[i], 100u);
    ++moved;
  }
  EXPECT_EQ(moved, refused);
  EXPECT_EQ(reply.answered, 0u);  // the caller owes it
  uint64_t arrived = 0;
  for (const Received& one : Take(endpoints[0])) arrived += one.keys.size();
  EXPECT_EQ(arrived, 200u);
  // Once there is room the rest goes over.
  ASSERT_TRUE(endpoints[1].incoming.TryTake());
  EXPECT_TRUE(port.Flush());
  uint64_t late = 0;
  for (const Received& one : Take(endpoints[1])) late += one.keys.size();
  EXPECT_EQ(late + refused, 200u);
  EXPECT_GT(late, 0u);
}

TEST(PortTest, ATargetThatWasFullIsTriedAgainByTheNextSend) {
  TestEndpoints endpoints(1, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(1);
  FillIncoming(endpoints[0]);
  const auto keys = Numbers(500);
  TestReply first(keys.size());
  const uint32_t refused =
      port.Send(*route, Command(CommandType::kLookup, keys, first), KeyState::kMoved);
  EXPECT_GT(refused, 0u);
  ASSERT_TRUE(endpoints[0].incoming.TryTake());
  TestReply second(10);
  const auto few = Numbers(10);
  EXPECT_EQ(port.Send(*route, Command(CommandType::kLookup, few, second), KeyState::kMoved), 0u);
  EXPECT_TRUE(port.Flush());
  uint64_t arrived = 0;
  for (const Received& one : Take(endpoints[0])) arrived += one.keys.size();
  EXPECT_EQ(arrived, keys.size() - refused + 10);
}

TEST(PortTest, ACommandLargerThanAnOutgoingBufferIsRefused) {
  TestEndpoints endpoints(1, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const std::vector<std::byte> segment(kOutgoingBytes - sizeof(CommandHeader) + 8);
  EXPECT_FALSE(port.SendTo({0}, {.type = CommandType::kScan, .object = {7}}, segment));
  EXPECT_FALSE(port.HasBuffered());
  EXPECT_TRUE(port.SendTo({0}, {.type = CommandType::kScan, .object = {7}},
                          std::span(segment).first(segment.size() - 8)));
  EXPECT_TRUE(port.Flush());
}

// More targets than blocks: the pieces go out in several passes, and the pool stays in its bound.
TEST(PortTest, MoreTargetsThanBlocksAreServedInPasses) {
  constexpr uint32_t kTargets = 32;
  TestEndpoints endpoints(kTargets, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(kTargets);
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < 40 * kTargets; ++i) keys.push_back(i * 7919 % (100 * kTargets));
  TestReply reply(keys.size());
  EXPECT_EQ(port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kMoved), 0u);
  EXPECT_TRUE(port.Flush());
  EXPECT_LE(port.allocated_bytes(), kOfAeu.pool_bytes_max);
  std::vector<int> seen(keys.size());
  for (uint32_t aeu = 0; aeu < kTargets; ++aeu) {
    for (const Received& one : Take(endpoints[aeu])) {
      for (size_t i = 0; i < one.keys.size(); ++i) {
        EXPECT_EQ(one.keys[i], keys[one.positions[i]]);
        EXPECT_EQ(std::min(one.keys[i] / 100, uint64_t{kTargets - 1}), aeu);
        ++seen[one.positions[i]];
      }
    }
  }
  EXPECT_EQ(seen, std::vector<int>(keys.size(), 1));
  EXPECT_EQ(port.counters().Read().sent, keys.size());
}

TEST(PortTest, AQueryTravelsWithEveryPieceOfItsCommand) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  const auto keys = Numbers(150);  // several records for AEU 0, with odd counts
  const std::vector<uint64_t> query{11, 22, 33};
  TestReply reply(keys.size());
  KeyedCommand command = Command(CommandType::kLookup, keys, reply);
  command.query = std::as_bytes(std::span(query));
  ASSERT_EQ(port.Send(*route, command, KeyState::kMoved), 0u);
  ASSERT_TRUE(port.Flush());
  uint64_t got = 0;
  for (uint32_t aeu = 0; aeu < 2; ++aeu) {
    const auto taken = endpoints[aeu].incoming.TryTake();
    ASSERT_TRUE(taken);
    ForEachRecord(*taken, [&](const CommandHeader* header) {
      ASSERT_EQ(header->query_bytes, query.size() * 8);
      EXPECT_EQ(header->size_bytes, KeyedRecordBytes(header->type, header->count, 24));
      EXPECT_EQ(std::memcmp(QueryOf(header), query.data(), 24), 0);
      got += header->count;
    });
  }
  EXPECT_EQ(got, keys.size());
}

// Tables of every size, AEUs with several ranges, batches of every size, pools that are too small:
// each key goes once to the AEU that owns it, with its value and position, or comes back; keys of
// one range keep their order.
TEST(PortTest, HoweverACommandIsSplitEachKeyGoesToItsOwnerOnce) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  uint64_t refusals = 0;
  for (int round = 0; round < 600; ++round) {
    const auto aeus = static_cast<uint32_t>(1 + random() % 6);
    const size_t ranges = random() % 4 == 0 ? 1 + random() % 60 : 1 + random() % 12;
    std::vector<uint64_t> starts{0};
    while (starts.size() < ranges) starts.push_back(random() >> (random() % 3 * 30));
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::vector<AeuId> owners;
    for (size_t i = 0; i < starts.size(); ++i) {
      owners.push_back({static_cast<uint32_t>(random() % aeus)});
    }
    TestEndpoints endpoints(aeus, kHalfBytes);
    const ObjectRoute route(5, ObjectId{7}, std::make_unique<RangeTable>(3, starts, owners));
    const auto table = route.Pin();
    const size_t outgoing = random() % 2 == 0 ? 1024 : 16 << 10;
    Port port(endpoints.directory(),
              {.outgoing_bytes = outgoing, .pool_bytes_max = outgoing * (1 + random() % 20)});
    const size_t n = 1 + random() % (random() % 4 == 0 ? 5000 : 300);
    std::vector<uint64_t> keys(n), values(n), expected(n), seconds(n);
    for (uint64_t& second : seconds) second = random();
    for (uint64_t& key : keys) {
      key = random() % 3 == 0 ? starts[random() % starts.size()] + random() % 3 - 1 : random();
    }
    for (uint64_t& value : values) value = random();
    for (uint64_t& value : expected) value = random();
    std::vector<uint32_t> positions(n);
    std::iota(positions.begin(), positions.end(), 0);
    std::shuffle(positions.begin(), positions.end(), random);
    constexpr CommandType kTypes[] = {CommandType::kLookup, CommandType::kUpsert, CommandType::kAdd,
                                      CommandType::kCompareAndSet};
    const CommandType type = kTypes[random() % 4];
    const bool given = random() % 2 == 0, two_parts = random() % 3 == 0;
    TestReply reply(n);
    KeyedCommand command = Command(type, keys, reply);
    if (HasValues(type)) command.values = values;
    if (HasExpected(type)) command.expected = expected;
    if (two_parts) command.seconds = seconds;
    if (given) command.positions = positions;
    const uint32_t refused = port.Send(route, command, KeyState::kRefused);
    refusals += refused;
    port.Flush();
    std::vector<uint32_t> index_of(n);
    for (uint32_t i = 0; i < n; ++i) index_of[given ? positions[i] : i] = i;
    std::vector<int> seen(n);
    for (uint32_t aeu = 0; aeu < aeus; ++aeu) {
      std::vector<int64_t> last_of_range(starts.size(), -1);
      TakeFromBlocks(endpoints[aeu], [&](const CommandHeader* header) {
        const KeyedSegment segment = KeyedSegmentOf(header);
        for (uint32_t i = 0; i < header->count; ++i) {
          const uint32_t at = index_of.at(segment.positions[i]);
          ASSERT_EQ(segment.keys[i], keys[at]);
          if (HasValues(type)) {
            ASSERT_EQ(segment.values[i], values[at]);
          }
          if (HasExpected(type)) {
            ASSERT_EQ(segment.expected[i], expected[at]);
          }
          ASSERT_EQ(segment.seconds != nullptr, two_parts);
          if (two_parts) {
            ASSERT_EQ(segment.seconds[i], seconds[at]);
          }
          const size_t range = table->PartitionOf(keys[at]);
          ASSERT_EQ(owners[range].value, aeu);
          ASSERT_LT(last_of_range[range], at);
          last_of_range[range] = at;
          ++seen[at];
        }
      });
    }
    ASSERT_FALSE(testing::Test::HasFailure());
    uint32_t back = 0;
    for (uint32_t i = 0; i < n; ++i) {
      const bool came_back = reply.state_column[given ? positions[i] : i] == KeyState::kRefused;
      ASSERT_EQ(seen[i], came_back ? 0 : 1);
      back += came_back;
    }
    ASSERT_EQ(back, refused);
  }
  EXPECT_GT(refusals, 0u);
}

// A Port copies a table that it uses again and again: it never splits by what was in force before,
// or by another object's.
TEST(PortTest, EachKeyGoesByItsObjectsNewestTable) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  constexpr uint32_t kAeus = 3;
  TestEndpoints endpoints(kAeus, 64 << 10);
  Port port(endpoints.directory(), kOfAeu);
  const auto table = [&](uint64_t version) {
    std::vector<uint64_t> starts{0};
    std::vector<AeuId> owners{{static_cast<uint32_t>(random() % kAeus)}};
    for (size_t ranges = 1 + random() % 60; starts.size() < ranges;) {
      starts.push_back(starts.back() + 1 + random() % 100);
      owners.push_back({static_cast<uint32_t>(random() % kAeus)});
    }
    return std::make_unique<RangeTable>(version, starts, owners);
  };
  std::vector<std::unique_ptr<ObjectRoute>> routes;
  for (uint32_t i = 0; i < 2; ++i) {
    routes.push_back(std::make_unique<ObjectRoute>(i, ObjectId{i}, table(1)));
  }
  for (int round = 0; round < 3000; ++round) {
    const auto& route = routes[random() % 16 == 0];
    if (random() % 16 == 0) {  // versions of both, so that only the object tells them apart
      for (const auto& one : routes) {
        one->Publish(table(one->Pin()->version() + 1), endpoints.directory().table_readers());
      }
    }
    std::vector<uint64_t> keys(1 + random() % 20);
    for (uint64_t& key : keys) key = random() % 4000;
    TestReply reply(keys.size());
    ASSERT_EQ(port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kRefused),
              0u);
    ASSERT_TRUE(port.Flush());
    size_t arrived = 0;
    for (uint32_t aeu = 0; aeu < kAeus; ++aeu) {
      for (const Received& one : Take(endpoints[aeu])) {
        ASSERT_EQ(one.header.object, route->object());
        ASSERT_EQ(one.header.table_version, route->Pin()->version());
        for (const uint64_t key : one.keys) ASSERT_EQ(route->Pin()->OwnerOf(key).value, aeu);
        arrived += one.keys.size();
      }
    }
    ASSERT_EQ(arrived, keys.size());
    ASSERT_LE(route->versions(), 2u);
  }
}

}  // namespace
}  // namespace eris::routing
