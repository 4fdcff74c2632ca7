// How a superblock changes hands with its blocks. An AEU that has got a range from another NumaNode
// notes which blocks of which superblocks the range uses (SuperblockCensus), and claims these
// superblocks from the caches that own them. The owner gives those that hold nothing else, in one
// of its turns; from then on the claimant allocates and frees in them, and can move their pages
// (LocalCache::BringSuperblock). Paper: page leap, 3.
//
//   claimant   Claim -> the owner's bin ->  Answer: no block in use that is not noted? then out of
//              Adopt <- the claimant's bin <- its lists, entries of the owner table kOnItsWay
//
// That nothing else is in a superblock stays true: a block that is noted is the claimant's or has
// been freed by it, until its AEU gives a range to another one; and its owner allocates nothing
// between its look and the hand-over. Freed blocks that are on their way to the old owner are sent
// on. Model: tests/models/superblock.pml.
#ifndef ERIS_MEMORY_SUPERBLOCK_CLAIM_H_
#define ERIS_MEMORY_SUPERBLOCK_CLAIM_H_

#include <cstdint>
#include <vector>

#include "memory/recollection_bin.h"
#include "memory/superblock_census.h"

namespace eris::memory {

struct SuperblockClaim : ReturnBatch {
  // Superblocks of so many bytes are answered in some 0.1 ms.
  static constexpr size_t kBytesMax = 32 * kSuperblockBytesMin;

  struct Item {
    NotedSuperblock noted;
    bool given = false;
  };

  LocalCache* claimant;
  OwnerId owner = 0;  // that is asked
  bool answered = false;
  uint64_t given_away = 0;  // see SuperblockCensus
  std::vector<Item> items;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SUPERBLOCK_CLAIM_H_
