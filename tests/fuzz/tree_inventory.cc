#include "tests/fuzz/tree_inventory.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "storage/tree/tree_node.h"
#include "storage/tree/tree_run.h"

namespace eris::fuzz {
namespace {

using storage::TreeRef;

void Add(TreeRef ref, const memory::LocalCache& cache, TreeInventory& inventory) {
  inventory.blocks.push_back(
      {reinterpret_cast<uintptr_t>(ref.block()), cache.ClassBytes(ref.Bytes())});
  inventory.kinds |= 1u << static_cast<unsigned>(ref.kind());
  if (ref.IsRun()) {
    storage::TreeRun* run = ref.run();
    const auto first = static_cast<ptrdiff_t>(inventory.rows.size());
    for (unsigned i = 0; i < run->count; ++i) {
      inventory.rows.emplace_back(run->pairs()[i].key, run->pairs()[i].value);
    }
    std::sort(inventory.rows.begin() + first, inventory.rows.end());
  } else if (ref.IsPage()) {
    const storage::TreePage* page = ref.page();
    for (unsigned byte = storage::internal::NextBit(page->bitmap, 0); byte < 256;
         byte = storage::internal::NextBit(page->bitmap, byte + 1)) {
      inventory.rows.emplace_back(page->header.prefix | byte, page->slots[byte]);
    }
  } else {
    for (storage::Child child = storage::NextChild(ref, 0); child.start < 256;
         child = storage::NextChild(ref, child.start + 1)) {
      Add(child.ref(), cache, inventory);
    }
  }
}

}  // namespace

void AddTree(const storage::PrefixTree& tree, TreeInventory& inventory) {
  if (!tree.root().IsNone()) Add(tree.root(), tree.cache(), inventory);
}

void AddBlocks(TreeRef root, const memory::LocalCache& cache, TreeInventory& inventory) {
  const size_t rows = inventory.rows.size();
  if (!root.IsNone()) Add(root, cache, inventory);
  inventory.rows.resize(rows);
}

absl::Status CheckMemory(TreeInventory& inventory, const memory::MemoryManager& manager) {
  std::vector<TreeInventory::Block>& blocks = inventory.blocks;
  std::sort(blocks.begin(), blocks.end());
  uint64_t bytes = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    bytes += blocks[i].bytes;
    if (i > 0 && blocks[i - 1].address + blocks[i - 1].bytes > blocks[i].address) {
      return absl::InternalError(absl::StrCat("blocks overlap: ", blocks[i - 1].bytes, " bytes at ",
                                              blocks[i - 1].address, ", then ", blocks[i].address));
    }
  }
  const memory::ObjectAccount account = manager.Account();
  if (account.used_bytes != bytes) {
    return absl::InternalError(
        absl::StrCat("the trees hold ", bytes, " bytes, the manager counts ", account.used_bytes));
  }
  const uint64_t parts = account.used_bytes + account.cached_bytes + account.spare_bytes +
                         account.header_bytes + account.extent_bytes;
  if (parts != account.committed_bytes) {
    return absl::InternalError(
        absl::StrCat("of ", account.committed_bytes, " committed bytes the account finds ", parts));
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(TreeInventory& inventory, const memory::LocalCache& cache) {
  const uint64_t used = cache.manager().Account().used_bytes;
  if (cache.used_bytes() != used) {
    return absl::InternalError(
        absl::StrCat("the cache counts ", cache.used_bytes(), " bytes, its manager ", used));
  }
  return CheckMemory(inventory, cache.manager());
}

}  // namespace eris::fuzz
