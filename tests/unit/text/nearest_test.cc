#include "text/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eris::text {
namespace {

const std::vector<std::string> kNames = {"listen", "http", "call_ms_max", "stall_ms_max"};

TEST(NearestTest, ANameIsFoundByOneOrTwoWrongCharacters) {
  EXPECT_EQ(NearestOf(kNames, "lissten"), "listen");
  EXPECT_EQ(NearestOf(kNames, "call_m_max"), "call_ms_max");
  EXPECT_EQ(NearestOf(kNames, "stal_ms_mx"), "stall_ms_max");
  EXPECT_EQ(NearestOf(kNames, "htp"), "http");
}

TEST(NearestTest, ABeginningIsEnough) { EXPECT_EQ(NearestOf(kNames, "call"), "call_ms_max"); }

TEST(NearestTest, AnotherWordHasNone) {
  EXPECT_EQ(NearestOf(kNames, "placement"), "");
  EXPECT_EQ(NearestOf(kNames, "xy"), "");
  EXPECT_EQ(NearestOf(kNames, ""), "");
  EXPECT_EQ(NearestOf({}, "listen"), "");
}

}  // namespace
}  // namespace eris::text
