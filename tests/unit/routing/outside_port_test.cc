// Ports outside the engine, whose blocks are handed over and come back, and multicasts. The test
// itself takes what arrives: no AEU.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "routing/port.h"
#include "tests/unit/routing/port_records.h"

namespace eris::routing {
namespace {

constexpr PortOptions kOutside{.outgoing_bytes = kOutgoingBytes, .pool_bytes_max = 4 * 1024};

uint32_t ReleaseBlocks(AeuEndpoint& endpoint) {
  return TakeFromBlocks(endpoint, [](const CommandHeader*) {});
}

TEST(OutsidePortTest, HandsBlocksOverInOrderAndTakesThemBack) {
  TestEndpoints endpoints(1, kHalfBytes);
  Port port(endpoints.directory(), kOutside);
  const auto route = RouteTo(1);
  std::vector<Block*> held;
  uint64_t next = 0;
  for (int round = 0; round < 50; ++round) {
    const auto keys = Numbers(5, 1000 * round);
    TestReply reply(keys.size());
    ASSERT_EQ(port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kRefused),
              0u);
    ASSERT_TRUE(port.Flush());
    if (round % 3 != 2) continue;
    // Released together: each block of the three has one record.
    for (Block* block = endpoints[0].ingress.TakeAll(); block != nullptr; block = block->next) {
      const auto* header = reinterpret_cast<const CommandHeader*>(block->records().data());
      ASSERT_EQ(header->size_bytes, block->used_bytes);
      EXPECT_EQ(KeyedSegmentOf(header).keys[0], 1000 * next++);
      held.push_back(block);
    }
    for (Block* block : held) BlockPool::Release(block);
    held.clear();
  }
  EXPECT_EQ(next, 48u);
  EXPECT_FALSE(endpoints[0].incoming.HasRecords());
  ReleaseBlocks(endpoints[0]);
}

TEST(OutsidePortTest, KeysWithoutABlockComeBackAndNothingOfThemArrives) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOutside);
  const auto route = RouteTo(2);
  std::vector<uint64_t> keys;  // far more than four blocks hold, to both
  for (uint64_t i = 0; i < 2000; ++i) keys.push_back(i % 2 == 0 ? i % 100 : 100 + i);
  TestReply reply(keys.size());
  const uint32_t refused =
      port.Send(*route, Command(CommandType::kUpsert, keys, reply, keys), KeyState::kRefused);
  EXPECT_GT(refused, 0u);
  EXPECT_TRUE(port.Flush());
  std::vector<int> seen(keys.size());
  for (uint32_t aeu = 0; aeu < 2; ++aeu) {
    TakeFromBlocks(endpoints[aeu], [&](const CommandHeader* header) {
      const KeyedSegment segment = KeyedSegmentOf(header);
      for (uint32_t i = 0; i < header->count; ++i) {
        EXPECT_EQ(segment.keys[i], keys[segment.positions[i]]);
        EXPECT_EQ(segment.values[i], segment.keys[i]);
        ++seen[segment.positions[i]];
      }
    });
  }
  uint32_t came_back = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const bool back = reply.state_column[i] == KeyState::kRefused;
    EXPECT_EQ(seen[i], back ? 0 : 1);
    came_back += back;
  }
  EXPECT_EQ(came_back, refused);
  EXPECT_EQ(port.counters().Read().refused, refused);
  // With its blocks at home the Port sends again.
  const auto few = Numbers(10);
  TestReply second(few.size());
  EXPECT_EQ(port.Send(*route, Command(CommandType::kLookup, few, second), KeyState::kRefused), 0u);
  EXPECT_TRUE(port.Flush());
  ReleaseBlocks(endpoints[0]);
}

TEST(OutsidePortTest, APortThatEndsHandsOverWhatItHasAndLeavesItsBlocksToTheirReader) {
  TestEndpoints endpoints(1, kHalfBytes);
  const auto route = RouteTo(1);
  const auto keys = Numbers(300);
  TestReply reply(keys.size());
  {
    Port port(endpoints.directory(), kOutside);
    ASSERT_EQ(port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kRefused),
              0u);
  }
  uint64_t got = 0;
  // The last block frees the pool: a leak checker would see it.
  TakeFromBlocks(endpoints[0], [&](const CommandHeader* header) {
    for (uint32_t i = 0; i < header->count; ++i) {
      EXPECT_EQ(KeyedSegmentOf(header).keys[i], got++);
    }
  });
  EXPECT_EQ(got, keys.size());
  EXPECT_EQ(endpoints.directory().ports().Total().sent, keys.size());
}

// One bound for a call, not one per target: a caller that addresses many AEUs would wait for their
// sum. The limit is half of that sum, the wait itself a sixty-fourth.
TEST(OutsidePortTest, TheWaitForBlocksIsBoundedForAllTargetsTogether) {
  constexpr uint32_t kTargets = 64;
  constexpr int64_t kWaitNs = 20'000'000;
  TestEndpoints endpoints(kTargets, kHalfBytes);
  PortOptions options = kOutside;
  options.wait_ns = kWaitNs;
  Port port(endpoints.directory(), options);
  const auto route = RouteTo(kTargets);
  std::vector<uint64_t> keys;
  for (uint64_t i = 0; i < kTargets * 200; ++i) keys.push_back(i / 2);
  TestReply reply(keys.size());
  const auto begin = std::chrono::steady_clock::now();
  const uint32_t refused =
      port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kRefused);
  const auto sent = std::chrono::steady_clock::now();
  EXPECT_GT(refused, 0u);
  EXPECT_GE(sent - begin, std::chrono::nanoseconds(kWaitNs));
  EXPECT_LT(sent - begin, std::chrono::nanoseconds(kTargets * kWaitNs / 2));
  EXPECT_TRUE(port.Flush());
  for (uint32_t aeu = 0; aeu < kTargets; ++aeu) ReleaseBlocks(endpoints[aeu]);
}

TEST(OutsidePortTest, ABatchWakesEachSleepingTargetOnce) {
  constexpr uint32_t kTargets = 3;
  TestEndpoints endpoints(kTargets, kHalfBytes);
  PortOptions options = kOutside;
  options.pool_bytes_max = 64 * kOutgoingBytes;
  Port port(endpoints.directory(), options);
  const auto route = RouteTo(kTargets);
  endpoints[0].waker.PrepareToSleep();
  endpoints[2].waker.PrepareToSleep();
  std::vector<uint64_t> keys;  // several blocks for each
  for (uint64_t i = 0; i < 900; ++i) keys.push_back(i % 300);
  TestReply reply(keys.size());
  ASSERT_EQ(port.Send(*route, Command(CommandType::kLookup, keys, reply), KeyState::kRefused), 0u);
  EXPECT_EQ(port.counters().Read().wakes, 0u);
  // One that went to sleep again in between would be woken by the end of the batch, once.
  endpoints[0].waker.PrepareToSleep();
  ASSERT_TRUE(port.Flush());
  EXPECT_EQ(port.counters().Read().wakes, 2u);
  ASSERT_TRUE(port.Flush());
  EXPECT_EQ(port.counters().Read().wakes, 2u);
  for (uint32_t aeu = 0; aeu < kTargets; ++aeu) {
    EXPECT_GT(ReleaseBlocks(endpoints[aeu]), 1u);
  }
}

// --- Multicast -----------------------------------------------------------------------------------

TEST(MulticastTest, OneCopyIsSharedAndFreedByTheLastReader) {
  constexpr uint32_t kTargets = 5;
  TestEndpoints endpoints(kTargets, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  std::vector<AeuId> targets;
  for (uint32_t i = 0; i < kTargets; ++i) targets.push_back({i});
  std::vector<AeuId> refused;
  uint64_t commands = 0;
  for (uint64_t round = 0; round < 200; ++round) {
    const std::vector<uint64_t> segment{round, ~round, 7};
    port.Multicast(targets, {.type = CommandType::kScan, .slot = 9, .object = {7}, .count = 1},
                   std::as_bytes(std::span(segment)), refused);
    if (round % 4 != 3) continue;  // several share a block
    ASSERT_TRUE(port.Flush());
    const CommandHeader* first = nullptr;
    for (uint32_t aeu = 0; aeu < kTargets; ++aeu) {
      const auto taken = endpoints[aeu].incoming.TryTake();
      ASSERT_TRUE(taken);
      uint64_t number = round - 3;
      ForEachRecord(*taken, [&](const CommandHeader* header) {
        ASSERT_EQ(header->type, CommandType::kMulticast);
        const auto* reference = reinterpret_cast<const MulticastSegment*>(DataSegment(header));
        EXPECT_EQ(reference->command->slot, 9u);
        EXPECT_EQ(reinterpret_cast<const uint64_t*>(reference->command + 1)[0], number);
        if (number == round && aeu == 0) first = reference->command;
        if (number == round) {
          EXPECT_EQ(reference->command, first);  // one copy for all
        }
        BlockPool::Release(reference->block);
        ++commands;
        ++number;
      });
      EXPECT_EQ(number, round + 1);
    }
  }
  EXPECT_TRUE(refused.empty());
  EXPECT_EQ(commands, 200u * kTargets);
  EXPECT_EQ(port.counters().Read().sent, 200u * kTargets);
}

// Lets the commands go that the records refer to; how many.
uint64_t ReleaseReferences(std::span<const std::byte> records) {
  uint64_t released = 0;
  ForEachRecord(records, [&](const CommandHeader* header) {
    BlockPool::Release(reinterpret_cast<const MulticastSegment*>(DataSegment(header))->block);
    ++released;
  });
  return released;
}

TEST(MulticastTest, ThePoolIsBoundedAndFullTargetsAreNamed) {
  TestEndpoints endpoints(2, kHalfBytes);
  Port port(endpoints.directory(), kOfAeu);
  const std::vector<AeuId> targets{{0}, {1}};
  const std::vector<std::byte> segment(400);
  FillIncoming(endpoints[1]);
  std::vector<AeuId> refused;
  uint64_t accepted = 0;
  for (int i = 0; i < 500; ++i) {
    refused.clear();
    port.Multicast(targets, {.type = CommandType::kScan, .object = {7}, .count = 1}, segment,
                   refused);
    accepted += targets.size() - refused.size();
    EXPECT_LE(refused.size(), 2u);
  }
  EXPECT_EQ(refused.size(), 2u);  // nobody reads: in the end nothing is left for anyone
  EXPECT_EQ(port.counters().Read().sent, accepted);
  EXPECT_LE(port.allocated_bytes(), kOfAeu.pool_bytes_max + (64 << 10));
  // Everything accepted arrives, and then there is room again.
  ASSERT_TRUE(endpoints[1].incoming.TryTake());
  uint64_t arrived = 0;
  for (bool more = true; more;) {
    port.Flush();
    more = false;
    for (uint32_t aeu = 0; aeu < 2; ++aeu) {
      const auto taken = endpoints[aeu].incoming.TryTake();
      if (!taken) continue;
      more = true;
      arrived += ReleaseReferences(*taken);
    }
  }
  EXPECT_EQ(arrived, accepted);
  refused.clear();
  port.Multicast(targets, {.type = CommandType::kScan, .object = {7}, .count = 1}, segment,
                 refused);
  EXPECT_TRUE(refused.empty());
  EXPECT_TRUE(port.Flush());
  for (uint32_t aeu = 0; aeu < 2; ++aeu) {
    const auto taken = endpoints[aeu].incoming.TryTake();
    ASSERT_TRUE(taken);
    EXPECT_EQ(ReleaseReferences(*taken), 1u);
  }
}

}  // namespace
}  // namespace eris::routing
