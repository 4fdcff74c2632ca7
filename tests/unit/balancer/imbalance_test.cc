#include "balancer/imbalance.h"

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
  sample.partitions[0].weights = {1, 2, 3};
  sample.partitions[2].weights = {~uint64_t{0}, ~uint64_t{0}};
  EXPECT_THAT(PartitionLoads(sample), testing::ElementsAre(6, 0, std::ldexp(1.0, 65)));
}

}  // namespace
}  // namespace eris::balancer
