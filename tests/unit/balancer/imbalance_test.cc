#include "balancer/load/imbalance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace eris::balancer {
namespace {

TEST(ImbalanceTest, EqualLoadsHaveNone) {
  EXPECT_EQ(Imbalance(std::vector<double>{}), 0);
  EXPECT_EQ(Imbalance(std::vector<double>{5}), 0);
  EXPECT_EQ(Imbalance(std::vector<double>{3, 3, 3, 3}), 0);
  EXPECT_EQ(Imbalance(std::vector<double>{0, 0, 0}), 0);
}

TEST(ImbalanceTest, EverythingOnOneOfNIsTheRootOfNMinusOne) {
  EXPECT_DOUBLE_EQ(Imbalance(std::vector<double>{0, 8, 0, 0, 0}), 2);
}

TEST(ImbalanceTest, Figure6HasAnImbalanceOfOne) {
  EXPECT_DOUBLE_EQ(Imbalance(std::vector<double>{0, 0, 25, 25, 25, 25, 0, 0}), 1);
}

TEST(ImbalanceTest, ScaleDoesNotMatter) {
  EXPECT_DOUBLE_EQ(Imbalance(std::vector<double>{1, 2, 3}),
                   Imbalance(std::vector<double>{1e12, 2e12, 3e12}));
}

TEST(ImbalanceTest, PartitionLoadsAreSumsOfTheirHistograms) {
  LoadSample sample;
  sample.partitions.resize(3);
  sample.partitions[0].sub_ranges = {{0, 1}, {1, 2}, {2, 3}};
  sample.partitions[2].sub_ranges = {{0, ~uint64_t{0}}, {1, ~uint64_t{0}}};
  EXPECT_THAT(PartitionLoads(sample), testing::ElementsAre(6, 0, std::ldexp(1.0, 65)));
}

TEST(ImbalanceTest, AnAeuHasTheSumOfItsPartitions) {
  LoadSample sample;
  sample.partitions.resize(3);
  sample.partitions[0].owner = sample.partitions[2].owner = AeuId{1};
  sample.partitions[1].owner = AeuId{3};
  for (PartitionSample& partition : sample.partitions) {
    partition.sub_ranges = {{0, 5}};
    partition.size = 7;
  }
  EXPECT_THAT(AeuLoads(sample, 5), testing::ElementsAre(0, 10, 0, 5, 0));
  EXPECT_THAT(AeuRows(sample, 5), testing::ElementsAre(0, 14, 0, 7, 0));
}

}  // namespace
}  // namespace eris::balancer
