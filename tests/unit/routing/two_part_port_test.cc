// A Port with keys of two parts: the second parts go where their firsts go.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "routing/port.h"
#include "tests/support/test_endpoints.h"
#include "tests/support/test_reply.h"

namespace eris::routing {
namespace {

using storage::KeyState;
using test::TestEndpoints;
using test::TestReply;

constexpr size_t kHalfBytes = 4096;
constexpr size_t kOutgoingBytes = 1024;
// An AEU's Port; the memory of four outgoing buffers.
constexpr PortOptions kOfAeu{.way = PortOptions::Way::kIncoming,
                             .outgoing_bytes = kOutgoingBytes,
                             .pool_bytes_max = 4 * kOutgoingBytes};

// AEU i owns [100 i, 100 (i + 1)); the last one all above.
std::unique_ptr<ObjectRoute> RouteTo(uint32_t aeus) {
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners;
  for (uint32_t i = 0; i < aeus; ++i) starts.push_back(100 * i), owners.push_back({i});
  return std::make_unique<ObjectRoute>(5, ObjectId{7},
                                       std::make_unique<RangeTable>(3, starts, owners));
}

struct Received {
  std::vector<uint64_t> keys, values, expected, seconds;
  std::vector<uint32_t> positions;
};

std::vector<Received> Take(AeuEndpoint& endpoint) {
  std::vector<Received> commands;
  const auto taken = endpoint.incoming.TryTake();
  if (!taken) return commands;
  for (std::span<const std::byte> rest = *taken; !rest.empty();) {
    const auto* header = reinterpret_cast<const CommandHeader*>(rest.data());
    EXPECT_EQ(header->key_parts, 2);
    EXPECT_EQ(header->size_bytes, KeyedRecordBytes(header->type, header->count, 0, 2));
    EXPECT_LE(header->size_bytes, kOutgoingBytes);
    const KeyedSegment segment = KeyedSegmentOf(header);
    const auto column = [&]<class Number>(const Number* from) {
      return from == nullptr ? std::vector<Number>()
                             : std::vector<Number>(from, from + header->count);
    };
    commands.push_back({column(segment.keys), column(segment.values), column(segment.expected),
                        column(segment.seconds), column(segment.positions)});
    rest = rest.subspan(header->size_bytes);
  }
  return commands;
}

void FillIncoming(AeuEndpoint& endpoint) {
  const std::vector<std::byte> half(endpoint.incoming.half_bytes());
  ASSERT_TRUE(endpoint.incoming.TryWrite(half));
}

KeyedCommand Command(CommandType type, const std::vector<uint64_t>& keys,
                     const std::vector<uint64_t>& seconds, TestReply& reply) {
  return {.type = type,
          .keys = keys,
          .complete = &TestReply::Answered,
          .context = &reply,
          .seconds = seconds};
}

TEST(TwoPartPortTest, SecondPartsGoWithTheirFirstsWhichAloneSayWhere) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const auto route = RouteTo(2);
  const std::vector<uint64_t> keys{150, 1, 150, 99, 100}, seconds{7, ~uint64_t{0}, 6, 500, 0};
  const std::vector<uint64_t> values{40, 41, 42, 43, 44}, expected{80, 81, 82, 83, 84};
  for (const CommandType type :
       {CommandType::kErase, CommandType::kUpsert, CommandType::kCompareAndSet}) {
    TestReply reply(keys.size());
    KeyedCommand command = Command(type, keys, seconds, reply);
    command.values = values;
    command.expected = expected;
    EXPECT_EQ(port.Send(*route, command, KeyState::kRefused), 0u);
    EXPECT_TRUE(port.Flush());
    const auto low = Take(endpoints[0]), high = Take(endpoints[1]);
    ASSERT_EQ(low.size(), 1u);
    ASSERT_EQ(high.size(), 1u);
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
  KeyedCommand command = Command(CommandType::kLookup, keys, seconds, reply);
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
