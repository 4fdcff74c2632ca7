// The paper's Figure 6 number by number, then properties over random samples with printed seeds.
#include "balancer/one_shot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "tests/support/load_samples.h"

namespace eris::balancer {
namespace {

using test::MakeSample;
using test::Part;
using test::Starts;

// What the shares would be, by the sample's own curve.
double ImbalanceUnder(const LoadSample& sample, const std::vector<uint64_t>& starts) {
  const LoadCurve curve(sample);
  std::vector<double> loads;
  for (size_t i = 0; i < starts.size(); ++i) {
    const Position end = i + 1 < starts.size() ? Position{starts[i + 1]} : curve.end();
    loads.push_back(static_cast<double>(curve.Below(end) - curve.Below(starts[i])));
  }
  return Imbalance(loads);
}

TEST(OneShotTest, Figure6OfThePaper) {
  // Eight partitions of 1000 keys; 3 to 6 get a quarter of the accesses each, evenly spread.
  const std::vector<uint64_t> none(10, 0);
  const std::vector<uint64_t> quarter(10, 25);
  const LoadSample sample = MakeSample({{0, none},
                                        {1000, none},
                                        {2000, quarter},
                                        {3000, quarter},
                                        {4000, quarter},
                                        {5000, quarter},
                                        {6000, none},
                                        {7000, none}},
                                       8000);
  const Partitioning target = OneShot(sample);
  // P1 = p1, p2 and the first half of p3; P2 = the second half of p3; P3, P4 = the halves of p4;
  // P5, P6 = the halves of p5; P7 = the first half of p6; P8 = the rest.
  EXPECT_EQ(Starts(target), (std::vector<uint64_t>{0, 2500, 3000, 3500, 4000, 4500, 5000, 5500}));
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(target.owners[i].value, i);
  EXPECT_EQ(ImbalanceUnder(sample, Starts(target)), 0);
}

TEST(OneShotTest, Figure6InTheWholeKeySpace) {
  // Two hot partitions and two cold ones, each a quarter of all keys; the last range has no end.
  const uint64_t quarter = uint64_t{1} << 62;
  const LoadSample sample = MakeSample(
      {{0, {0}}, {quarter, {50}}, {2 * quarter, {50}}, {3 * quarter, {0}}}, std::nullopt);
  EXPECT_EQ(Starts(OneShot(sample)), (std::vector<uint64_t>{0, quarter + quarter / 2, 2 * quarter,
                                                            2 * quarter + quarter / 2}));
}

TEST(OneShotTest, LoadAtTheEndOfTheKeySpaceIsDivided) {
  const LoadSample sample = MakeSample({{0, {0}}, {uint64_t{1} << 63, {8}}}, std::nullopt);
  EXPECT_EQ(Starts(OneShot(sample)), (std::vector<uint64_t>{0, uint64_t{3} << 62}));
}

TEST(OneShotTest, NoLoadChangesNothing) {
  const LoadSample sample = MakeSample({{5, {0, 0}}, {10, {}}, {90, {0}}}, std::nullopt);
  EXPECT_EQ(OneShot(sample), CurrentPartitioning(sample));
}

TEST(OneShotTest, OnePartitionChangesNothing) {
  const LoadSample sample = MakeSample({{5, {1, 900}}}, std::nullopt);
  EXPECT_EQ(OneShot(sample), CurrentPartitioning(sample));
}

TEST(OneShotTest, EqualLoadChangesNothing) {
  const LoadSample sample =
      MakeSample({{0, {3, 1}}, {10, {0, 4}}, {1000, {4, 0}}, {5000, {2, 2}}}, 6000);
  EXPECT_EQ(OneShot(sample), CurrentPartitioning(sample));
}

TEST(OneShotTest, BoundaryInAGapStaysWhereItIs) {
  // The boundary 500 lies in a gap without load between 200 and 800; only the one at 1000 has to
  // move.
  const LoadSample sample =
      MakeSample({{0, {1, 1, 0, 0, 0}}, {500, {0, 0, 0, 1, 1}}, {1000, {4, 4}}}, 2000);
  // Thirds of 12 are cut at 4 and 8: exactly the end of the second partition and the middle of the
  // third.
  EXPECT_EQ(Starts(OneShot(sample)), (std::vector<uint64_t>{0, 1000, 1500}));
  const LoadSample gap = MakeSample({{0, {4, 0}}, {500, {0, 2}}, {1000, {6, 0}}}, 2000);
  EXPECT_EQ(Starts(OneShot(gap)).at(1), 500u);
}

TEST(OneShotTest, SubRangesOfTheirOwnWidthPlaceTheBoundaryInsideThem) {
  // As sampled of an index filled up to key 6400 whose last partition has no end.
  LoadSample sample = MakeSample({{0, {0}}, {100, {}}}, std::nullopt);
  sample.partitions[1].sub_ranges =
      test::SubRangesOfWidth(sample.partitions[1].range, 100, std::vector<uint64_t>(64, 1));
  EXPECT_EQ(Starts(OneShot(sample)), (std::vector<uint64_t>{0, 3300}));
}

TEST(OneShotTest, SingleHotKeyAloneCannotBeImproved) {
  LoadSample sample = MakeSample({{0, {0}}, {100, {}}, {200, {0}}}, std::nullopt);
  sample.partitions[1].sub_ranges = {{150, 1000000}, {151, 0}};
  EXPECT_EQ(OneShot(sample), CurrentPartitioning(sample));
}

TEST(OneShotTest, HotKeyFillsOnePartitionAndTheOthersShareTheRest) {
  LoadSample sample = MakeSample({{0, {}}, {100, {0}}, {200, {0}}, {300, {0}}}, std::nullopt);
  sample.partitions[0].sub_ranges = {{0, 99}, {99, 1000}};
  const std::vector<uint64_t> starts = Starts(OneShot(sample));
  EXPECT_EQ(starts, (std::vector<uint64_t>{0, 33, 66, 99}));
}

TEST(OneShotTest, OneKeyPartitionsStayStrictlyAscending) {
  // Five keys for five partitions: there is one partitioning only.
  const LoadSample sample = MakeSample({{0, {9}}, {1, {0}}, {2, {0}}, {3, {0}}, {4, {1}}}, 5);
  EXPECT_EQ(OneShot(sample), CurrentPartitioning(sample));
}

TEST(OneShotTest, LastKeyOfTheKeySpaceCanBeHot) {
  constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
  const LoadSample sample =
      MakeSample({{0, {0}}, {kLast - 9, std::vector<uint64_t>(10, 1)}}, std::nullopt);
  EXPECT_EQ(Starts(OneShot(sample)), (std::vector<uint64_t>{0, kLast - 4}));
}

class OneShotPropertyTest : public testing::TestWithParam<uint64_t> {};

LoadSample RandomSample(std::mt19937_64& random) {
  const size_t count = 1 + random() % 40;
  const bool narrow = random() % 4 == 0;  // few keys, many collisions
  std::set<uint64_t> starts;
  const int shift = narrow ? 0 : static_cast<int>(random() % 64);
  while (starts.size() < count) starts.insert(narrow ? random() % 60 : random() >> shift % 50);
  std::vector<Part> parts;
  for (const uint64_t start : starts) {
    Part part{start, {}};
    const size_t buckets = random() % 65;
    const uint64_t kind = random() % 5;
    for (size_t i = 0; i < buckets; ++i) {
      uint64_t weight = 0;                                               // kind 0: nothing
      if (kind == 1) weight = random() % 10;                             // even
      if (kind == 2) weight = random() % 16 == 0 ? random() % 1000 : 0;  // sparse
      if (kind == 3) weight = i == buckets / 2 ? 1000000 : 1;            // a hot spot
      if (kind == 4) weight = random();                                  // huge
      part.weights.push_back(weight);
    }
    parts.push_back(part);
  }
  std::optional<uint64_t> end;
  if (random() % 2 == 0 && *starts.rbegin() < std::numeric_limits<uint64_t>::max() - 100) {
    end = *starts.rbegin() + 1 + random() % 100;
  }
  LoadSample sample = MakeSample(parts, end);
  for (PartitionSample& partition : sample.partitions) {
    if (random() % 3 != 0) continue;
    std::vector<uint64_t> weights;
    for (const SubRange& sub_range : partition.sub_ranges) weights.push_back(sub_range.weight);
    partition.sub_ranges =
        test::SubRangesOfWidth(partition.range, uint64_t{1} << random() % 60, weights);
  }
  return sample;
}

TEST_P(OneShotPropertyTest, CoversAllKeysAndIsNeverWorse) {
  const uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  for (int turn = 0; turn < 2000; ++turn) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", turn " << turn);
    const LoadSample sample = RandomSample(random);
    const Partitioning before = CurrentPartitioning(sample);
    const Partitioning after = OneShot(sample);
    ASSERT_EQ(after.owners, before.owners);
    ASSERT_EQ(after.starts.size(), before.starts.size());
    ASSERT_EQ(after.starts.front(), before.starts.front());
    for (size_t i = 1; i < after.starts.size(); ++i) {
      ASSERT_LT(after.starts[i - 1], after.starts[i]);
    }
    const auto& end = sample.partitions.back().range.hi;
    ASSERT_TRUE(!end || after.starts.back() < *end);
    ASSERT_LE(ImbalanceUnder(sample, Starts(after)), ImbalanceUnder(sample, Starts(before)) + 1e-9);
  }
}

TEST_P(OneShotPropertyTest, WithoutHotKeysTheSharesBecomeEqual) {
  const uint64_t seed = GetParam();
  std::mt19937_64 random(seed);
  for (int turn = 0; turn < 300; ++turn) {
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", turn " << turn);
    const size_t count = 2 + random() % 30;
    std::vector<Part> parts;
    for (uint64_t i = 0; i < count; ++i) {
      Part part{i << 40, {}};
      for (int j = 0; j < 64; ++j) part.weights.push_back(random() % 1000 * (random() % 2));
      parts.push_back(part);
    }
    const LoadSample sample = MakeSample(parts, uint64_t{count} << 40);
    ASSERT_LT(ImbalanceUnder(sample, Starts(OneShot(sample))), 1e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, OneShotPropertyTest, testing::Values(1, 2, 3));

}  // namespace
}  // namespace eris::balancer
