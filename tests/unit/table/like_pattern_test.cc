#include "storage/table/plan/like_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/seed.h"
#include "tests/unit/table/query_world.h"

namespace eris::storage {
namespace {

LikePattern Made(std::string_view pattern, std::string_view escape = "") {
  auto made = LikePattern::Create(pattern, escape);
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : LikePattern();
}
std::string ErrorOf(std::string_view pattern, std::string_view escape) {
  const auto made = LikePattern::Create(pattern, escape);
  EXPECT_EQ(made.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(made.status().message());
}

TEST(LikePatternTest, AgreesWithPlainSearch) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  QueryRandom random(seed);
  const auto text_of = [&](uint64_t bytes, const char* letters, uint64_t count) {
    std::string text;
    for (uint64_t i = random() % (bytes + 1); i > 0; --i) text += letters[random() % count];
    return text;
  };
  uint32_t matches = 0;
  for (int i = 0; i < 200'000; ++i) {
    const std::string pattern = text_of(7, "ab%_", 4);
    const std::string text = text_of(9, "ab", 2);
    const bool wanted = QueryOracle::IsLike(text.c_str(), pattern.c_str());
    const LikePattern made = Made(pattern);
    ASSERT_EQ(made.Matches(text), wanted) << "'" << text << "' like '" << pattern << "'";
    matches += wanted;
    if (made.OnlyText() != nullptr) {
      ASSERT_EQ(*made.OnlyText(), pattern);
      ASSERT_EQ(wanted, text == pattern);
    }
    ASSERT_TRUE(wanted || !made.MatchesAll());
  }
  EXPECT_GT(matches, 10'000u);
}

TEST(LikePatternTest, AnUnderscoreIsOneCharacterOfUtf8) {
  EXPECT_TRUE(Made("gr_\u00dfe").Matches("gr\u00f6\u00dfe"));
  EXPECT_TRUE(Made("_").Matches("\u20ac"));
  EXPECT_FALSE(Made("__").Matches("\u20ac"));
  EXPECT_TRUE(Made("%_\u00df%").Matches("gr\u00f6\u00dfe"));
  EXPECT_TRUE(Made("____%").Matches("\U0001f600abc"));
  EXPECT_FALSE(Made("_____%").Matches("\U0001f600abc"));
  // Bytes that are not UTF-8: one that could go on with a character does.
  EXPECT_FALSE(Made("_").Matches("\x80"));
  EXPECT_TRUE(Made("_").Matches("x\x80\x80"));
  EXPECT_TRUE(
      Made("_b").Matches("\xff"
                         "b"));
}

TEST(LikePatternTest, TextsMayHaveZeros) {
  using namespace std::literals;
  EXPECT_TRUE(Made("a%b").Matches("a\0\0b"sv));
  EXPECT_TRUE(Made("a_b").Matches("a\0b"sv));
  EXPECT_FALSE(Made("a").Matches("a\0"sv));
}

TEST(LikePatternTest, BehindTheEscapeACharacterIsItself) {
  EXPECT_TRUE(Made("100!%", "!").Matches("100%"));
  EXPECT_FALSE(Made("100!%", "!").Matches("1000"));
  EXPECT_TRUE(Made("a!_%", "!").Matches("a_b"));
  EXPECT_TRUE(Made("a!!%", "!").Matches("a!b"));
  EXPECT_TRUE(Made("%\u20ac%\u20ac\u20ac", "\u20ac").Matches("100%\u20ac"));
  EXPECT_TRUE(Made("a\\%").Matches("a\\b"));  // there is none unless it is given
}

TEST(LikePatternTest, ErrorsNameWhatIsWrongAndTheLimit) {
  EXPECT_EQ(ErrorOf("a", "xy"), "the escape of a pattern is one character, not 2 bytes: 'xy'");
  EXPECT_THAT(ErrorOf("a", "\x80"), testing::HasSubstr("one character"));
  EXPECT_EQ(ErrorOf("ab!", "!"),
            "the escape at byte 3 of a pattern is before none of %, _ and itself: 'ab!'");
  EXPECT_EQ(ErrorOf("!" + std::string(1000, 'a'), "!"),
            "the escape at byte 1 of a pattern is before none of %, _ and itself: '!" +
                std::string(39, 'a') + "...'");
  EXPECT_EQ(ErrorOf(std::string(1025, 'a'), ""),
            "a pattern of `like` has 1025 bytes, must have at most 1024");
  EXPECT_EQ(ErrorOf("_%" + std::string(63, 'a'), ""),
            "a pattern of `like` with a _ has 64 bytes besides its %, must have at most 63; take a "
            "shorter one, or two joined by `and`");
}

TEST(LikePatternTest, TheLongestPatternsWork) {
  const std::string most(1024, 'a');
  EXPECT_TRUE(Made(most).Matches(most));
  EXPECT_FALSE(Made(most).Matches(most + "a"));
  std::string percents;
  for (int i = 0; i < 512; ++i) percents += "%a";
  EXPECT_TRUE(Made(percents).Matches(std::string(512, 'a')));
  EXPECT_FALSE(Made(percents).Matches(std::string(511, 'a')));
  const std::string places(63, '_');
  EXPECT_TRUE(Made(places).Matches(std::string(63, 'x')));
  EXPECT_FALSE(Made(places).Matches(std::string(62, 'x')));
  EXPECT_FALSE(Made(places).Matches(std::string(64, 'x')));
  EXPECT_TRUE(Made("%" + places + "%").Matches(std::string(65'000, 'x')));
}

}  // namespace
}  // namespace eris::storage
