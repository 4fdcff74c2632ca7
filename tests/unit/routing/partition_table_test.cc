#include "routing/partition_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/seed.h"

namespace eris::routing {
namespace {

constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();

std::vector<AeuId> Owners(size_t n) {
  std::vector<AeuId> owners;
  for (size_t i = 0; i < n; ++i) owners.push_back({static_cast<uint32_t>(i)});
  return owners;
}

TEST(RangeTableTest, KeyOnBoundaryGoesToTheRightPartition) {
  const RangeTable table(1, {0, 10, 20}, Owners(3));
  EXPECT_EQ(table.PartitionOf(9), 0u);
  EXPECT_EQ(table.PartitionOf(10), 1u);
  EXPECT_EQ(table.PartitionOf(19), 1u);
  EXPECT_EQ(table.PartitionOf(20), 2u);
}

TEST(RangeTableTest, TheEndsOfTheKeySpaceHaveOwners) {
  const RangeTable table(1, {0, 10, kKeyMax}, {{7}, {3}, {5}});
  EXPECT_EQ(table.OwnerOf(0), AeuId{7});
  EXPECT_EQ(table.OwnerOf(kKeyMax - 1), AeuId{3});
  EXPECT_EQ(table.OwnerOf(kKeyMax), AeuId{5});
  EXPECT_EQ(table.RangeOf(2).lo.head, kKeyMax);
  EXPECT_FALSE(table.RangeOf(2).hi);
}

TEST(RangeTableTest, ASinglePartitionOwnsEverything) {
  const RangeTable table(1, {0}, {{4}});
  std::vector<uint64_t> keys{0, 1, kKeyMax};
  std::vector<AeuId> owners(3);
  table.OwnersOf(keys, owners);
  EXPECT_EQ(owners, (std::vector<AeuId>{{4}, {4}, {4}}));
  EXPECT_EQ(table.RangeOf(0), (storage::Range{{}, std::nullopt}));
}

TEST(RangeTableTest, ABatchAgreesWithSingleKeysAndARunThroughTheStarts) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (size_t partitions = 1; partitions < 130; ++partitions) {
    std::vector<uint64_t> starts{0};
    while (starts.size() < partitions) starts.push_back(1 + random() % 3 * (random() >> 1));
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    const RangeTable table(1, starts, Owners(starts.size()));
    std::vector<uint64_t> keys{0, kKeyMax};
    for (const uint64_t start : starts) {
      keys.push_back(start);
      keys.push_back(start - 1);  // of 0: the last key there is
      keys.push_back(start + 1);
    }
    std::vector<AeuId> owners(keys.size());
    table.OwnersOf(keys, owners);
    for (size_t i = 0; i < keys.size(); ++i) {
      size_t expected = 0;
      while (expected + 1 < starts.size() && starts[expected + 1] <= keys[i]) ++expected;
      ASSERT_EQ(table.PartitionOf(keys[i]), expected) << keys[i];
      ASSERT_EQ(owners[i].value, expected) << keys[i];
      ASSERT_TRUE(table.RangeOf(expected).ContainsU64(keys[i]));
    }
  }
}

TEST(RangeTableDeathTest, StartsThatDoNotAscendAreRefused) {
  EXPECT_DEATH(RangeTable(1, {0, 5, 5}, Owners(3)), "check failed");
  EXPECT_DEATH(RangeTable(1, {1}, Owners(1)), "check failed");
  EXPECT_DEATH(RangeTable(1, {0, 1}, Owners(1)), "check failed");
}

TEST(ObjectRouteTest, ASupersededTableStaysReadable) {
  ObjectRoute route(3, {9}, std::make_unique<RangeTable>(1, std::vector<uint64_t>{0}, Owners(1)));
  const RangeTable& first = route.table();
  route.Publish(std::make_unique<RangeTable>(2, std::vector<uint64_t>{0, 8}, Owners(2)));
  EXPECT_EQ(first.version(), 1u);
  EXPECT_EQ(first.OwnerOf(9), AeuId{0});
  EXPECT_EQ(route.table().OwnerOf(9), AeuId{1});
}

TEST(ObjectRouteDeathTest, AVersionThatDoesNotGrowIsRefused) {
  ObjectRoute route(0, {1}, std::make_unique<RangeTable>(2, std::vector<uint64_t>{0}, Owners(1)));
  EXPECT_DEATH(route.Publish(std::make_unique<RangeTable>(2, std::vector<uint64_t>{0}, Owners(1))),
               "check failed");
}

TEST(ObjectRouteTest, ReadersSeeWholeTablesWhoseVersionsOnlyGrow) {
  constexpr uint64_t kVersions = 2'000;
  // Version v has one boundary, at v.
  const auto table = [](uint64_t version) {
    return std::make_unique<RangeTable>(version, std::vector<uint64_t>{0, version}, Owners(2));
  };
  ObjectRoute route(0, {1}, table(1));
  std::vector<std::thread> readers;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      for (uint64_t seen = 0; seen < kVersions;) {
        const RangeTable& now = route.table();
        if (now.version() < seen || now.OwnerOf(now.version() - 1).value != 0 ||
            now.OwnerOf(now.version()).value != 1) {
          wrong.fetch_add(1);
        }
        seen = now.version();
      }
    });
  }
  for (uint64_t version = 2; version <= kVersions; ++version) route.Publish(table(version));
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(), 0);
}

}  // namespace
}  // namespace eris::routing
