#include "clients/cli/balancer_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<client::BalancerChange> Parse(const std::string& command_line,
                                             const std::string& prefix = "") {
  CLI::App app;
  BalancerFlags flags;
  flags.AddTo(app, prefix, "Options");
  app.parse(command_line);
  return flags.Change();
}

TEST(BalancerFlagsTest, FlagsThatAreNotGivenChangeNothing) {
  BalancerOptions options{.enabled = false,
                          .algorithm = BalanceAlgorithm::kSize,
                          .window = 2,
                          .threshold = 3,
                          .period_ms = 44,
                          .max_pause_us = 55,
                          .max_bytes_per_s = 6};
  const auto change = Parse("");
  ASSERT_TRUE(change.ok());
  Apply(*change, options);
  EXPECT_FALSE(options.enabled);
  EXPECT_EQ(options.algorithm, BalanceAlgorithm::kSize);
  EXPECT_EQ(options.window, 2u);
  EXPECT_EQ(options.threshold, 3);
  EXPECT_EQ(options.period_ms, 44u);
  EXPECT_EQ(options.max_pause_us, 55u);
  EXPECT_EQ(options.max_bytes_per_s, 6u);
}

TEST(BalancerFlagsTest, EveryFlagReachesItsOption) {
  const auto change = Parse(
      "--balancer-enabled false --balancer-algorithm moving_average --balancer-window 7 "
      "--balancer-threshold 0.5 --balancer-period-ms 20 --balancer-max-pause-us 30 "
      "--balancer-max-bytes-per-s 3MiB",
      "balancer-");
  ASSERT_TRUE(change.ok()) << change.status();
  BalancerOptions options;
  Apply(*change, options);
  EXPECT_FALSE(options.enabled);
  EXPECT_EQ(options.algorithm, BalanceAlgorithm::kMovingAverage);
  EXPECT_EQ(options.window, 7u);
  EXPECT_EQ(options.threshold, 0.5);
  EXPECT_EQ(options.period_ms, 20u);
  EXPECT_EQ(options.max_pause_us, 30u);
  EXPECT_EQ(options.max_bytes_per_s, 3u << 20);
}

TEST(BalancerFlagsTest, EveryAlgorithmHasItsName) {
  for (const auto algorithm :
       {BalanceAlgorithm::kOneShot, BalanceAlgorithm::kMovingAverage, BalanceAlgorithm::kSize}) {
    const auto change = Parse("--algorithm " + AlgorithmName(algorithm));
    ASSERT_TRUE(change.ok()) << change.status();
    EXPECT_EQ(change->algorithm, algorithm);
  }
  EXPECT_THROW((void)Parse("--algorithm fair"), CLI::ParseError);
}

TEST(BalancerFlagsTest, TextThatIsNoNumberIsRefusedByName) {
  for (const char* number : {"-1", "1.5", "4294967296", "many", "0x10"}) {
    for (const char* flag : {"--window", "--period-ms", "--max-pause-us"}) {
      const auto change = Parse(std::string(flag) + "=" + number);
      EXPECT_THAT(std::string(change.status().message()),
                  HasSubstr(std::string(flag) + " is '" + number +
                            "', must be a number from 0 to "
                            "4294967295"));
    }
  }
  EXPECT_EQ(Parse("--window 4294967295")->window, 4294967295u);
  EXPECT_THAT(std::string(Parse("--max-bytes-per-s lots").status().message()),
              HasSubstr("--max-bytes-per-s: "));
  EXPECT_THROW((void)Parse("--threshold much"), CLI::ParseError);
  EXPECT_THROW((void)Parse("--enabled perhaps"), CLI::ParseError);
}

}  // namespace
}  // namespace eris::cli
