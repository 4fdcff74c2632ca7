// Which AEU owns which key range of a data object: one version of the range partition table.
// Immutable; the next version is a new table (published_table.h). Any thread may read.
// Paper: ERIS 3.2 (partition tables), 3.3.2.
//
// Memory: 16 bytes per range, 24 with the tree, and 4 per AeuId up to the largest owner.
#ifndef ERIS_ROUTING_RANGE_TABLE_H_
#define ERIS_ROUTING_RANGE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "eris/types.h"
#include "routing/ranges/csb_tree.h"
#include "storage/key.h"

namespace eris::routing {

class RangeTable {
 public:
  // Partition i owns [starts[i], starts[i+1]); the last one goes to the end of the key space.
  // REQUIRES: equal, non-zero lengths; starts ascending strictly, starts[0] == 0; owners are AEUs
  // of one engine, so that the largest is small.
  RangeTable(uint64_t version, std::vector<uint64_t> starts, std::vector<AeuId> owners);

  uint64_t version() const { return version_; }
  size_t size() const { return starts_.size(); }
  const std::vector<uint64_t>& starts() const { return starts_; }
  const std::vector<AeuId>& owners() const { return owners_; }

  // The index of the partition that owns `key`. O(log size).
  size_t PartitionOf(uint64_t key) const {
    // Branch-free binary search: the compiler generates conditional moves, and the searches of a
    // batch overlap.
    const uint64_t* base = starts_.data();
    size_t length = starts_.size();
    while (length > 1) {
      const size_t half = length / 2;
      base += base[half] <= key ? half : 0;
      length -= half;
    }
    return static_cast<size_t>(base - starts_.data());
  }
  AeuId OwnerOf(uint64_t key) const { return owners_[PartitionOf(key)]; }
  storage::Range RangeOf(size_t partition) const;

  // The next version, in which `owner` has `range`; adjacent ranges of one owner become one
  // partition.
  // REQUIRES: not empty; bounds of 8 bytes. O(size).
  std::unique_ptr<const RangeTable> With(const storage::Range& range, AeuId owner) const;

  // The partitions of `owner` in this version, ascending; empty for an AEU that has none or does
  // not exist. O(1); valid as long as the table.
  std::span<const uint32_t> PartitionsOf(AeuId owner) const;

  // owners_out[i] is the AEU of keys[i]; equal lengths. Step 1 of the paper's Figure 4.
  void OwnersOf(std::span<const uint64_t> keys, std::span<AeuId> owners_out) const;

  // The number of ranges from which on the tree is faster than binary search (figures:
  // bench/routing/range_table_bench.cc).
  static size_t TreeRangesMin(CsbTree::Compare compare) {
    return compare == CsbTree::Compare::kAvx512 ? 32 : 4096;
  }

 private:
  // Immutable after construction.
  const uint64_t version_;
  const std::vector<uint64_t> starts_;
  const std::vector<AeuId> owners_;
  std::optional<CsbTree> tree_;        // for a large table
  std::vector<uint32_t> owned_;        // partitions, by owner and then ascending
  std::vector<uint32_t> owned_begin_;  // by AeuId, and one behind the last
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_RANGE_TABLE_H_
