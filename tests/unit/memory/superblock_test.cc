#include "memory/superblock.h"

#include <gtest/gtest.h>

#include <set>

namespace eris::memory {
namespace {

// Arithmetic on addresses alone: nothing here is memory.
std::byte* At(size_t superblock, size_t bytes, size_t offset) {
  return reinterpret_cast<std::byte*>((uintptr_t{1} << 44) + superblock * bytes + offset);
}

class SuperblockTest : public testing::TestWithParam<size_t> {};

TEST_P(SuperblockTest, PartsFollowEachOtherAndEndBeforeTheFirstBlock) {
  const SuperblockLayout layout(GetParam());
  for (size_t i = 0; i < 70; ++i) {
    std::byte* base = At(i, GetParam(), 0);
    Superblock* header = layout.HeaderOf(base + GetParam() - 1);
    EXPECT_EQ(header, layout.HeaderOf(base));
    EXPECT_EQ(layout.Base(header), base);
    auto* begin = reinterpret_cast<std::byte*>(header);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(header) % 64, 0u);
    EXPECT_GE(begin, base);
    auto* spans = reinterpret_cast<std::byte*>(layout.Spans(header));
    EXPECT_LE(begin + sizeof(Superblock), spans);
    EXPECT_LE(spans + layout.spans() * sizeof(Span),
              reinterpret_cast<std::byte*>(layout.FreeBits(header, 0)));
    EXPECT_LE(reinterpret_cast<std::byte*>(layout.FreeBits(header, layout.spans())),
              base + layout.HeaderBytes());
    EXPECT_EQ(layout.FreeBits(header, 1) - layout.FreeBits(header, 0),
              static_cast<ptrdiff_t>(kBlocksPerSpanMax / 64));
  }
}

TEST_P(SuperblockTest, HeaderBytesAreSpreadOverTheFirstSpans) {
  const SuperblockLayout layout(GetParam());
  size_t sum = 0;
  for (size_t i = 0; i < layout.spans(); ++i) sum += layout.HeaderBytesIn(i);
  EXPECT_EQ(sum, layout.HeaderBytes());
  EXPECT_LT(layout.HeaderBytes() * 80, GetParam());  // under 1.25 %
}

TEST_P(SuperblockTest, NeighboursHeadersBeginInDifferentCacheSets) {
  const SuperblockLayout layout(GetParam());
  std::set<uintptr_t> sets;
  for (size_t i = 0; i < 64; ++i) {
    sets.insert(reinterpret_cast<uintptr_t>(layout.HeaderOf(At(i, GetParam(), 0))) / 64 % 64);
  }
  EXPECT_EQ(sets.size(), 64u);
}

TEST_P(SuperblockTest, SpanIndexCountsFromTheBase) {
  const SuperblockLayout layout(GetParam());
  for (size_t i = 0; i < layout.spans(); ++i) {
    EXPECT_EQ(layout.SpanIndex(At(5, GetParam(), i * kSpanBytes)), i);
    EXPECT_EQ(layout.SpanIndex(At(5, GetParam(), (i + 1) * kSpanBytes - 1)), i);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, SuperblockTest,
                         testing::Values(2u << 20, 4u << 20, 16u << 20, 32u << 20));

}  // namespace
}  // namespace eris::memory
