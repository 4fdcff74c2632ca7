#include "server/state/memory_limits.h"

#include <gtest/gtest.h>

namespace eris::server {
namespace {

constexpr uint64_t kMiB = 1 << 20;

TEST(MemoryLimitsTest, ZerosBecomeShares) {
  const ServerConfig config = WithShares({}, {.caller_bytes = 60 * kMiB});
  EXPECT_EQ(config.in_flight_bytes_max, 60 * kMiB);
  EXPECT_EQ(config.receive_message_bytes_max, 60 * kMiB / 8 + (64 << 10));
  EXPECT_EQ(config.stream_bytes_max, 15 * kMiB);
  // The message, what it becomes and what it needs while it is executed: of the largest write.
  EXPECT_GE(WriteBytesMax(config.in_flight_bytes_max), 4 * config.receive_message_bytes_max);
}

TEST(MemoryLimitsTest, MuchMemoryChangesNothing) {
  const ServerConfig config = WithShares({}, {.caller_bytes = 1024 * kMiB});
  EXPECT_EQ(config.receive_message_bytes_max, 40 * kMiB);
  EXPECT_EQ(config.stream_bytes_max, 64 * kMiB);
  EXPECT_EQ(WithShares({}, {}).in_flight_bytes_max, 1024 * kMiB);
}

TEST(MemoryLimitsTest, WhatIsSetIsKept) {
  ServerConfig wanted;
  wanted.in_flight_bytes_max = 8 * kMiB;
  wanted.receive_message_bytes_max = 64 << 10;
  const ServerConfig config = WithShares(wanted, {.caller_bytes = 60 * kMiB});
  EXPECT_EQ(config.in_flight_bytes_max, 8 * kMiB);
  EXPECT_EQ(config.receive_message_bytes_max, 64u << 10);
  EXPECT_EQ(config.stream_bytes_max, 2 * kMiB);
}

TEST(MemoryLimitsTest, IdleStreamsLeaveHalfOfTheBudget) {
  EXPECT_EQ(StreamsMax(1), 1u);
  EXPECT_EQ(StreamsMax(8 * kMiB), 128u);
  EXPECT_EQ(StreamsMax(8 * kMiB) * kStreamBytes, 4 * kMiB);
}

TEST(MemoryLimitsTest, UnreadGroupsLeaveMostChunksToOthers) {
  EXPECT_EQ(UnreadGroupsMax({}), 2u);
  EXPECT_EQ(UnreadGroupsMax({.scan_bytes = 64 * kMiB}), 4u);
  EXPECT_EQ(UnreadGroupsMax({.scan_bytes = 1024 * kMiB}), 8u);
}

TEST(MemoryLimitsTest, AllocatorKeepsLittleWhereThereIsLittle) {
  AllocatorTuning before = TuningFor(64 * kMiB);
  EXPECT_LE(before.trim_threshold_bytes, 1 << 20);
  EXPECT_LE(before.arenas_max, 2);
  for (uint64_t bytes = 64 * kMiB; bytes < uint64_t{16} << 40; bytes *= 2) {
    const AllocatorTuning now = TuningFor(bytes);
    EXPECT_GE(now.map_threshold_bytes, before.map_threshold_bytes);
    EXPECT_GE(now.trim_threshold_bytes, before.trim_threshold_bytes);
    EXPECT_GE(now.arenas_max, before.arenas_max);
    before = now;
  }
  EXPECT_EQ(before.map_threshold_bytes, 32 << 20);
  EXPECT_EQ(before.trim_threshold_bytes, 256 << 20);
}

}  // namespace
}  // namespace eris::server
