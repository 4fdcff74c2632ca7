// A pool's pieces: how they lie, and that none is lost.
#include "leap/memory_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "tests/unit/leap/leap_fixture.h"

namespace eris::leap {
namespace {

using ::testing::HasSubstr;

TEST(MemoryPoolTest, PiecesTakenOneAfterTheOtherAreNeighbours) {
  const auto pool = NewPool(8 << 20);
  const TestMemory like(4 << 20);
  std::byte* const first = pool->Take(64 << 10, like.begin());
  EXPECT_EQ(pool->Take(64 << 10, like.begin() + (64 << 10)), first + (64 << 10));
  EXPECT_EQ(pool->free_bytes(), (size_t{8} << 20) - (128 << 10));
  pool->Give(first, 128 << 10);
  EXPECT_EQ(pool->free_bytes(), size_t{8} << 20);
}

TEST(MemoryPoolTest, LargePiecesLieInHugePagesAsTheirModel) {
  const auto pool = NewPool(8 << 20);
  const TestMemory like(5 << 20, Pages::kAnonymous, 12 * kPage);
  std::byte* const piece = pool->Take(5 << 20, like.begin());
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % kHugePageBytes, 12 * kPage);
  // What is in front of it serves smaller ones.
  EXPECT_EQ(pool->Take(12 * kPage, like.begin()), piece - 12 * kPage);
  pool->Give(piece - 12 * kPage, (5 << 20) + 12 * kPage);
  EXPECT_EQ(pool->free_bytes(), size_t{8} << 20);
}

TEST(MemoryPoolTest, WithoutALongEnoughPieceThereIsNone) {
  const auto pool = NewPool(2 << 20);
  const TestMemory like(kPage);
  std::byte* const all = pool->Take(2 << 20, like.begin());
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(pool->Take(kPage, like.begin()), nullptr);
  pool->Give(all, kPage);
  pool->Give(all + 2 * kPage, kPage);
  EXPECT_EQ(pool->Take(2 * kPage, like.begin()), nullptr);
  pool->Give(all + kPage, kPage);
  EXPECT_EQ(pool->Take(3 * kPage, like.begin()), all);
  pool->Give(all, 2 << 20);
}

TEST(MemoryPoolTest, PagesArePresent) {
  const auto pool = NewPool(2 << 20);
  const TestMemory like(kPage);
  std::byte* const piece = pool->Take(2 << 20, like.begin());
  unsigned char present[512];
  ASSERT_EQ(mincore(piece, 2 << 20, present), 0);
  EXPECT_EQ(std::memchr(present, 0, sizeof present), nullptr);
  pool->Give(piece, 2 << 20);
}

TEST(PoolTest, UnknownNumaNodeIsRefusedWithThoseThereAre) {
  const auto pool = Pool::Create({.os_numa_node = 4711, .bytes = 1 << 20, .bind = false});
  ASSERT_EQ(pool.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(pool.status().ToString(), HasSubstr("no NumaNode 4711"));
  EXPECT_THAT(pool.status().ToString(), HasSubstr("there are 0"));
}

TEST(PoolTest, MoreThanTheMachineHasIsRefused) {
  for (const size_t bytes : {size_t{1} << 62, ~size_t{0}}) {
    const auto pool = Pool::Create({.bytes = bytes, .bind = false});
    EXPECT_EQ(pool.status().code(), absl::StatusCode::kResourceExhausted) << bytes;
  }
}

// Mappings of the file that TestMemory makes.
size_t CountMappings() {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    count += line.find("/memfd:leap-test") != std::string::npos;
  }
  return count;
}

TEST(MemoryPoolTest, OldPagesOfAFileAreFreedWithThePool) {
  const TestMemory memory(4 << 20, Pages::kFile);
  const size_t before = CountMappings();
  auto pool = NewPool(4 << 20, Pages::kFile);
  const auto done = Migrate(memory.range(), *pool, {.method = Method::kOwner});
  ASSERT_TRUE(done.ok()) << done.status();
  ASSERT_TRUE(done->ended.ok()) << done->ended;
  // What is around the range, and the old pages.
  const size_t around = CountMappings();
  pool.reset();
  EXPECT_EQ(CountMappings() + 1, around);
  EXPECT_GE(before + 2, around);
  EXPECT_EQ(memory.CountWrong(), 0u);
}

}  // namespace
}  // namespace eris::leap
