#include "routing/ranges/csb_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/support/seed.h"

namespace eris::routing {
namespace {

using Compare = CsbTree::Compare;

// Against the definition, for single keys and batches of all lengths that end within a group.
class CsbTreeTest : public testing::TestWithParam<Compare> {
 protected:
  static uint32_t Expected(const std::vector<uint64_t>& starts, uint64_t key) {
    const auto above = std::upper_bound(starts.begin(), starts.end(), key);
    return static_cast<uint32_t>(above - starts.begin()) - 1;
  }
  void Check(const std::vector<uint64_t>& starts, const std::vector<uint64_t>& keys) {
    const CsbTree tree(starts);
    std::vector<uint32_t> partitions(keys.size(), ~0u);
    tree.PartitionsOf(keys, partitions, GetParam());
    for (size_t i = 0; i < keys.size(); ++i) {
      ASSERT_EQ(partitions[i], Expected(starts, keys[i]))
          << "key " << keys[i] << " of " << starts.size() << " ranges";
    }
  }
  // The starts, their neighbours, and the ends of the key space.
  static std::vector<uint64_t> Edges(const std::vector<uint64_t>& starts) {
    std::vector<uint64_t> keys{UINT64_MAX, UINT64_MAX - 1};
    for (const uint64_t start : starts) keys.insert(keys.end(), {start - 1, start, start + 1});
    return keys;
  }
};

TEST_P(CsbTreeTest, OneRangeHoldsEverything) { Check({0}, {0, 1, UINT64_MAX - 1, UINT64_MAX}); }

TEST_P(CsbTreeTest, TheHighestKeyBelongsToTheLastRangeOfEverySize) {
  for (size_t ranges = 1; ranges <= 200; ++ranges) {
    std::vector<uint64_t> low(ranges);
    for (size_t i = 0; i < ranges; ++i) low[i] = i;
    Check(low, {UINT64_MAX, UINT64_MAX - 1, 0});
    // The last range is the one key 2^64-1.
    std::vector<uint64_t> high(ranges);
    for (size_t i = 1; i < ranges; ++i) high[i] = UINT64_MAX - (ranges - 1 - i);
    Check(high, Edges(high));
  }
}

TEST_P(CsbTreeTest, SizesAroundEveryFullLevelFindEveryBoundary) {
  constexpr size_t kChildren = CsbTree::kChildren;
  std::set<size_t> sizes;
  for (size_t ranges = 1; ranges <= 2 * kChildren * kChildren; ++ranges) sizes.insert(ranges);
  for (size_t full = kChildren * kChildren; full <= 6561; full *= kChildren) {
    for (size_t times = 1; times <= kChildren; times += 4) {
      sizes.insert({full * times - 1, full * times, full * times + 1});
    }
  }
  for (const size_t ranges : sizes) {
    std::vector<uint64_t> starts(ranges);
    for (size_t i = 0; i < ranges; ++i) starts[i] = i * 3;
    Check(starts, Edges(starts));
    if (HasFatalFailure()) return;
  }
}

TEST_P(CsbTreeTest, RandomStartsAndBatchesOfEveryLengthAgreeWithTheDefinition) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (size_t length = 0; length <= 140; ++length) {
    std::set<uint64_t> distinct{0};
    const size_t ranges = 1 + random() % 1000;
    while (distinct.size() < ranges) distinct.insert(random() >> random() % 50);
    const std::vector<uint64_t> starts(distinct.begin(), distinct.end());
    std::vector<uint64_t> keys(length);
    for (uint64_t& key : keys) {
      key = random() % 2 == 0 ? random() : starts[random() % ranges] - random() % 2;
    }
    Check(starts, keys);
    if (HasFatalFailure()) return;
  }
}

// What this processor has.
std::vector<Compare> Supported() {
  std::vector<Compare> supported{Compare::kScalar};
  if (CsbTree::Supports(Compare::kAvx512)) supported.push_back(Compare::kAvx512);
  return supported;
}

INSTANTIATE_TEST_SUITE_P(Comparisons, CsbTreeTest, testing::ValuesIn(Supported()),
                         [](const testing::TestParamInfo<Compare>& tested) -> std::string {
                           return tested.param == Compare::kScalar ? "Scalar" : "Avx512";
                         });

TEST(CsbTreeSizeTest, ARangeCostsEightBytes) {
  std::vector<uint64_t> starts(100'000);
  for (size_t i = 0; i < starts.size(); ++i) starts[i] = i;
  EXPECT_LE(CsbTree(starts).bytes(), 8 * starts.size() + 1024);
}

}  // namespace
}  // namespace eris::routing
