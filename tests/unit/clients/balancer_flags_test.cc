#include "clients/cli/balancer_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/clients/command_line.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<client::BalancerChange> Parse(const std::string& command_line) {
  BalancerFlags flags;
  Flags verb("test");
  flags.AddTo(verb);
  if (absl::Status status = verb.Parse(ArgumentsOf(command_line)); !status.ok()) return status;
  return flags.Change();
}

TEST(BalancerFlagsTest, FlagsThatAreNotGivenChangeNothing) {
  const auto change = Parse("");
  ASSERT_TRUE(change.ok());
  EXPECT_FALSE(change->enabled || change->algorithm || change->window || change->threshold ||
               change->period_ms || change->max_pause_us || change->max_bytes_per_s);
}

TEST(BalancerFlagsTest, EveryFlagReachesItsOption) {
  const auto change = Parse(
      "--enabled false --algorithm moving_average --window 7 --threshold 0.5 --period-ms 20 "
      "--max-pause-us 30 --max-bytes-per-s 3MiB");
  ASSERT_TRUE(change.ok()) << change.status();
  EXPECT_EQ(change->enabled, false);
  EXPECT_EQ(change->algorithm, BalanceAlgorithm::kMovingAverage);
  EXPECT_EQ(change->window, 7u);
  EXPECT_EQ(change->threshold, 0.5);
  EXPECT_EQ(change->period_ms, 20u);
  EXPECT_EQ(change->max_pause_us, 30u);
  EXPECT_EQ(change->max_bytes_per_s, 3u << 20);
}

TEST(BalancerFlagsTest, EveryAlgorithmHasItsName) {
  for (const auto algorithm :
       {BalanceAlgorithm::kOneShot, BalanceAlgorithm::kMovingAverage, BalanceAlgorithm::kSize}) {
    const auto change = Parse("--algorithm " + AlgorithmName(algorithm));
    ASSERT_TRUE(change.ok()) << change.status();
    EXPECT_EQ(change->algorithm, algorithm);
  }
  EXPECT_TRUE(absl::IsInvalidArgument(Parse("--algorithm fair").status()));
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
  EXPECT_TRUE(absl::IsInvalidArgument(Parse("--threshold much").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Parse("--enabled perhaps").status()));
}

}  // namespace
}  // namespace eris::cli
