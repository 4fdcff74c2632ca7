// A Port against incoming buffers that the test itself takes from: no AEU.
#include "routing/port.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "tests/support/test_endpoints.h"
#include "tests/support/test_reply.h"

namespace eris::routing {
namespace {

using storage::KeyState;
using test::TestEndpoints;
using test::TestReply;
using test::TestScanPart;

constexpr size_t kHalfBytes = 4096;
constexpr size_t kOutgoingBytes = 1024;
constexpr int64_t kNoWait = 0;

// AEU i owns [100 i, 100 (i + 1)); the last one all above.
std::unique_ptr<ObjectRoute> RouteTo(uint32_t aeus) {
  std::vector<uint64_t> starts;
  std::vector<AeuId> owners;
  for (uint32_t i = 0; i < aeus; ++i) starts.push_back(100 * i), owners.push_back({i});
  return std::make_unique<ObjectRoute>(5, ObjectId{7},
                                       std::make_unique<RangeTable>(3, starts, owners));
}

struct Received {
  CommandHeader header;
  std::vector<uint64_t> keys;
  std::vector<uint64_t> values;
  std::vector<uint32_t> positions;
};

std::vector<Received> Take(AeuEndpoint& endpoint) {
  std::vector<Received> commands;
  const auto taken = endpoint.incoming.TryTake();
  if (!taken) return commands;
  for (std::span<const std::byte> rest = *taken; !rest.empty();) {
    const auto* header = reinterpret_cast<const CommandHeader*>(rest.data());
    EXPECT_EQ(header->size_bytes % 8, 0u);
    Received one;
    one.header = *header;
    if (IsKeyed(header->type)) {
      EXPECT_EQ(header->size_bytes, KeyedRecordBytes(header->type, header->count));
      EXPECT_LE(header->size_bytes, kOutgoingBytes);
      const KeyedSegment segment = KeyedSegmentOf(header);
      one.keys.assign(segment.keys, segment.keys + header->count);
      one.positions.assign(segment.positions, segment.positions + header->count);
      if (segment.values != nullptr) {
        one.values.assign(segment.values, segment.values + header->count);
      }
    }
    commands.push_back(std::move(one));
    rest = rest.subspan(header->size_bytes);
  }
  return commands;
}

void FillIncoming(AeuEndpoint& endpoint) {
  const std::vector<std::byte> half(endpoint.incoming.half_bytes());
  ASSERT_TRUE(endpoint.incoming.TryWrite(half));
}

KeyedCommand Command(CommandType type, const std::vector<uint64_t>& keys, TestReply& reply,
                     const std::vector<uint64_t>& values = {}) {
  return {.type = type,
          .keys = keys,
          .values = values,
          .complete = &TestReply::Answered,
          .context = &reply};
}

std::vector<uint64_t> Numbers(size_t n, uint64_t from = 0) {
  std::vector<uint64_t> numbers(n);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

TEST(PortTest, SplitsByOwnerAndKeepsPositionsAndValues) {
  TestEndpoints endpoints(3, kHalfBytes);
  Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
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

TEST(PortTest, GivenPositionsTravelWithTheirKeys) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
  const auto route = RouteTo(2);
  const std::vector<uint64_t> keys{120, 5, 130};
  const std::vector<uint32_t> positions{9, 4, 2};
  TestReply reply(10);
  KeyedCommand command = Command(CommandType::kErase, keys, reply);
  command.positions = positions;
  command.hops = 3;
  EXPECT_EQ(port.Send(*route, command, KeyState::kMoved), 0u);
  ASSERT_TRUE(port.Flush());
  const auto low = Take(endpoints[0]), high = Take(endpoints[1]);
  ASSERT_EQ(low.size(), 1u);
  ASSERT_EQ(high.size(), 1u);
  EXPECT_EQ(low[0].positions, (std::vector<uint32_t>{4}));
  EXPECT_EQ(high[0].positions, (std::vector<uint32_t>{9, 2}));
  EXPECT_EQ(high[0].header.hops, 3u);
}

// Every number of keys up to several records: odd counts are padded, none is lost at a record's
// end.
TEST(PortTest, EveryCountArrivesWhole) {
  for (const CommandType type : {CommandType::kLookup, CommandType::kUpsert}) {
    for (size_t count = 1; count < 200; ++count) {
      TestEndpoints endpoints(1, 8 * kHalfBytes);
      Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
      const auto route = RouteTo(1);
      TestReply reply(count);
      const auto keys = Numbers(count, 7), values = Numbers(count, 1000);
      ASSERT_EQ(port.Send(*route, Command(type, keys, reply, values), KeyState::kRefused), 0u);
      ASSERT_TRUE(port.Flush());
      std::vector<uint64_t> got;
      for (const Received& one : Take(endpoints[0])) {
        for (size_t i = 0; i < one.keys.size(); ++i) {
          ASSERT_EQ(one.positions[i], got.size());
          got.push_back(one.keys[i]);
          if (type == CommandType::kUpsert) {
            ASSERT_EQ(one.values[i], 1000 + one.positions[i]);
          }
        }
      }
      ASSERT_EQ(got, keys);
    }
  }
}

TEST(PortTest, AFullTargetHandsItsKeysBackAndOthersGetTheirs) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
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
  Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
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

TEST(PortTest, RefuseBufferedAnswersEveryCommandOnce) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
  const auto route = RouteTo(2);
  FillIncoming(endpoints[0]);
  const std::vector<uint64_t> keys{1, 120, 2, 3, 130};
  TestReply keyed(keys.size());
  ASSERT_EQ(port.Send(*route, Command(CommandType::kErase, keys, keyed), KeyState::kRefused), 0u);
  TestReply control(2);
  TestScanPart part;
  const auto send = [&](CommandType type, Reply* context, CompletionFunction complete,
                        const auto& segment) {
    const CommandHeader header{.type = type,
                               .slot = 5,
                               .object = {7},
                               .complete = complete,
                               .context = context,
                               .count = 1};
    return port.SendTo({0}, header, {reinterpret_cast<const std::byte*>(&segment), sizeof segment});
  };
  ASSERT_TRUE(send(CommandType::kScan, &part, &TestScanPart::Answered,
                   ScanSegment{.range = {}, .part = &part}));
  ASSERT_TRUE(send(CommandType::kInstall, &control, &TestReply::Answered,
                   InstallSegment{.range = {}, .position = 1}));
  ASSERT_TRUE(send(CommandType::kDrop, &control, &TestReply::Answered, DropSegment{}));
  ASSERT_FALSE(port.Flush());
  port.RefuseBuffered(KeyState::kRefused);
  EXPECT_FALSE(port.HasBuffered());
  EXPECT_TRUE(port.Flush());
  constexpr KeyState kRefused = KeyState::kRefused, kPending = KeyState::kPending;
  EXPECT_EQ(keyed.state_column,
            (std::vector<KeyState>{kRefused, kPending, kRefused, kRefused, kPending}));
  EXPECT_EQ(keyed.answered, 3u);
  EXPECT_EQ(keyed.calls, 1u);
  EXPECT_EQ(part.outcome(), PartOutcome::kRefused);
  EXPECT_EQ(part.ended, 1u);
  EXPECT_EQ(control.state_column, (std::vector<KeyState>{kRefused, kRefused}));
  EXPECT_EQ(control.answered, 2u);
  // The other target got its keys.
  ASSERT_EQ(Take(endpoints[1]).size(), 1u);
  // Nothing of what was refused arrives later.
  ASSERT_TRUE(endpoints[0].incoming.TryTake());
  EXPECT_TRUE(port.Flush());
  EXPECT_TRUE(Take(endpoints[0]).empty());
}

TEST(PortTest, ACommandLargerThanAnOutgoingBufferIsRefused) {
  TestEndpoints endpoints(1, kHalfBytes);
  Port port(endpoints.directory(), kOutgoingBytes, kNoWait);
  const std::vector<std::byte> segment(kOutgoingBytes - sizeof(CommandHeader) + 8);
  EXPECT_FALSE(port.SendTo({0}, {.type = CommandType::kScan, .object = {7}}, segment));
  EXPECT_FALSE(port.HasBuffered());
  EXPECT_TRUE(port.SendTo({0}, {.type = CommandType::kScan, .object = {7}},
                          std::span(segment).first(segment.size() - 8)));
}

// One bound for a call, not one per full target: a caller that addresses many AEUs would wait for
// their sum. The limit is half of that sum, the wait itself a sixty-fourth.
TEST(PortTest, TheWaitForRoomIsBoundedForAllTargetsTogether) {
  constexpr uint32_t kTargets = 64;
  constexpr int64_t kWaitNs = 20'000'000;
  TestEndpoints endpoints(kTargets, kHalfBytes);
  Port port(endpoints.directory(), kOutgoingBytes, kWaitNs);
  const auto route = RouteTo(kTargets);
  for (uint32_t aeu = 0; aeu < kTargets; ++aeu) FillIncoming(endpoints[aeu]);
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < kTargets * 200; ++i) keys.push_back(i / 2);
  TestReply reply(keys.size());
  const auto begin = std::chrono::steady_clock::now();
  const uint32_t refused =
      port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kRefused);
  const auto sent = std::chrono::steady_clock::now();
  EXPECT_GE(sent - begin, std::chrono::nanoseconds(kWaitNs));
  EXPECT_LT(sent - begin, std::chrono::nanoseconds(kTargets * kWaitNs / 2));
  EXPECT_FALSE(port.Flush());
  EXPECT_LT(std::chrono::steady_clock::now() - sent,
            std::chrono::nanoseconds(kTargets * kWaitNs / 2));
  port.RefuseBuffered(KeyState::kRefused);
  EXPECT_EQ(refused + reply.answered, keys.size());
}

}  // namespace
}  // namespace eris::routing
