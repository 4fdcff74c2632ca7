// ERIS's own sides: partitions as an AEU executes them, and the bare tree without batch columns.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "bench/index/partition_structure.h"
#include "bench/index/side.h"
#include "bench/index/structure_lab.h"
#include "bench/memory/our_memory.h"
#include "storage/hash/hash_partition.h"
#include "storage/index/index_partition.h"
#include "storage/tree/prefix_tree.h"
#include "storage/tree/tree_scanner.h"

namespace eris::bench {
namespace {

class TreeStructure {
 public:
  static constexpr bool kOrdered = true;
  static constexpr bool kBulkLoads = false;
  static constexpr bool kReplaces = true;

  explicit TreeStructure(uint64_t) : memory_(1), tree_(memory_.cache(0)) {}
  ~TreeStructure() { tree_.Abandon(); }

  // In batches: groups are looked up first, as in an index partition.
  void Insert(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    uint64_t* found[storage::kFindGroupMax];
    for (size_t i = 0; i < count;) {
      const uint32_t group = GroupOf(batch, count - i);
      if (batch > 1) tree_.FindGroup(keys + i, group, found);
      for (const size_t end = i + group; i < end; ++i) {
        if (tree_.Upsert(keys[i], values[i]) == storage::UpsertResult::kNoMemory) {
          Die("no memory");
        }
      }
    }
  }
  void Replace(const uint64_t* keys, const uint64_t* values, size_t count, size_t batch) {
    uint64_t* found[storage::kFindGroupMax];
    for (size_t i = 0; i < count;) {
      const uint32_t group = GroupOf(batch, count - i);
      tree_.FindGroup(keys + i, group, found);
      for (uint32_t j = 0; j < group; ++j) *found[j] = values[i + j];
      i += group;
    }
  }
  // A batch of 1: PrefixTree::Lookup.
  Found Lookup(const uint64_t* keys, size_t count, size_t batch) {
    Found all;
    if (batch == 1) {
      for (size_t i = 0; i < count; ++i) {
        const std::optional<uint64_t> value = tree_.Lookup(keys[i]);
        if (value) all.Add(keys[i], *value);
      }
      return all;
    }
    uint64_t* found[storage::kFindGroupMax];
    for (size_t i = 0; i < count;) {
      const uint32_t group = GroupOf(batch, count - i);
      tree_.FindGroup(keys + i, group, found);
      for (uint32_t j = 0; j < group; ++j) {
        if (found[j] != nullptr) all.Add(keys[i + j], *found[j]);
      }
      i += group;
    }
    return all;
  }
  uint64_t Erase(const uint64_t* keys, size_t count, size_t batch) {
    uint64_t* found[storage::kFindGroupMax];
    uint64_t erased = 0;
    for (size_t i = 0; i < count;) {
      const uint32_t group = GroupOf(batch, count - i);
      if (batch > 1) tree_.FindGroup(keys + i, group, found);
      for (const size_t end = i + group; i < end; ++i) erased += tree_.Erase(keys[i]);
    }
    OurMemory::EndTurn(memory_.cache(0));
    return erased;
  }
  Found Scan(uint64_t from, uint64_t rows) {
    storage::TreeScanner scanner(tree_, from);
    return Read(scanner, static_cast<uint32_t>(rows));
  }
  Found ScanAll() {
    storage::TreeScanner scanner(tree_, 0);
    Found all;
    for (;;) {
      const Found some = Read(scanner, kScanRows);
      all.Add(some);
      if (some.rows < kScanRows) return all;
    }
  }
  std::optional<uint64_t> ValueAt(uint64_t key) { return tree_.Lookup(key); }
  uint64_t size() const { return tree_.size(); }
  void AddMemory(Json& json) { AddAccount(json, memory_.cache(0)); }

 private:
  static constexpr uint32_t kScanRows = 4096;

  static uint32_t GroupOf(size_t batch, size_t left) {
    return static_cast<uint32_t>(std::min<size_t>({batch, left, storage::kFindGroupMax}));
  }
  Found Read(storage::TreeScanner& scanner, uint32_t rows) {
    Found found;
    found.rows =
        scanner.Read(std::numeric_limits<uint64_t>::max(), keys_.data(), values_.data(), rows);
    found.differing = DifferingRows(keys_.data(), values_.data(), found.rows);
    return found;
  }

  OurMemory memory_;
  storage::PrefixTree tree_;
  std::vector<uint64_t> keys_ = std::vector<uint64_t>(kBlockKeys);
  std::vector<uint64_t> values_ = std::vector<uint64_t>(kBlockKeys);
};

absl::StatusOr<std::unique_ptr<storage::Partition>> MakeIndex(const storage::Range& range,
                                                              memory::LocalCache& cache) {
  return storage::IndexPartition::Create(range, cache);
}

// Any seed will do: the keys are in random order anyway.
absl::StatusOr<std::unique_ptr<storage::Partition>> MakeHash(const storage::Range& range,
                                                             memory::LocalCache& cache) {
  return storage::HashPartition::Create(range, cache, 0x9f2c61d04be3a857);
}

template <class Structure>
std::unique_ptr<Side> Make(const SideOptions& options) {
  return std::make_unique<StructureLab<Structure>>(options);
}

}  // namespace

// Another kind of partition is one more line here; run.py finds it by its name.
std::vector<NamedSide> ErisSides() {
  return {{"eris", Make<PartitionStructure<MakeIndex, /*kOrderedRows=*/true>>},
          {"eris_tree", Make<TreeStructure>},
          {"eris_hash", Make<PartitionStructure<MakeHash, /*kOrderedRows=*/false>>}};
}

}  // namespace eris::bench
