// The baseline of the evaluation: the engine's prefix tree, not partitioned but shared by all
// threads, as the paper's "shared index" is. u64 -> u64, the same TreeNodes, pages and runs
// (storage/tree/prefix_tree.h), synchronised by atomics: readers take no lock and write nothing
// that is shared, writers lock the blocks that they change (shared_node.h). Only upserts and
// lookups. It has no erases, scans and counts of keys, which cost the engine's tree something.
// Memory comes from the engine's allocator, a cache per thread, so huge pages and placement are the
// same. Paper: ERIS 4, the shared index.
//
// A replaced block is freed when no thread can be reading it any more (epochs.h).
//
// Operations on one key are linearizable. A lookup waits only for a writer that is just about to
// insert a child into a TreeNode of up to 48 children.
#ifndef ERIS_BENCH_SHARED_SHARED_TREE_H_
#define ERIS_BENCH_SHARED_SHARED_TREE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "bench/shared/epochs.h"
#include "bench/shared/shared_node.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "storage/tree/prefix_tree.h"

namespace eris::bench {

using storage::UpsertResult;

class SharedTree {
 public:
  class Thread;

  // `manager` outlives the tree; the memory is returned with it.
  explicit SharedTree(memory::MemoryManager& manager) : manager_(manager) {}
  SharedTree(const SharedTree&) = delete;
  SharedTree& operator=(const SharedTree&) = delete;

  // Walks the tree. REQUIRES: no writer is working.
  uint64_t CountKeys() const { return CountKeys(TreeRef(root_.slot)); }

 private:
  // Refers to the root as a TreeNode refers to its children: word and slot. On a line that is
  // written only when the root is replaced, a few times ever.
  struct alignas(base::kNoSharingBytes) RootLink {
    uint64_t word = 0;
    uint64_t slot = 0;
  };

  static uint64_t CountKeys(TreeRef ref);

  memory::MemoryManager& manager_;
  RootLink root_;
  Epochs epochs_;
};

// One thread's access to the tree. It must not be idle for long: see epochs.h.
class SharedTree::Thread {
 public:
  // Ends the program if there are too many threads, or no memory for one.
  explicit Thread(SharedTree& tree);
  ~Thread();
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  // One key at a time.
  std::optional<uint64_t> Lookup(uint64_t key);
  // kNoMemory: nothing has changed.
  [[nodiscard]] UpsertResult Upsert(uint64_t key, uint64_t value);

  // Many keys, in groups that advance in parallel with prefetches, like PrefixTree::FindGroup.
  // Shapes: `count` of each; any order; duplicates are applied in order. For absent keys `values`
  // is unspecified.
  void Lookup(const uint64_t* keys, size_t count, uint64_t* values, bool* found);
  // Returns how many were new; nullopt: no memory, some of the keys are stored.
  [[nodiscard]] std::optional<size_t> Upsert(const uint64_t* keys, const uint64_t* values,
                                             size_t count);

 private:
  enum class Outcome : uint8_t { kInserted, kReplaced, kNoMemory, kAgain };
  struct Path;
  struct Group;

  // Counts operations; between two of them no reference is held.
  void EndOperations(size_t operations) {
    operations_ += operations;
    if (operations_ >= kOperationsPerTurn) [[unlikely]]
      EndTurn();
  }
  void EndTurn();
  void Retire(TreeRef ref) { retired_.emplace_back(ref.block(), ref.Bytes()); }

  TreeRef Root() const;
  uint64_t* FindValue(uint64_t key) const;
  // The descent of up to kFindGroupMax keys; returns the number in `again`: those that met a
  // TreeNode during a change.
  void FindGroup(const uint64_t* keys, uint32_t count, Group& group, bool for_insert) const;
  // Its end: the probes that have come to runs and pages, by index in the group.
  static void FindAtEnds(std::span<const uint8_t> at_run, std::span<const uint8_t> at_page,
                         const uint64_t* keys, Group& group, bool for_insert);

  // Replaces the value of an existing key in the run. False: the run is locked or obsolete.
  static bool ReplaceInRun(TreeRef run, uint64_t& place, uint64_t value);

  // One attempt. kAgain: another thread held a lock, or has changed a block of the path; nothing
  // has been stored.
  Outcome TryUpsert(uint64_t key, uint64_t value);
  TreeRef Descend(uint64_t key, Path& path) const;
  Outcome InsertIntoRun(const Path& path, TreeRef run, uint64_t word, uint64_t key, uint64_t value);
  Outcome SplitRun(const Path& path, BlockLock& parent_lock, TreeRef run, uint64_t word,
                   uint64_t key, uint64_t value);
  Outcome InsertBeside(const Path& path, TreeRef other, uint64_t key, uint64_t value);
  Outcome MakePage(const Path& path, BlockLock& parent_lock, TreeRef run, uint64_t key,
                   uint64_t value);
  static Outcome PutInPage(TreeRef page, uint64_t key, uint64_t value);
  // Adds a child to the path's last TreeNode, which is locked: cuts the interval that contains `at`
  // there, into `lower` and `upper`. The TreeNode may be replaced by a larger one.
  Outcome CutInterval(const Path& path, BlockLock& lock, uint64_t key, unsigned at, TreeRef lower,
                      TreeRef upper);
  // A TreeNode with two children; none if there is no memory.
  TreeRef NewFork(uint64_t key, unsigned shift, TreeRef lower, TreeRef upper, unsigned at);
  TreeRef NewRun(const storage::Pair* pairs, unsigned count);

  // For the parent of a child: a TreeNode, or the root link (none).
  uint64_t& WordOf(TreeRef parent) const;
  TreeRef LinkOf(TreeRef parent, uint64_t key, uint64_t word) const;  // REQUIRES: locked
  void SetLink(TreeRef parent, uint64_t key, uint64_t word, TreeRef child);

  static constexpr size_t kOperationsPerTurn = 128;
  static constexpr size_t kRetiredPerEpoch = 256;
  using Blocks = std::vector<std::pair<void*, size_t>>;

  SharedTree& tree_;
  const size_t number_;
  memory::LocalCache& cache_;
  size_t operations_ = 0;
  Blocks retired_;                                // in this epoch
  std::deque<std::pair<uint64_t, Blocks>> past_;  // with the epoch that must be reached
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_SHARED_SHARED_TREE_H_
