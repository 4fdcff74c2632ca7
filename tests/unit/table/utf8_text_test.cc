#include "storage/table/plan/utf8_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <string_view>

namespace eris::storage {
namespace {

constexpr int64_t kAllCharacters = INT64_MAX;

TEST(Utf8TextTest, CharactersCountFromOne) {
  EXPECT_EQ(CharactersOf("abcdef", 1, 2), "ab");
  EXPECT_EQ(CharactersOf("abcdef", 3, 2), "cd");
  EXPECT_EQ(CharactersOf("abcdef", 6, 5), "f");
  EXPECT_EQ(CharactersOf("abcdef", 2, kAllCharacters), "bcdef");
  EXPECT_EQ(CharactersOf("abcdef", 2, 0), "");
}

TEST(Utf8TextTest, CharactersOutsideTheTextAreLeftOut) {
  EXPECT_EQ(CharactersOf("abc", 0, 2), "a");
  EXPECT_EQ(CharactersOf("abc", -1, 3), "a");
  EXPECT_EQ(CharactersOf("abc", -5, 3), "");
  EXPECT_EQ(CharactersOf("abc", 4, kAllCharacters), "");
  EXPECT_EQ(CharactersOf("abc", INT64_MAX, kAllCharacters), "");
  EXPECT_EQ(CharactersOf("abc", INT64_MIN, kAllCharacters), "");  // up to character -2
  EXPECT_EQ(CharactersOf("abc", -5, kAllCharacters), "abc");
  EXPECT_EQ(CharactersOf("", 1, kAllCharacters), "");
  EXPECT_EQ(CharactersOf(std::string_view(), -1, 2), "");
}

TEST(Utf8TextTest, ACharacterHasOneToFourBytes) {
  const std::string_view text = "a\u00e9\u20ac\U0001f600z";
  EXPECT_EQ(CharactersOf(text, 1, 1), "a");
  EXPECT_EQ(CharactersOf(text, 2, 1), "\u00e9");
  EXPECT_EQ(CharactersOf(text, 3, 1), "\u20ac");
  EXPECT_EQ(CharactersOf(text, 4, 1), "\U0001f600");
  EXPECT_EQ(CharactersOf(text, 5, kAllCharacters), "z");
  EXPECT_EQ(CharactersOf(text, 2, 3), "\u00e9\u20ac\U0001f600");
}

TEST(Utf8TextTest, TextsAreCutBetweenCharacters) {
  const std::string_view text = "a\u00e9\u20ac\U0001f600z";
  constexpr size_t kEnds[] = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11};
  for (size_t most = 0; most < std::size(kEnds); ++most) {
    EXPECT_EQ(CutAtCharacter(text, most), text.substr(0, kEnds[most])) << most;
  }
}

// Whatever the bytes, the parts put together are the text again.
TEST(Utf8TextTest, BytesThatAreNotUtf8AreTakenAsTheyCome) {
  EXPECT_EQ(CharactersOf("\x80\x80"
                         "a",
                         1, 1),
            "\x80\x80");
  EXPECT_EQ(CharactersOf("a\x80\x80"
                         "b",
                         1, 1),
            "a\x80\x80");
  EXPECT_EQ(CharactersOf("\xff"
                         "a",
                         1, 1),
            "\xff");
  EXPECT_EQ(CharactersOf("\xe2\x82", 1, 1), "\xe2\x82");  // cut off
  EXPECT_EQ(CharactersOf(std::string_view("a\0b", 3), 2, 1), std::string_view("\0", 1));
  const std::string_view text = "\x80x\xe2\x82\xff\xc3\xa9\x80\xf0";
  for (int64_t at = 1; at < 12; ++at) {
    const std::string_view before = CharactersOf(text, 1, at - 1);
    const std::string_view behind = CharactersOf(text, at, kAllCharacters);
    EXPECT_EQ(before.size() + behind.size(), text.size()) << at;
  }
}

}  // namespace
}  // namespace eris::storage
