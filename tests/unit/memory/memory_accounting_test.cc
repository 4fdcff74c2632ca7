// What the account says against what is: a model of every live block on one side, the kernel's own
// list of resident pages on the other, while allocations fail at every level. Not a byte of drift.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "memory/memory_manager.h"
#include "tests/unit/memory/memory_fixture.h"

namespace eris::memory {
namespace {

uint64_t Operations() {
#if defined(ERIS_ASAN) || defined(ERIS_TSAN)
  return 200'000;
#else
  return 1'000'000;
#endif
}

struct Block {
  void* memory;
  size_t bytes;
  size_t owner;
};

class MemoryAccountingTest : public testing::TestWithParam<uint64_t> {};

TEST_P(MemoryAccountingTest, NoDriftOverAMillionOperationsWithFailuresAtEveryLevel) {
  SCOPED_TRACE(testing::Message() << "seed " << GetParam());
  std::mt19937_64 random(GetParam());
  constexpr uint64_t kLimit = 48 * kSuperblockBytes;
  constexpr size_t kCaches = 3, kPools = 2;
  MemoryBudget budget(kLimit);
  std::vector<std::unique_ptr<NumaNodePool>> pools;
  std::vector<std::unique_ptr<MemoryManager>> managers;
  std::vector<std::vector<LocalCache*>> caches(kPools);
  for (uint32_t i = 0; i < kPools; ++i) {
    pools.push_back(std::make_unique<NumaNodePool>(
        Virtual(i), /*bind=*/false, budget, PoolOptions{.kept_bytes_max = 8 * kSuperblockBytes}));
    managers.push_back(std::make_unique<MemoryManager>(ObjectId{i}, *pools.back()));
    for (size_t c = 0; c < kCaches; ++c) caches[i].push_back(managers[i]->NewCache());
  }
  std::vector<std::vector<Block>> live(kPools);
  std::vector<std::vector<uint64_t>> used(kPools, std::vector<uint64_t>(kSizeClasses));
  uint64_t refused = 0;

  const auto arm_one = [&] {
    const uint64_t nth = 1 + random() % 4;
    const auto mode = random() % 4 == 0 ? FailurePoint::Mode::kFromThen : FailurePoint::Mode::kOnce;
    const size_t node = random() % kPools;
    switch (random() % 5) {
      case 0:
        return caches[node][random() % kCaches]->ArmFailures(nth, mode);
      case 1:
        return managers[node]->run_failures().Arm(nth, mode);
      case 2:
        return pools[node]->take_failures().Arm(nth, mode);
      case 3:
        return pools[node]->system(0).populate_failures().Arm(nth, mode);
      default:
        return pools[node]->system(0).map_failures().Arm(nth, mode);
    }
  };
  const auto disarm_all = [&] {
    for (size_t node = 0; node < kPools; ++node) {
      for (LocalCache* cache : caches[node]) cache->ArmFailures(0, FailurePoint::Mode::kOnce);
      managers[node]->run_failures().Arm(0, FailurePoint::Mode::kOnce);
      pools[node]->take_failures().Arm(0, FailurePoint::Mode::kOnce);
      pools[node]->system(0).populate_failures().Arm(0, FailurePoint::Mode::kOnce);
      pools[node]->system(0).map_failures().Arm(0, FailurePoint::Mode::kOnce);
    }
  };
  // Bytes by which the account is off, over all checks.
  uint64_t drift_bytes = 0, peak_bytes = 0;
  const auto compare = [&](uint64_t told, uint64_t is) {
    drift_bytes += told > is ? told - is : is - told;
    return told;
  };
  const auto check = [&] {
    uint64_t reserved = 0;
    for (size_t node = 0; node < kPools; ++node) {
      const ObjectAccount account = managers[node]->Account();
      compare(account.committed_bytes, account.used_bytes + account.cached_bytes +
                                           account.spare_bytes + account.header_bytes +
                                           account.extent_bytes);
      uint64_t used_bytes = 0;
      for (size_t c = 0; c < kSizeClasses; ++c) {
        compare(account.classes[c].used_blocks * SizeClassBytes(c),
                used[node][c] * SizeClassBytes(c));
        used_bytes += used[node][c] * SizeClassBytes(c);
      }
      compare(account.used_bytes, used_bytes);
      const PoolFigures figures = pools[node]->figures();
      compare(figures.in_use_bytes, account.committed_bytes);
      compare(figures.reserved_bytes,
              figures.in_use_bytes + figures.kept_bytes + figures.ready_bytes);
      // The kernel agrees: these pages are there, and all of them.
      reserved += compare(figures.reserved_bytes, ResidentBytes(*pools[node]));
    }
    compare(budget.taken_bytes(), reserved);
    peak_bytes = std::max(peak_bytes, reserved);
    ASSERT_EQ(drift_bytes, 0u);
    ASSERT_LE(reserved, kLimit);
  };

  const uint64_t operations = Operations();
  for (uint64_t turn = 0; turn < operations; ++turn) {
    if (random() % 2000 == 0) arm_one();
    if (random() % 4000 == 0) disarm_all();
    const size_t node = random() % kPools;
    const size_t at = random() % kCaches;
    LocalCache& cache = *caches[node][at];
    // Waves of growth and decay, up to the limit and back to nothing.
    const bool grow = live[node].empty() || random() % 100 < (turn % 400'000 < 250'000 ? 75u : 20u);
    if (grow) {
      const size_t bytes = random() % 4000 == 0
                               ? 1 + random() % (random() % 50 == 0 ? 5u << 20 : 600u << 10)
                               : 1 + random() % (random() % 64 == 0 ? 20000 : 2200);
      void* memory = cache.Allocate(bytes);
      if (memory == nullptr) {
        ++refused;
        continue;
      }
      if (bytes <= kClassedBytesMax) {
        ++used[node][SizeClassOf(bytes)];
      }
      live[node].push_back({memory, bytes, at});
    } else {
      std::swap(live[node][random() % live[node].size()], live[node].back());
      const Block block = live[node].back();
      live[node].pop_back();
      // One in four is freed by another cache than its owner's.
      (random() % 4 == 0 ? cache : *caches[node][block.owner]).Free(block.memory, block.bytes);
      if (block.bytes <= kClassedBytesMax) --used[node][SizeClassOf(block.bytes)];
    }
    if (random() % 64 == 0) {
      cache.EndTurn();
      caches[node][random() % kCaches]->Collect();
    }
    if (random() % 8192 == 0) cache.Trim();
    if (random() % 4096 == 0) pools[node]->Maintain(/*tick=*/random() % 2 == 0);
    if (turn % (operations / 100) == 0) {
      check();
      if (HasFatalFailure()) return;
    }
  }
  check();
  EXPECT_GE(peak_bytes + 2 * kSuperblockBytes, kLimit);
  RecordProperty("operations", std::to_string(operations));
  RecordProperty("refused", std::to_string(refused));
  RecordProperty("drift_bytes", std::to_string(drift_bytes));
  EXPECT_GT(refused, 5000u);  // most of them at the limit

  disarm_all();
  for (size_t node = 0; node < kPools; ++node) {
    for (const Block& block : live[node]) caches[node][0]->Free(block.memory, block.bytes);
    for (LocalCache* cache : caches[node]) cache->EndTurn();
    for (LocalCache* cache : caches[node]) {
      while (cache->Collect()) {
      }
      cache->Trim();
    }
    EXPECT_EQ(managers[node]->reserved_bytes(), 0u);
    pools[node]->Reclaim(kLimit);
    EXPECT_EQ(pools[node]->reserved_bytes(), 0u);
    EXPECT_EQ(pools[node]->figures().mapped_bytes % kSuperblockBytes, 0u);
  }
  EXPECT_EQ(budget.taken_bytes(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemoryAccountingTest, testing::Values(1, 2));

}  // namespace
}  // namespace eris::memory
