#include "routing/ranges/bitmap_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "routing/ranges/published_table.h"
#include "tests/support/seed.h"

namespace eris::routing {
namespace {

using Aeus = std::vector<AeuId>;

TEST(BitmapTableTest, HoldersAreGivenInAscendingOrderHoweverTheyWereNamed) {
  const BitmapTable table(4, 200, Aeus{{199}, {0}, {64}, {63}, {0}, {128}});
  EXPECT_EQ(table.version(), 4u);
  EXPECT_EQ(table.aeus(), 200u);
  EXPECT_EQ(table.count(), 5u);
  EXPECT_EQ(table.Owners(), (Aeus{{0}, {63}, {64}, {128}, {199}}));
}

TEST(BitmapTableTest, AnObjectMayHaveNoHolder) {
  const BitmapTable table(1, 8, {});
  EXPECT_EQ(table.count(), 0u);
  EXPECT_TRUE(table.Owners().empty());
  EXPECT_FALSE(table.Holds({0}));
}

TEST(BitmapTableTest, AnAeuThatDoesNotExistHoldsNothing) {
  const BitmapTable table(1, 64, Aeus{{63}});
  EXPECT_TRUE(table.Holds({63}));
  EXPECT_FALSE(table.Holds({64}));
  EXPECT_FALSE(table.Holds({~0u}));
}

TEST(BitmapTableTest, TheNextVersionDiffersInOneAeuAndLeavesThisOneAsItIs) {
  const BitmapTable table(7, 128, Aeus{{3}, {100}});
  const auto more = table.With({64});
  EXPECT_EQ(more->version(), 8u);
  EXPECT_EQ(more->count(), 3u);
  EXPECT_EQ(more->Owners(), (Aeus{{3}, {64}, {100}}));
  const auto less = more->Without({3});
  EXPECT_EQ(less->version(), 9u);
  EXPECT_EQ(less->Owners(), (Aeus{{64}, {100}}));
  EXPECT_EQ(table.version(), 7u);
  EXPECT_EQ(table.Owners(), (Aeus{{3}, {100}}));
}

TEST(BitmapTableTest, RandomChangesAgreeWithASet) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (const uint32_t aeus : {1u, 63u, 64u, 65u, 512u}) {
    auto table = std::make_unique<const BitmapTable>(1, aeus, Aeus{});
    std::set<AeuId> model;
    for (int change = 0; change < 300; ++change) {
      const AeuId aeu{static_cast<uint32_t>(random() % aeus)};
      if (model.erase(aeu) > 0) {
        table = table->Without(aeu);
      } else {
        model.insert(aeu);
        table = table->With(aeu);
      }
      ASSERT_EQ(table->count(), model.size());
      ASSERT_EQ(table->Owners(), Aeus(model.begin(), model.end()));
      for (uint32_t i = 0; i < aeus; ++i) ASSERT_EQ(table->Holds({i}), model.contains(AeuId{i}));
    }
    EXPECT_EQ(table->version(), 301u);
  }
}

TEST(BitmapTableTest, VersionsArePublishedAsThoseOfRangesAre) {
  PublishedTable<BitmapTable> published(std::make_unique<BitmapTable>(1, 8, Aeus{{2}}));
  TableReaders readers;
  TableReader reader;
  readers.Add(&reader);
  const BitmapTable& before = reader.Acquire(published);
  published.Publish(published.Pin()->With({5}), readers);
  EXPECT_EQ(before.Owners(), Aeus{{2}});
  EXPECT_EQ(reader.Acquire(published).Owners(), (Aeus{{2}, {5}}));
  reader.Release();
  readers.Remove(&reader);
}

TEST(BitmapTableDeathTest, HoldersBeyondTheEngineAndChangesThatAreNoneAreRefused) {
  EXPECT_DEATH(BitmapTable(1, 64, Aeus{{64}}), "check failed");
  const BitmapTable table(1, 64, Aeus{{1}});
  EXPECT_DEATH(table.With({1}), "check failed");
  EXPECT_DEATH(table.With({64}), "check failed");
  EXPECT_DEATH(table.Without({2}), "check failed");
}

}  // namespace
}  // namespace eris::routing
