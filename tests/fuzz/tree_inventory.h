// What a prefix tree holds, read from its blocks alone and without changing any: a scan would sort
// the runs it comes to, and hide what unsorted ones are good for. For tests.
#ifndef ERIS_TESTS_FUZZ_TREE_INVENTORY_H_
#define ERIS_TESTS_FUZZ_TREE_INVENTORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "storage/tree/prefix_tree.h"

namespace eris::fuzz {

struct TreeInventory {
  struct Block {
    uint64_t address;
    uint64_t bytes;  // of its size class
    friend auto operator<=>(const Block&, const Block&) = default;
  };
  std::vector<std::pair<uint64_t, uint64_t>> rows;  // ascending
  std::vector<Block> blocks;                        // as met
  unsigned kinds = 0;                               // a bit for each TreeNodeKind met
};

// Appends the tree's own.
void AddTree(const storage::PrefixTree& tree, TreeInventory& inventory);

// The blocks alone, of a tree that is being freed.
void AddBlocks(storage::TreeRef root, const memory::LocalCache& cache, TreeInventory& inventory);

// Verifies that no two blocks overlap, and that together they are what the manager counts as used,
// and the cache, if all blocks are of one. Errors: Internal. REQUIRES: nothing else has blocks of
// the manager.
absl::Status CheckMemory(TreeInventory& inventory, const memory::MemoryManager& manager);
absl::Status CheckMemory(TreeInventory& inventory, const memory::LocalCache& cache);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_TREE_INVENTORY_H_
