#include "server/log/log.h"

#include <gtest/gtest.h>

namespace eris::server {
namespace {

TEST(LogTest, WritesOneLineWithEscapedValues) {
  testing::internal::CaptureStderr();
  Log(LogLevel::kWarning, "connection cut", {{"peer", "1.2.3.4:5"}, {"sent", "a\"\nb"}});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "eris: warning: connection cut peer=\"1.2.3.4:5\" sent=\"a\\\"\\nb\"\n");
}

TEST(LogTest, SaysNothingAboutAnInfosLevel) {
  testing::internal::CaptureStderr();
  Log(LogLevel::kInfo, "stopped");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "eris: stopped\n");
}

}  // namespace
}  // namespace eris::server
