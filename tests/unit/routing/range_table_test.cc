#include "routing/ranges/range_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include "tests/support/property.h"
#include "tests/support/seed.h"

namespace eris::routing {
namespace {

constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();

std::vector<AeuId> Owners(size_t n) {
  std::vector<AeuId> owners;
  for (size_t i = 0; i < n; ++i) owners.push_back({static_cast<uint32_t>(i)});
  return owners;
}

std::vector<uint32_t> PartitionsOf(const RangeTable& table, uint32_t aeu) {
  const auto partitions = table.PartitionsOf({aeu});
  return {partitions.begin(), partitions.end()};
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

// Small tables, the sizes around the one from which on there is a tree, and large ones.
TEST(RangeTableTest, ABatchAgreesWithSingleKeysAndARunThroughTheStarts) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  const size_t tree_min = RangeTable::TreeRangesMin(CsbTree::Best());
  std::set<size_t> sizes{tree_min - 1, tree_min, tree_min + 1, 5000};
  for (size_t partitions = 1; partitions < 130; ++partitions) sizes.insert(partitions);
  for (const size_t partitions : sizes) {
    std::set<uint64_t> distinct{0};
    while (distinct.size() < partitions) distinct.insert(1 + random() % 3 * (random() >> 1));
    const std::vector<uint64_t> starts(distinct.begin(), distinct.end());
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
      const auto above = std::upper_bound(starts.begin(), starts.end(), keys[i]);
      const auto expected = static_cast<size_t>(above - starts.begin()) - 1;
      ASSERT_EQ(table.PartitionOf(keys[i]), expected) << keys[i];
      ASSERT_EQ(owners[i].value, expected) << keys[i];
      ASSERT_TRUE(table.RangeOf(expected).ContainsU64(keys[i]));
    }
  }
}

TEST(RangeTableTest, AnAeusPartitionsAreGivenInOrder) {
  const RangeTable table(1, {0, 10, 20, 30, 40}, {{5}, {2}, {5}, {0}, {2}});
  EXPECT_EQ(PartitionsOf(table, 5), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(PartitionsOf(table, 2), (std::vector<uint32_t>{1, 4}));
  EXPECT_EQ(PartitionsOf(table, 0), std::vector<uint32_t>{3});
}

TEST(RangeTableTest, AnAeuWithoutPartitionsHasNone) {
  const RangeTable table(1, {0, 10}, {{5}, {5}});
  for (const uint32_t aeu : {0u, 4u, 6u, 7u, 511u, std::numeric_limits<uint32_t>::max()}) {
    EXPECT_TRUE(table.PartitionsOf({aeu}).empty()) << aeu;
  }
}

TEST(RangeTableTest, TheAeusPartitionsTogetherAreAllOfThem) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 100; ++round) {
    const size_t partitions = 1 + random() % 300;
    const uint32_t aeus = 1 + static_cast<uint32_t>(random() % 40);
    std::vector<uint64_t> starts(partitions);
    std::vector<AeuId> owners(partitions);
    for (size_t i = 0; i < partitions; ++i) {
      starts[i] = i * 7;
      owners[i] = {static_cast<uint32_t>(random() % aeus)};
    }
    const RangeTable table(1, starts, owners);
    size_t seen = 0;
    for (uint32_t aeu = 0; aeu < aeus; ++aeu) {
      const std::vector<uint32_t> owned = PartitionsOf(table, aeu);
      EXPECT_TRUE(std::is_sorted(owned.begin(), owned.end()));
      for (const uint32_t partition : owned) ASSERT_EQ(owners[partition], AeuId{aeu});
      seen += owned.size();
    }
    ASSERT_EQ(seen, partitions);
  }
}

std::unique_ptr<const RangeTable> With(const RangeTable& table, uint64_t lo,
                                       std::optional<uint64_t> hi, uint32_t owner) {
  return table.With(storage::Range::FromPublic({lo, hi}), {owner});
}

TEST(RangeTableTest, ARangeInsideAnothersCutsItInThree) {
  const RangeTable table(4, {0, 100}, {{1}, {2}});
  const auto next = With(table, 120, 130, 7);
  EXPECT_EQ(next->version(), 5u);
  EXPECT_EQ(next->starts(), (std::vector<uint64_t>{0, 100, 120, 130}));
  EXPECT_EQ(next->owners(), (std::vector<AeuId>{{1}, {2}, {7}, {2}}));
  EXPECT_EQ(table.starts(), (std::vector<uint64_t>{0, 100}));  // as it was
}

TEST(RangeTableTest, NeighboursOfOneOwnerBecomeOnePartition) {
  const RangeTable table(1, {0, 100, 200}, {{1}, {2}, {1}});
  EXPECT_EQ(With(table, 100, 150, 1)->starts(), (std::vector<uint64_t>{0, 150, 200}));
  EXPECT_EQ(With(table, 150, 200, 1)->starts(), (std::vector<uint64_t>{0, 100, 150}));
  const auto all = With(table, 100, 200, 1);
  EXPECT_EQ(all->starts(), (std::vector<uint64_t>{0}));
  EXPECT_EQ(all->owners(), (std::vector<AeuId>{{1}}));
  // What the owner has already.
  EXPECT_EQ(With(table, 120, 130, 2)->starts(), table.starts());
}

TEST(RangeTableTest, ARangeMayCoverManyPartitionsAndTheEndsOfTheKeySpace) {
  const RangeTable table(1, {0, 10, 20, 30, kKeyMax}, {{0}, {1}, {2}, {3}, {4}});
  EXPECT_EQ(With(table, 5, 25, 9)->starts(), (std::vector<uint64_t>{0, 5, 25, 30, kKeyMax}));
  EXPECT_EQ(With(table, 0, std::nullopt, 9)->owners(), (std::vector<AeuId>{{9}}));
  EXPECT_EQ(With(table, 0, 10, 9)->owners(), (std::vector<AeuId>{{9}, {1}, {2}, {3}, {4}}));
  EXPECT_EQ(With(table, 20, std::nullopt, 9)->owners(), (std::vector<AeuId>{{0}, {1}, {9}}));
  EXPECT_EQ(With(table, kKeyMax, std::nullopt, 3)->owners(),
            (std::vector<AeuId>{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(With(table, 30, kKeyMax, 4)->starts(), (std::vector<uint64_t>{0, 10, 20, 30}));
}

// Against a map of starts, over many versions: small tables, and ones that have a tree.
TEST(RangeTableTest, AnyNumberOfVersionsAgreesWithAMap) {
  test::ExpectHolds({.cases = 60}, [] {
    const auto seed = *rc::gen::arbitrary<uint64_t>();
    std::mt19937_64 random(seed);
    const bool large = random() % 4 == 0;
    const uint32_t aeus = 1 + static_cast<uint32_t>(random() % (large ? 40 : 4));
    std::vector<uint64_t> keys{0, 1, kKeyMax - 1, kKeyMax};
    for (int i = 0; i < (large ? 300 : 6); ++i) {
      keys.push_back(random() % 2 == 0 ? random() : 1000 + random() % 64);
    }
    std::map<uint64_t, AeuId> model{{0, {0}}};  // merged
    auto table =
        std::make_unique<const RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}});
    const auto owner_in_model = [&](uint64_t key) {
      return std::prev(model.upper_bound(key))->second;
    };
    for (int version = 2; version < (large ? 400 : 40); ++version) {
      const uint64_t lo = keys[random() % keys.size()];
      std::optional<uint64_t> hi = keys[random() % keys.size()];
      if (*hi <= lo) hi.reset();
      const AeuId owner{static_cast<uint32_t>(random() % aeus)};
      table = With(*table, lo, hi, owner.value);
      const AeuId behind = hi ? owner_in_model(*hi) : AeuId{};
      model.erase(model.lower_bound(lo), hi ? model.lower_bound(*hi) : model.end());
      model[lo] = owner;
      if (hi) model.try_emplace(*hi, behind);
      for (auto it = std::next(model.begin()); it != model.end();) {
        it = std::prev(it)->second == it->second ? model.erase(it) : std::next(it);
      }
      std::vector<uint64_t> starts;
      std::vector<AeuId> owners;
      for (const auto& [start, whose] : model) starts.push_back(start), owners.push_back(whose);
      RC_ASSERT(table->version() == static_cast<uint64_t>(version));
      RC_ASSERT(table->starts() == starts);
      RC_ASSERT(table->owners() == owners);
      for (const uint64_t key : keys) RC_ASSERT(table->OwnerOf(key) == owner_in_model(key));
    }
  });
}

TEST(RangeTableDeathTest, AnEmptyRangeIsNobodys) {
  const RangeTable table(1, {0}, {{0}});
  EXPECT_DEATH(With(table, 5, 5, 1), "check failed");
}

TEST(RangeTableDeathTest, StartsThatDoNotAscendAreRefused) {
  EXPECT_DEATH(RangeTable(1, {0, 5, 5}, Owners(3)), "check failed");
  EXPECT_DEATH(RangeTable(1, {1}, Owners(1)), "check failed");
  EXPECT_DEATH(RangeTable(1, {0, 1}, Owners(1)), "check failed");
}

}  // namespace
}  // namespace eris::routing
