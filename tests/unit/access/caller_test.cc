#include "server/access/caller.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

TEST(CallerTest, PatternsMatchWholeNames) {
  EXPECT_TRUE(MatchesPattern("orders", "orders"));
  EXPECT_FALSE(MatchesPattern("orders", "orders2"));
  EXPECT_FALSE(MatchesPattern("orders", "order"));
  EXPECT_TRUE(MatchesPattern("orders*", "orders"));
  EXPECT_TRUE(MatchesPattern("orders*", "orders_2027"));
  EXPECT_FALSE(MatchesPattern("orders*", "my_orders"));
  EXPECT_TRUE(MatchesPattern("*_2027", "a_2026_2027"));
  EXPECT_TRUE(MatchesPattern("a*b*c", "a__b_b_c"));
  EXPECT_FALSE(MatchesPattern("a*b*c", "a__b_b_"));
  EXPECT_TRUE(MatchesPattern("*", ""));
  EXPECT_FALSE(MatchesPattern("", "a"));
  EXPECT_TRUE(MatchesPattern("a*", "a*b"));
}

TEST(CallerTest, NameWithAZeroByteIsComparedToItsEnd) {
  EXPECT_FALSE(MatchesPattern("orders", std::string("orders\0x", 8)));
  EXPECT_TRUE(MatchesPattern("orders*", std::string("orders\0x", 8)));
}

TEST(CallerTest, TooLongNameMatchesOnlyEverything) {
  EXPECT_FALSE(MatchesPattern("a*", std::string(100'000, 'a')));
  EXPECT_TRUE(MatchesPattern("*", std::string(100'000, 'a')));
}

TEST(CallerTest, RefusalSaysWhatIsNeededAndWhatThereIs) {
  const Caller etl{
      .credential = "12", .name = "etl", .role = Role::kReader, .patterns = {"a*", "b"}};
  EXPECT_TRUE(Allow(etl, Role::kReader, "b").ok());
  const absl::Status role = Allow(etl, Role::kWriter, "b");
  EXPECT_EQ(role.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(role.message(),
            "needs role writer for object \"b\"; token \"etl\" has role reader for \"a*,b\"");
  EXPECT_EQ(Allow(etl, Role::kReader, "c").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(Allow(etl, Role::kReader, std::string(9999, 'c')).message()),
              HasSubstr("object of 9999 bytes"));
}

TEST(CallerTest, EveryObjectNeedsTheStar) {
  const Caller some{.credential = "12", .name = "etl", .role = Role::kAdmin, .patterns = {"a*"}};
  const Caller all{.credential = "12", .name = "etl", .role = Role::kAdmin, .patterns = {"a", "*"}};
  EXPECT_FALSE(AllowEveryObject(some, Role::kReader).ok());
  EXPECT_TRUE(AllowEveryObject(all, Role::kReader).ok());
  EXPECT_TRUE(AllowWithoutObject(some, Role::kAdmin).ok());
}

}  // namespace
}  // namespace eris::server
