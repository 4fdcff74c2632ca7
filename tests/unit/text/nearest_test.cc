#include "text/nearest.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace eris::text {
namespace {

const std::vector<std::string> kOptionNames = {"listen", "http", "call_ms_max", "stall_ms_max"};

TEST(NearestTest, ANameIsFoundByOneOrTwoWrongCharacters) {
  EXPECT_EQ(NearestOf(kOptionNames, "lissten"), "listen");
  EXPECT_EQ(NearestOf(kOptionNames, "call_m_max"), "call_ms_max");
  EXPECT_EQ(NearestOf(kOptionNames, "stal_ms_mx"), "stall_ms_max");
  EXPECT_EQ(NearestOf(kOptionNames, "htp"), "http");
}

TEST(NearestTest, ABeginningIsEnough) { EXPECT_EQ(NearestOf(kOptionNames, "call"), "call_ms_max"); }

TEST(NearestTest, AnotherWordHasNone) {
  EXPECT_EQ(NearestOf(kOptionNames, "placement"), "");
  EXPECT_EQ(NearestOf(kOptionNames, "xy"), "");
  EXPECT_EQ(NearestOf(kOptionNames, ""), "");
  EXPECT_EQ(NearestOf({}, "listen"), "");
}

}  // namespace
}  // namespace eris::text
