// IsUtf8 and Utf8Bytes against each other and against the encoding of all code points.
#include "base/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>

namespace eris::base {
namespace {

std::string Encoded(uint32_t point) {
  const auto byte = [](uint32_t bits) { return static_cast<char>(bits); };
  if (point < 0x80) return {byte(point)};
  if (point < 0x800) return {byte(0xc0 | point >> 6), byte(0x80 | (point & 0x3f))};
  if (point < 0x10000) {
    return {byte(0xe0 | point >> 12), byte(0x80 | (point >> 6 & 0x3f)),
            byte(0x80 | (point & 0x3f))};
  }
  return {byte(0xf0 | point >> 18), byte(0x80 | (point >> 12 & 0x3f)),
          byte(0x80 | (point >> 6 & 0x3f)), byte(0x80 | (point & 0x3f))};
}

// Both functions' answer.
bool IsText(const std::string& text) {
  const bool is = IsUtf8(text);
  EXPECT_EQ(Utf8Bytes(text) == text.size(), is);
  return is;
}

TEST(Utf8Test, EveryCodePointButSurrogatesIsText) {
  for (uint32_t point = 0; point <= 0x110000; ++point) {
    const bool surrogate = point >= 0xd800 && point < 0xe000;
    ASSERT_EQ(IsText(Encoded(point)), !surrogate && point <= 0x10ffff) << point;
  }
}

// How many strings of bytes at the boundaries of UTF-8's table are text. The numbers are those of
// Python's decoder: sum(ok(bytes(t)) for t in itertools.product(BYTES, repeat=n)).
TEST(Utf8Test, StringsOfBoundaryBytesAreTextAsOftenAsForPython) {
  constexpr std::array<uint8_t, 26> kBytes = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                              0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                              0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff};
  constexpr uint64_t kTexts[] = {3, 21, 279, 2277};
  for (size_t length = 1; length <= 4; ++length) {
    uint64_t strings = 1;
    for (size_t i = 0; i < length; ++i) strings *= kBytes.size();
    uint64_t texts = 0;
    for (uint64_t number = 0; number < strings; ++number) {
      std::string text;
      for (uint64_t left = number, i = 0; i < length; ++i, left /= kBytes.size()) {
        text += static_cast<char>(kBytes[left % kBytes.size()]);
      }
      texts += IsText(text);
    }
    EXPECT_EQ(texts, kTexts[length - 1]) << length;
  }
}

// Vectors of 16, 32 and 64 bytes, and what is left behind them.
TEST(Utf8Test, AFaultIsFoundWhereverItLies) {
  EXPECT_TRUE(IsText(""));
  for (const std::string whole : {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    for (size_t before = 0; before < 140; ++before) {
      const std::string text = std::string(before, 'a') + whole;
      ASSERT_TRUE(IsText(text)) << before;
      ASSERT_TRUE(IsText(text + "b")) << before;
      for (size_t cut = 1; cut < whole.size(); ++cut) {
        const std::string part = text.substr(0, text.size() - cut);
        ASSERT_FALSE(IsText(part)) << before;
        ASSERT_FALSE(IsText(part + std::string(70, 'b'))) << before;
        ASSERT_EQ(Utf8Bytes(part + "b"), before);
      }
    }
  }
}

}  // namespace
}  // namespace eris::base
