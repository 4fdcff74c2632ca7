#include "memory/size_class.h"

#include <gtest/gtest.h>

namespace eris::memory {
namespace {

TEST(SizeClassTest, EverySizeGetsTheSmallestClassThatHoldsIt) {
  for (size_t bytes = 1; bytes <= kClassedBytesMax; ++bytes) {
    const size_t size_class = SizeClassOf(bytes);
    ASSERT_LT(size_class, kSizeClasses) << bytes;
    ASSERT_GE(SizeClassBytes(size_class), bytes) << bytes;
    if (size_class > 0) {
      ASSERT_LT(SizeClassBytes(size_class - 1), bytes) << bytes;
    }
  }
}

TEST(SizeClassTest, EveryClassIsItsOwnSize) {
  for (size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    EXPECT_EQ(SizeClassOf(SizeClassBytes(size_class)), size_class);
  }
  EXPECT_EQ(SizeClassBytes(kSizeClasses - 1), kClassedBytesMax);
}

TEST(SizeClassTest, WasteIsBoundedAsTheHeaderSays) {
  for (size_t bytes = 1; bytes <= kClassedBytesMax; ++bytes) {
    const size_t lost = SizeClassBytes(SizeClassOf(bytes)) - bytes;
    if (bytes <= kFineBytesMax) {
      ASSERT_LT(lost, 16u) << bytes;
    } else if (bytes <= kMiddleBytesMax) {
      ASSERT_LT(lost, 64u) << bytes;
    } else {
      ASSERT_LT(lost * 8, bytes) << bytes;
    }
  }
}

TEST(SizeClassTest, WholeCacheLinesAreAligned) {
  for (size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    const size_t bytes = SizeClassBytes(size_class);
    EXPECT_EQ(SizeClassAlignment(size_class), bytes % 64 == 0 || bytes > 1024 ? 64u : 16u);
    EXPECT_EQ(bytes % SizeClassAlignment(size_class), 0u);
  }
}

}  // namespace
}  // namespace eris::memory
