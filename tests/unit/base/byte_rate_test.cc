#include "base/byte_rate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/seed.h"

namespace eris::base {
namespace {

TEST(ByteRateTest, WithoutALimitNobodyWaits) {
  ByteRate rate;
  rate.Add(uint64_t{1} << 40, 1'000);
  EXPECT_EQ(rate.WaitNs(1'000), 0u);
}

TEST(ByteRateTest, BytesArePaidForAtTheRate) {
  ByteRate rate;
  rate.SetLimit(1'000'000, 5'000);
  EXPECT_EQ(rate.WaitNs(5'000), 0u);
  rate.Add(500'000, 5'000);
  const uint64_t wait_ns = rate.WaitNs(5'000);
  EXPECT_NEAR(static_cast<double>(wait_ns), 5e8, 10);
  EXPECT_GT(rate.WaitNs(5'000 + wait_ns / 2), 0u);
  EXPECT_EQ(rate.WaitNs(5'000 + wait_ns), 0u);
}

TEST(ByteRateTest, IdleTimeIsNotSaved) {
  ByteRate rate;
  rate.SetLimit(1'000, 0);
  rate.Add(1'000, 3'600'000'000'000);
  EXPECT_GE(rate.WaitNs(3'600'000'000'000), 1'000'000'000u);
}

TEST(ByteRateTest, AnotherLimitHoldsForWhatIsOwed) {
  ByteRate rate;
  rate.SetLimit(1, 0);
  rate.Add(1'000'000, 0);
  EXPECT_GE(rate.WaitNs(0), 999'999'000'000'000u);
  rate.SetLimit(1'000'000'000, 0);
  EXPECT_LE(rate.WaitNs(0), 1'000'001u);
  rate.SetLimit(0, 0);
  EXPECT_EQ(rate.WaitNs(0), 0u);
}

TEST(ByteRateTest, TellsWhatIsPaidForInATime) {
  ByteRate rate;
  EXPECT_EQ(rate.BytesIn(1'000, 77), 77u);  // no limit
  rate.SetLimit(1'000'000, 0);
  EXPECT_EQ(rate.BytesIn(1'000'000'000, 5'000'000), 1'000'000u);
  EXPECT_EQ(rate.BytesIn(1'000'000'000, 500'000), 500'000u);
  EXPECT_EQ(rate.BytesIn(1, 500'000), 1u);
}

TEST(ByteRateTest, OverATimeNoMoreThanTheRatePasses) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  constexpr uint64_t kBytesPerS = 123'456'789;
  ByteRate rate;
  rate.SetLimit(kBytesPerS, 0);
  uint64_t now_ns = 0, bytes = 0, last = 0;
  for (int i = 0; i < 1'000; ++i) {
    now_ns += rate.WaitNs(now_ns);
    last = 1 + random() % 200'000;
    rate.Add(last, now_ns);
    bytes += last;
    const double allowed = static_cast<double>(now_ns) * kBytesPerS / 1e9;
    ASSERT_LE(static_cast<double>(bytes - last), allowed + 1'000);
    ASSERT_GE(static_cast<double>(bytes), allowed - 1'000);  // and it is used up
  }
}

TEST(ByteRateTest, WhatSeveralThreadsMoveIsOwedByAll) {
  constexpr uint64_t kThreads = 4, kAdds = 10'000;
  ByteRate rate;
  rate.SetLimit(1'000'000'000, 0);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&rate] {
      for (uint64_t add = 0; add < kAdds; ++add) rate.Add(100, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(rate.WaitNs(0), kThreads * kAdds * 100);
  EXPECT_LE(rate.WaitNs(0), kThreads * kAdds * 102);  // rounded up, each
}

}  // namespace
}  // namespace eris::base
