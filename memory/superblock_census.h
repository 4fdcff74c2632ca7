// What a walk through a range has found in superblocks on other NumaNodes, or of other NumaNodes'
// managers: a bit for each block, by superblock. So their owners can tell which of them hold
// nothing else, and change hands whole (superblock_claim.h). Used by one thread at a time. Paper:
// page leap, 3.
#ifndef ERIS_MEMORY_SUPERBLOCK_CENSUS_H_
#define ERIS_MEMORY_SUPERBLOCK_CENSUS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "memory/owner_table.h"
#include "memory/superblock.h"

namespace eris::memory {

class LocalCache;

// A superblock, by what stays valid when it has been returned.
struct SuperblockPlace {
  std::byte* base = nullptr;
  NumaNodePool* window = nullptr;  // in whose address space it is
};

// The blocks noted of a superblock.
struct NotedSuperblock {
  SuperblockPlace place;
  OwnerId owner = 0;
  bool mixed = false;    // other owners have spans in it, too
  bool at_home = false;  // its pages need not move
  // A bit each, at the places of the free bits in its header.
  std::unique_ptr<uint64_t[]> blocks;
  // By span that a run begins with: Span::taken + 1 before its first block was noted; 0: none was.
  std::unique_ptr<uint64_t[]> taken;
};

class SuperblockCensus {
 public:
  // More end the walk for a while: superblocks of 2 GiB, with bits of 16 MiB.
  static constexpr size_t kNotedBytesMax = size_t{2} << 30;
  // The walk is given up if, after so many bytes, less than this share of the superblocks that it
  // has met is the range's: few will hold nothing else.
  static constexpr uint64_t kBytesToJudge = 8u << 20;
  static constexpr uint64_t kShareWorthwhile = 4;

  // `cache`: of the AEU that has the range.
  explicit SuperblockCensus(LocalCache& cache);

  // `block` is in use by the range. What is not elsewhere is left out, and so is what is larger
  // than the largest size class. Without memory the census is full.
  void Note(const void* block, size_t bytes);
  bool Full() const { return full_; }
  // Whether such blocks above the largest size class were met.
  bool has_extents() const { return has_extents_; }
  bool Worthwhile() const {
    return noted_bytes_ < kBytesToJudge ||
           noted_bytes_ * kShareWorthwhile >= superblocks_.size() * layout_.bytes();
  }

  // The times that the cache's AEU had given blocks away when the census began.
  uint64_t given_away() const { return given_away_; }
  std::vector<NotedSuperblock>& superblocks() { return superblocks_; }

 private:
  // nullptr: no memory, or too many.
  NotedSuperblock* Find(Superblock* superblock, const void* block, size_t bytes);

  LocalCache& cache_;
  const SuperblockLayout layout_;
  const uint64_t given_away_;
  uint64_t noted_bytes_ = 0;
  bool full_ = false;
  bool has_extents_ = false;
  std::vector<NotedSuperblock> superblocks_;
  absl::flat_hash_map<const Superblock*, uint32_t> places_;
  // The superblock of the last block: the next one is often in the same.
  const Superblock* last_ = nullptr;
  uint32_t last_place_ = 0;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SUPERBLOCK_CENSUS_H_
