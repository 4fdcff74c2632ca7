#include "server/guard/idle_trim.h"

#include "gtest/gtest.h"

namespace eris::server {
namespace {

class IdleTrimTest : public ::testing::Test {
 protected:
  int armed_ = 0;
  int trimmed_ = 0;
  uint64_t activity_ = 0;
  bool busy_ = false;
  IdleTrim trim_{{.arm = [this](IdleTrim::Clock::duration) { ++armed_; },
                  .activity = [this] { return activity_; },
                  .busy = [this] { return busy_; },
                  .trim = [this] { ++trimmed_; }}};
};

TEST_F(IdleTrimTest, QuietServerIsTrimmedOnceAndSleeps) {
  trim_.Used();
  trim_.Used();
  EXPECT_EQ(armed_, 1);
  EXPECT_TRUE(trim_.Look());  // it may have been used just now
  EXPECT_EQ(trimmed_, 0);
  EXPECT_FALSE(trim_.Look());
  EXPECT_EQ(trimmed_, 1);
  trim_.Used();  // a call that came after the trim
  EXPECT_EQ(armed_, 2);
}

TEST_F(IdleTrimTest, ServerInUseIsNotTrimmed) {
  trim_.Used();
  for (int look = 0; look < 5; ++look) {
    ++activity_;
    EXPECT_TRUE(trim_.Look());
  }
  busy_ = true;  // calls hold much, and wait
  for (int look = 0; look < 5; ++look) EXPECT_TRUE(trim_.Look());
  EXPECT_EQ(trimmed_, 0);
  busy_ = false;
  EXPECT_FALSE(trim_.Look());
  EXPECT_EQ(trimmed_, 1);
  EXPECT_EQ(armed_, 1);
}

}  // namespace
}  // namespace eris::server
