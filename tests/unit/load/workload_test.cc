#include "clients/load/workload.h"

#include <gtest/gtest.h>

#include "clients/load/random.h"

namespace eris::load {
namespace {

TEST(WorkloadTest, OperationsComeUpByTheirPercentages) {
  for (const char* name : {"a", "b", "c", "d", "e", "f", "lookup", "upsert", "scan"}) {
    const Workload workload = *FindWorkload(name);
    uint32_t sum = 0;
    for (const uint32_t percent : workload.percent) sum += percent;
    EXPECT_EQ(sum, 100u) << name;
    std::array<int, kOperations> picks{};
    Random random(5);
    constexpr int kDraws = 100'000;
    for (int i = 0; i < kDraws; ++i) ++picks[static_cast<size_t>(workload.Pick(random.Below(100)))];
    for (size_t i = 0; i < kOperations; ++i) {
      EXPECT_NEAR(100.0 * picks[i] / kDraws, workload.percent[i], 0.5) << name << ", " << i;
      EXPECT_EQ(picks[i] == 0, workload.percent[i] == 0) << name << ", " << i;
    }
  }
}

TEST(WorkloadTest, OtherNamesAreNone) {
  EXPECT_FALSE(FindWorkload("g"));
  EXPECT_FALSE(FindDistribution("normal"));
  for (const std::string& name : DistributionNames()) {
    EXPECT_EQ(NameOf(*FindDistribution(name)), name);
  }
}

}  // namespace
}  // namespace eris::load
