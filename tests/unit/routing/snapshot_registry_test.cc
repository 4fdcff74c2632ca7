#include "routing/snapshot_registry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

namespace eris::routing {
namespace {

class SnapshotRegistryTest : public testing::Test {
 protected:
  storage::SnapshotView View() const {
    storage::SnapshotView view;
    registry_->Read(registry_->Now(), view);
    return view;
  }
  using Active = std::vector<uint64_t>;
  const std::unique_ptr<SnapshotRegistry> registry_ = std::make_unique<SnapshotRegistry>();
};

TEST_F(SnapshotRegistryTest, EpochBeginsWithOneAndGrowsWithEachSnapshot) {
  EXPECT_EQ(View().epoch, 1u);
  const auto first = registry_->Begin();
  const auto second = registry_->Begin();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->epoch, 1u);
  EXPECT_EQ(second->epoch, 2u);
  EXPECT_EQ(View().epoch, 3u);
  EXPECT_EQ(View().active, (Active{1, 2}));
}

TEST_F(SnapshotRegistryTest, ActiveOnesAscendWhereverTheirSlotsAre) {
  const auto first = registry_->Begin();
  ASSERT_TRUE(registry_->Begin());
  registry_->End(first->slot);
  const auto third = registry_->Begin();
  EXPECT_EQ(third->slot, first->slot);
  EXPECT_EQ(View().active, (Active{2, 3}));
}

TEST_F(SnapshotRegistryTest, MarkChangesWithBeginEndAndAbortAlone) {
  const auto begin = registry_->Now();
  EXPECT_EQ(registry_->Now(), begin);
  const auto held = registry_->Begin();
  const auto begun = registry_->Now();
  EXPECT_NE(begun, begin);
  registry_->Abort(held->slot);
  const auto aborted = registry_->Now();
  EXPECT_NE(aborted, begun);
  registry_->End(held->slot);
  EXPECT_NE(registry_->Now(), aborted);
  EXPECT_FALSE(registry_->AbortEpoch(held->epoch));
}

TEST_F(SnapshotRegistryTest, AbortedOneIsNeitherActiveNorHeld) {
  const auto held = registry_->Begin();
  EXPECT_TRUE(registry_->Holds(held->epoch));
  EXPECT_FALSE(registry_->aborted(held->slot));
  registry_->Abort(held->slot);
  EXPECT_FALSE(registry_->Holds(held->epoch));
  EXPECT_TRUE(registry_->aborted(held->slot));
  EXPECT_TRUE(View().active.empty());
  registry_->End(held->slot);
  const auto next = registry_->Begin();
  EXPECT_EQ(next->slot, held->slot);
  EXPECT_FALSE(registry_->aborted(next->slot));
}

TEST_F(SnapshotRegistryTest, AbortByEpochHitsThatSnapshotAlone) {
  const auto first = registry_->Begin();
  const auto second = registry_->Begin();
  EXPECT_TRUE(registry_->AbortEpoch(first->epoch));
  EXPECT_FALSE(registry_->AbortEpoch(first->epoch));
  EXPECT_TRUE(registry_->aborted(first->slot));
  EXPECT_FALSE(registry_->aborted(second->slot));
  registry_->End(second->slot);
  EXPECT_FALSE(registry_->AbortEpoch(second->epoch));
}

TEST_F(SnapshotRegistryTest, AbortByAgeHitsTheOlderOnes) {
  const auto old = registry_->Begin(100);
  const auto young = registry_->Begin(200);
  EXPECT_FALSE(registry_->AbortBegunBefore(100));
  EXPECT_TRUE(registry_->AbortBegunBefore(200));
  EXPECT_TRUE(registry_->aborted(old->slot));
  EXPECT_TRUE(registry_->Holds(young->epoch));
}

TEST_F(SnapshotRegistryTest, NoMoreThanTheSlots) {
  std::vector<SnapshotRegistry::Held> held;
  for (uint32_t i = 0; i < SnapshotRegistry::kSlots; ++i) {
    const auto one = registry_->Begin();
    ASSERT_TRUE(one);
    held.push_back(*one);
  }
  EXPECT_FALSE(registry_->Begin());
  EXPECT_EQ(View().active.size(), SnapshotRegistry::kSlots);
  registry_->End(held[7].slot);
  EXPECT_EQ(registry_->Begin()->slot, held[7].slot);
}

// What each turn of an AEU relies on: a view finds every snapshot below its epoch that is held.
TEST_F(SnapshotRegistryTest, ViewsMissNoHeldSnapshotOfThreads) {
  constexpr int kThreads = 3;
  std::atomic<uint64_t> newest_held[kThreads] = {};
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000; ++i) {
        const auto held = registry_->Begin();
        newest_held[t].store(held->epoch, std::memory_order_release);
        newest_held[t].store(0, std::memory_order_release);
        registry_->End(held->slot);
      }
      running.fetch_sub(1, std::memory_order_release);
    });
  }
  uint64_t missed = 0;
  while (running.load(std::memory_order_acquire) > 0) {
    const uint64_t before = newest_held[0].load(std::memory_order_acquire);
    const storage::SnapshotView view = View();
    if (before == 0 || newest_held[0].load(std::memory_order_acquire) != before) continue;
    missed += !std::binary_search(view.active.begin(), view.active.end(), before);
    EXPECT_GT(view.epoch, before);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed, 0u);
  EXPECT_TRUE(View().active.empty());
  EXPECT_EQ(View().epoch, 1u + kThreads * 20'000);
}

}  // namespace
}  // namespace eris::routing
