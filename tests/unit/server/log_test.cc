#include "server/log/log.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_split.h"
#include "server/log/log_limit.h"

namespace eris::server {
namespace {

class LogTest : public testing::Test {
 protected:
  LogTest() { testing::internal::CaptureStderr(); }
  ~LogTest() override { SetUpLog(LogFormat::kText, LogLevel::kInfo); }
  static std::string Written() { return testing::internal::GetCapturedStderr(); }
};

TEST_F(LogTest, WritesOneLineWithEscapedValues) {
  Log(LogLevel::kWarning, "connection cut", {{"peer", "1.2.3.4:5"}, {"sent", "a\"\nb"}});
  EXPECT_EQ(Written(), "eris: warning: connection cut peer=\"1.2.3.4:5\" sent=\"a\\\"\\nb\"\n");
}

TEST_F(LogTest, SaysNothingAboutAnInfosLevel) {
  Log(LogLevel::kInfo, "stopped");
  EXPECT_EQ(Written(), "eris: stopped\n");
}

TEST_F(LogTest, BracesAndPercentSignsAreNoFormat) {
  Log(LogLevel::kInfo, "100 % {} {0} %v %n", {{"a", "{}"}});
  EXPECT_EQ(Written(), "eris: 100 % {} {0} %v %n a=\"{}\"\n");
}

TEST_F(LogTest, JsonHasTimeLevelTextAndFields) {
  SetUpLog(LogFormat::kJson, LogLevel::kInfo);
  const std::string sent = std::string("a\"\n\\\x01") + "{}%v\xff";
  Log(LogLevel::kError, "it's \"broken\"", {{"peer", "1.2.3.4:5"}, {"sent", sent}});
  const std::string line = Written();
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  google::protobuf::Struct json;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(line, &json).ok()) << line;
  const auto field = [&json](const std::string& key) {
    return json.fields().at(key).string_value();
  };
  EXPECT_EQ(field("level"), "error");
  EXPECT_EQ(field("text"), "it's \"broken\"");
  EXPECT_EQ(field("peer"), "1.2.3.4:5");
  EXPECT_EQ(field("sent"), "a\\\"\\n\\\\\\x01{}%v\\xff");  // escaped: JSON has no such bytes
  EXPECT_THAT(field("time"),
              testing::MatchesRegex("20[0-9][0-9]-[0-9]+-[0-9]+T[0-9:]+\\.[0-9][0-9][0-9]Z"));
}

TEST_F(LogTest, LinesBelowTheLevelAreLeftOutAndNotCounted) {
  SetUpLog(LogFormat::kText, LogLevel::kWarning);
  const auto before = LogLines();
  Log(LogLevel::kInfo, "one");
  Log(LogLevel::kWarning, "two");
  Log(LogLevel::kError, "three");
  EXPECT_EQ(Written(), "eris: warning: two\neris: error: three\n");
  const auto after = LogLines();
  EXPECT_EQ(after[0] - before[0], 0u);
  EXPECT_EQ(after[1] - before[1], 1u);
  EXPECT_EQ(after[2] - before[2], 1u);
}

TEST_F(LogTest, LinesOfSeveralThreadsAreWhole) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 100; ++n) Log(LogLevel::kInfo, std::string(200, 'x'));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = absl::StrSplit(Written(), '\n', absl::SkipEmpty());
  EXPECT_EQ(lines.size(), 400u);
  for (const std::string& line : lines) EXPECT_EQ(line, "eris: " + std::string(200, 'x'));
}

TEST(LogLimitTest, TellsHowManyLinesWereLeftOut) {
  using std::chrono::milliseconds;
  LogLimit limit(2, milliseconds(100));
  const LogLimit::Clock::time_point start{};
  EXPECT_EQ(limit.Take(start), 0u);
  EXPECT_EQ(limit.Take(start + milliseconds(50)), 0u);
  EXPECT_EQ(limit.Take(start + milliseconds(60)), std::nullopt);
  EXPECT_EQ(limit.Take(start + milliseconds(99)), std::nullopt);
  EXPECT_EQ(limit.Take(start + milliseconds(100)), 2u);
  EXPECT_EQ(limit.Take(start + milliseconds(150)), 0u);
  EXPECT_EQ(limit.Take(start + milliseconds(199)), std::nullopt);
  EXPECT_EQ(limit.Take(start + milliseconds(1000)), 1u);
}

}  // namespace
}  // namespace eris::server
