#include "memory/size_class.h"

#include <gtest/gtest.h>

namespace eris::memory {
namespace {

TEST(SizeClassTest, EverySizeFitsItsClassAndNoSmallerOne) {
  for (size_t bytes = 1; bytes <= kClassedBytesMax; bytes += bytes < 70000 ? 1 : 61) {
    const size_t size_class = SizeClassOf(bytes);
    ASSERT_LT(size_class, kSizeClasses) << bytes;
    ASSERT_GE(SizeClassBytes(size_class), bytes);
    if (size_class > 0) {
      ASSERT_LT(SizeClassBytes(size_class - 1), bytes);
    }
  }
}

TEST(SizeClassTest, ClassesAreMappedToThemselvesAndAscend) {
  for (size_t c = 0; c < kSizeClasses; ++c) {
    EXPECT_EQ(SizeClassOf(SizeClassBytes(c)), c);
    if (c > 0) {
      EXPECT_GT(SizeClassBytes(c), SizeClassBytes(c - 1));
    }
  }
  EXPECT_EQ(SizeClassBytes(kSizeClasses - 1), kClassedBytesMax);
}

TEST(SizeClassTest, WasteIsWhatTheHeaderSays) {
  for (size_t c = 1; c < kSizeClasses; ++c) {
    const size_t lost = SizeClassBytes(c) - SizeClassBytes(c - 1) - 1;
    if (SizeClassBytes(c) <= kFineBytesMax) {
      EXPECT_LT(lost, 16u) << c;
    } else if (SizeClassBytes(c) <= kMiddleBytesMax) {
      EXPECT_LT(lost, 64u) << c;
    } else if (SizeClassBytes(c) <= kLargeBytesMax) {
      EXPECT_LE(static_cast<double>(lost) / static_cast<double>(SizeClassBytes(c)), 0.07) << c;
    } else {
      EXPECT_LE(static_cast<double>(lost) / static_cast<double>(SizeClassBytes(c)), 0.112) << c;
    }
  }
}

TEST(SizeClassTest, TreeNodesFitExactly) {
  for (const size_t bytes : {16, 64, 192, 704, 2112}) {
    EXPECT_EQ(SizeClassBytes(SizeClassOf(bytes)), bytes);
  }
}

TEST(SizeClassTest, RunsLeaveAtMostAnEighthAtTheirEnd) {
  for (size_t c = 0; c < kSizeClasses; ++c) {
    const size_t run_bytes = RunSpans(c) * kSpanBytes;
    ASSERT_LE(RunSpans(c), kRunSpansMax);
    ASSERT_GE(run_bytes, SizeClassBytes(c));
    const size_t left = run_bytes % SizeClassBytes(c);
    EXPECT_LE(left * 8, run_bytes) << SizeClassBytes(c);
    if (SizeClassBytes(c) <= kSmallBytesMax) {
      EXPECT_LE(left * 16, run_bytes) << SizeClassBytes(c);
    }
    EXPECT_LE(run_bytes / SizeClassBytes(c), kBlocksPerSpanMax);
  }
}

TEST(SizeClassTest, BlockIndexIsTheQuotient) {
  for (size_t c = 0; c < kSizeClasses; ++c) {
    const size_t bytes = SizeClassBytes(c);
    for (size_t i = 0; i * bytes < RunSpans(c) * kSpanBytes; ++i) {
      ASSERT_EQ(BlockIndex(i * bytes, Reciprocal(c)), i) << bytes;
      ASSERT_EQ(BlockIndex(i * bytes + bytes - 1, Reciprocal(c)), i) << bytes;
    }
  }
}

TEST(SizeClassTest, WholeCacheLinesStartOnOne) {
  for (size_t c = 0; c < kSizeClasses; ++c) {
    EXPECT_EQ(SizeClassBytes(c) % 16, 0u);
    if (SizeClassBytes(c) > 1024) {
      EXPECT_EQ(SizeClassAlignment(c), 64u) << SizeClassBytes(c);
    }
  }
}

}  // namespace
}  // namespace eris::memory
