// What the tests of superblocks that change hands share: pools of one budget, each with a manager
// of the same object and a cache, and blocks with patterns of their own.
#ifndef ERIS_TESTS_UNIT_MEMORY_SUPERBLOCK_CLAIM_LAB_H_
#define ERIS_TESTS_UNIT_MEMORY_SUPERBLOCK_CLAIM_LAB_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "memory/cache_directory.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/superblock_census.h"
#include "memory/system/memory_budget.h"
#include "tests/unit/memory/memory_fixture.h"

namespace eris::memory {

struct ClaimBlock {
  std::byte* memory;
  size_t bytes;
  uint64_t salt = 0;

  uint64_t Word(size_t i) const {
    return (reinterpret_cast<uintptr_t>(memory) + i) * 0x9e3779b97f4a7c15 ^ salt;
  }
  uint64_t* words() const { return reinterpret_cast<uint64_t*>(memory); }
  // Every word of it, by its address.
  void Fill() const {
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) words()[i] = Word(i);
  }
  bool Holds() const {
    for (size_t i = 0; i < bytes / sizeof(uint64_t); ++i) {
      if (words()[i] != Word(i)) return false;
    }
    return true;
  }
};
using ClaimBlocks = std::vector<ClaimBlock>;

class ClaimLab : public testing::Test {
 protected:
  struct Node {
    std::unique_ptr<NumaNodePool> pool;
    std::unique_ptr<MemoryManager> manager = nullptr;
    LocalCache* cache = nullptr;
  };

  ClaimLab() { Open(2); }
  ~ClaimLab() override { Close(); }

  void Open(uint32_t nodes, const PoolOptions& options = {}, uint64_t limit = kPlenty) {
    Close();
    budget_ = std::make_unique<MemoryBudget>(limit);
    directory_ = std::make_shared<CacheDirectory>();
    for (uint32_t id = 0; id < nodes; ++id) {
      nodes_.push_back(
          {std::make_unique<NumaNodePool>(Virtual(id), /*bind=*/false, *budget_, options)});
    }
    // The first one spills to the second.
    for (uint32_t id = 0; id < nodes; ++id) {
      std::vector<NumaNodePool*> spill;
      if (id == 0 && nodes > 1) spill.push_back(nodes_[1].pool.get());
      nodes_[id].manager = std::make_unique<MemoryManager>(ObjectId{1}, *nodes_[id].pool,
                                                           std::move(spill), directory_);
      nodes_[id].cache = NewCache(nodes_[id]);
    }
  }
  // The object, while its superblocks are anywhere.
  void Drop() {
    for (Node& node : nodes_) node.manager = nullptr;
    caches_.clear();
  }
  void Close() {
    Drop();
    nodes_.clear();
  }
  LocalCache* NewCache(Node& node) {
    caches_.push_back(node.manager->NewCache());
    return caches_.back();
  }

  Node& here() { return nodes_[0]; }
  Node& there() { return nodes_[1]; }
  Node& third() { return nodes_[2]; }
  const SuperblockLayout& layout() { return here().pool->layout(); }
  uint64_t Bytes(size_t superblocks) { return superblocks * layout().bytes(); }

  ClaimBlock Allocate(LocalCache& cache, size_t bytes) {
    ClaimBlock block{static_cast<std::byte*>(cache.Allocate(bytes)), bytes, ++salt_};
    EXPECT_NE(block.memory, nullptr);
    if (block.memory != nullptr) block.Fill();
    return block;
  }
  // Blocks of many sizes, until the manager has so many superblocks.
  ClaimBlocks Make(Node& node, LocalCache& cache, size_t superblocks) {
    static constexpr size_t kSmall[] = {16, 64, 192, 704, 2112};
    static constexpr size_t kLarge[] = {9008, 100000, 700000};
    ClaimBlocks blocks;
    while (node.manager->reserved_bytes() < Bytes(superblocks)) {
      const bool large = random_() % 200 == 0;
      blocks.push_back(Allocate(cache, large ? kLarge[random_() % 3] : kSmall[random_() % 5]));
      if (blocks.back().memory == nullptr) break;
    }
    return blocks;
  }
  ClaimBlocks Make(Node& node, size_t superblocks) { return Make(node, *node.cache, superblocks); }

  std::byte* Base(const ClaimBlock& block) {
    return static_cast<std::byte*>(layout().Base(block.memory));
  }
  std::set<const std::byte*> Bases(const ClaimBlocks& blocks) {
    std::set<const std::byte*> bases;
    for (const ClaimBlock& block : blocks) bases.insert(Base(block));
    return bases;
  }
  ClaimBlocks In(const ClaimBlocks& blocks, const std::byte* base) {
    ClaimBlocks in;
    std::copy_if(blocks.begin(), blocks.end(), std::back_inserter(in),
                 [&](const ClaimBlock& block) { return Base(block) == base; });
    return in;
  }
  static std::set<const std::byte*> RangesOf(const NumaNodePool& pool) {
    std::set<const std::byte*> begins;
    for (const PoolRange& range : pool.Ranges()) begins.insert(range.begin);
    return begins;
  }

  static SuperblockCensus Note(LocalCache& cache, std::span<const ClaimBlock> blocks) {
    SuperblockCensus census(cache);
    for (const ClaimBlock& block : blocks) census.Note(block.memory, block.bytes);
    EXPECT_FALSE(census.Full());
    return census;
  }
  static void Collect(LocalCache& cache) {
    do {
      cache.Collect();
    } while (cache.CollectsMore());
  }
  // From the claim to the adoption, or less if the claim is refused.
  static bool TakeOver(LocalCache& claimant, std::span<LocalCache* const> owners,
                       std::span<const ClaimBlock> blocks) {
    const bool claims = claimant.Claim(Note(claimant, blocks));
    for (LocalCache* const owner : owners) Collect(*owner);
    Collect(claimant);
    EXPECT_FALSE(claimant.ClaimsAreOut());
    return claims;
  }
  static bool TakeOver(LocalCache& claimant, LocalCache& owner,
                       std::span<const ClaimBlock> blocks) {
    LocalCache* const one = &owner;
    return TakeOver(claimant, {&one, 1}, blocks);
  }
  // How many superblocks came, until there is none left.
  static size_t BringAll(LocalCache& cache, uint64_t* bytes_brought = nullptr) {
    size_t brought = 0;
    for (;;) {
      uint64_t bytes = 0;
      const LocalCache::Brought one = cache.BringSuperblock(/*wait=*/false, bytes);
      if (one != LocalCache::Brought::kYes) {
        EXPECT_EQ(one, LocalCache::Brought::kNone);
        return brought;
      }
      ++brought;
      if (bytes_brought != nullptr) *bytes_brought += bytes;
    }
  }

  static size_t Remote(const LocalCache& cache, const ClaimBlocks& blocks) {
    return static_cast<size_t>(std::count_if(
        blocks.begin(), blocks.end(),
        [&](const ClaimBlock& block) { return cache.IsRemote(block.memory, block.bytes); }));
  }
  static size_t Broken(const ClaimBlocks& blocks) {
    return static_cast<size_t>(std::count_if(
        blocks.begin(), blocks.end(), [](const ClaimBlock& block) { return !block.Holds(); }));
  }
  static void FreeAll(LocalCache& cache, const ClaimBlocks& blocks) {
    for (const ClaimBlock& block : blocks) cache.Free(block.memory, block.bytes);
  }
  static uint64_t ClassBytes(const ClaimBlocks& blocks) {
    uint64_t bytes = 0;
    for (const ClaimBlock& block : blocks) bytes += SizeClassBytes(SizeClassOf(block.bytes));
    return bytes;
  }

  // All carriers of the cache are under way, and stay so: what it frees now travels alone. Returns
  // the blocks that they hold.
  ClaimBlocks UseUpCarriers(LocalCache& cache, LocalCache& owner) {
    ClaimBlocks blocks;
    for (size_t i = 0; i < size_t{1024} * ReturnBatch::kBlocksMax; ++i) {
      blocks.push_back({static_cast<std::byte*>(owner.Allocate(16)), 16});
    }
    FreeAll(cache, blocks);
    return blocks;
  }

  // The whole way, for superblocks that hold nothing but `blocks`.
  void Move(Node& to, Node& from, const ClaimBlocks& blocks) {
    EXPECT_TRUE(TakeOver(*to.cache, *from.cache, blocks));
    EXPECT_EQ(BringAll(*to.cache), Bases(blocks).size());
    EXPECT_EQ(Remote(*to.cache, blocks), 0u);
    EXPECT_EQ(Broken(blocks), 0u);
  }

  // Every figure, against `blocks`: those in use, and those on their way to a cache of another
  // manager than the one that has freed them.
  void ExpectExact(const ClaimBlocks& blocks) {
    struct Held {
      uint64_t used_bytes = 0;
      std::set<const std::byte*> all, spilled;
    };
    std::map<const MemoryManager*, Held> held;
    std::set<const std::byte*> on_their_way;
    for (const ClaimBlock& block : blocks) {
      const Superblock* const superblock = layout().HeaderOf(block.memory);
      const OwnerId entry = superblock->pool->owners().Of(block.memory);
      ASSERT_NE(entry, 0u);
      if ((entry & kOnItsWay) != 0) {
        on_their_way.insert(Base(block));
        continue;
      }
      MemoryManager& manager = directory_->Of(entry).manager();
      Held& one = held[&manager];
      one.used_bytes += SizeClassBytes(SizeClassOf(block.bytes));
      one.all.insert(Base(block));
      if (superblock->home->id() != manager.numa_node()) one.spilled.insert(Base(block));
      EXPECT_EQ(superblock->pool->HolderOf(Base(block)), &manager);
    }
    uint64_t reserved = 0, in_use = 0, objects = Bytes(on_their_way.size());
    for (const Node& node : nodes_) {
      SCOPED_TRACE(testing::Message() << "NumaNode " << node.pool->id().value);
      const ObjectAccount account = node.manager->Account();
      const Held& one = held[node.manager.get()];
      EXPECT_TRUE(AddsUp(account));
      EXPECT_EQ(account.used_bytes, one.used_bytes);
      EXPECT_EQ(account.committed_bytes, node.manager->reserved_bytes());
      if (node.manager->reserved_bytes() == Bytes(one.all.size())) {
        EXPECT_EQ(node.manager->spilled_bytes(), Bytes(one.spilled.size()));
      }
      const PoolFigures figures = node.pool->figures();
      EXPECT_EQ(figures.reserved_bytes,
                figures.in_use_bytes + figures.kept_bytes + figures.ready_bytes);
      EXPECT_EQ(Bytes(node.pool->Ranges().size()), figures.reserved_bytes);
      EXPECT_EQ(ResidentBytes(*node.pool), figures.reserved_bytes);
      reserved += figures.reserved_bytes;
      in_use += figures.in_use_bytes;
      objects += node.manager->reserved_bytes();
    }
    EXPECT_EQ(budget_->taken_bytes(), reserved);
    EXPECT_EQ(in_use, objects);
  }

  // Whatever is on its way arrives.
  void Settle() {
    for (int round = 0; round < 5; ++round) {
      for (LocalCache* const cache : caches_) {
        cache->EndTurn();
        Collect(*cache);
        cache->Trim();
      }
    }
  }
  void ExpectNothingInUse() {
    uint64_t kept = 0;
    for (const Node& node : nodes_) {
      EXPECT_EQ(node.pool->in_use_bytes(), 0u);
      kept += node.pool->figures().kept_bytes;
    }
    EXPECT_EQ(budget_->taken_bytes(), kept);
  }
  void ExpectNothingLeft() {
    Settle();
    for (const Node& node : nodes_) {
      const ObjectAccount account = node.manager->Account();
      EXPECT_EQ(account.used_bytes, 0u);
      EXPECT_EQ(account.committed_bytes, 0u);
      EXPECT_EQ(node.manager->reserved_bytes(), 0u);
      EXPECT_EQ(node.manager->spilled_bytes(), 0u);
    }
    ExpectNothingInUse();
  }

  std::mt19937_64 random_{20261};
  uint64_t salt_ = 0;
  std::unique_ptr<MemoryBudget> budget_;
  std::shared_ptr<CacheDirectory> directory_;
  std::vector<Node> nodes_;
  std::vector<LocalCache*> caches_;
};

}  // namespace eris::memory

#endif  // ERIS_TESTS_UNIT_MEMORY_SUPERBLOCK_CLAIM_LAB_H_
