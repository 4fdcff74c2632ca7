#include "engine/options/balancer_limits.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace eris::engine {
namespace {

// The message names the option, its value and a limit.
void ExpectRefused(const BalancerOptions& options, const std::string& option,
                   const std::string& value, const std::string& limit) {
  const absl::Status status = CheckBalancerOptions(options);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << option << " " << value;
  for (const std::string& part : {option, value, limit}) {
    EXPECT_NE(std::string(status.message()).find(part), std::string::npos)
        << status << " should name " << part;
  }
}

TEST(BalancerLimitsTest, DefaultsAndLimitsThemselvesAreGood) {
  EXPECT_TRUE(CheckBalancerOptions({}).ok());
  EXPECT_TRUE(CheckBalancerOptions({.algorithm = BalanceAlgorithm::kMovingAverage,
                                    .window = 65'536,
                                    .threshold = 100,
                                    .period_ms = 3'600'000,
                                    .max_pause_us = 1'000'000})
                  .ok());
  EXPECT_TRUE(CheckBalancerOptions({.algorithm = BalanceAlgorithm::kSize,
                                    .window = 1,
                                    .threshold = 0.01,
                                    .period_ms = 10,
                                    .max_pause_us = 10})
                  .ok());
}

TEST(BalancerLimitsTest, WhatLiesOutsideIsRefused) {
  ExpectRefused({.algorithm = BalanceAlgorithm{0}}, "algorithm", "0", "3");
  ExpectRefused({.algorithm = BalanceAlgorithm{77}}, "algorithm", "77", "3");
  ExpectRefused({.window = 0}, "window", "0", "1");
  ExpectRefused({.window = 65'537}, "window", "65537", "65536");
  ExpectRefused({.threshold = 0.009}, "threshold", "0.009", "0.01");
  ExpectRefused({.threshold = 100.5}, "threshold", "100.5", "100");
  ExpectRefused({.threshold = std::numeric_limits<double>::quiet_NaN()}, "threshold", "nan", "100");
  ExpectRefused({.period_ms = 9}, "period_ms", "9", "10");
  ExpectRefused({.period_ms = 3'600'001}, "period_ms", "3600001", "3600000");
  ExpectRefused({.max_pause_us = 9}, "max_pause_us", "9", "10");
  ExpectRefused({.max_pause_us = 1'000'001}, "max_pause_us", "1000001", "1000000");
}

}  // namespace
}  // namespace eris::engine
