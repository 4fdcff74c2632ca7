// A piece of a walk through a range, in key order, that brings memory to the NumaNode of the
// range's AEU. After a leap a range's blocks are still where its old owner allocated them. A first
// walk notes which blocks those are, so that whole superblocks can change hands; a second one
// copies what is left, block by block, and links the copies. A walk may also measure: then it moves
// nothing. Plain data; the walk is PrefixTree::BringHome. Single-threaded. Paper: page leap, 3;
// ERIS 3.3.2.
#ifndef ERIS_STORAGE_HOME_WORK_H_
#define ERIS_STORAGE_HOME_WORK_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "memory/local_cache.h"
#include "memory/superblock_census.h"
#include "storage/row_bytes.h"

namespace eris::storage {

struct HomeWork {
  // In: where the walk begins. Out, if it has stopped: where it goes on. The second part is for
  // two-part keys, of the rows with that first part.
  uint64_t next_key = 0;
  uint64_t next_second = 0;
  bool stopped = false;
  // What may still be copied; a block that is only visited takes kVisitBytes. The last path, from a
  // TreeNode down to its first leaf, goes beyond it.
  int64_t bytes_left = 0;
  uint64_t moved_bytes = 0;
  // The NumaNode has no memory: the walk has ended, and what has not been moved stays remote.
  bool refused = false;
  // The same for memory of the cache's own manager, spilled: it stays, and the walk goes on.
  bool spilled_stays = false;
  // If not nullptr: blocks are noted there, and nothing is moved.
  memory::SuperblockCensus* census = nullptr;
  // The same: they are counted there, but for those on the way to where an earlier piece has
  // stopped, if the walk goes on from there.
  RowBytes* measured = nullptr;
  bool resumes = false;

  static constexpr int64_t kVisitBytes = 64;

  // Whether blocks are visited alone.
  bool MovesNothing() const { return census != nullptr || measured != nullptr; }
  bool Spent() const { return bytes_left <= 0 || refused || (census != nullptr && census->Full()); }
  void StopAt(uint64_t key, uint64_t second = 0) {
    stopped = true;
    next_key = key;
    next_second = second;
  }

  // Where the content of a block of `cache`'s object is now: its own place, if that is at home or
  // there is no memory; otherwise a copy of `bytes`, and the block is freed.
  void* Move(memory::LocalCache& cache, void* block, size_t bytes) {
    bytes_left -= kVisitBytes;
    if (census != nullptr) {
      census->Note(block, bytes);
      return block;
    }
    if (measured != nullptr) {
      if (resumes) return block;
      measured->all += cache.ClassBytes(bytes);
      if (cache.IsRemote(block, bytes)) measured->remote += cache.ClassBytes(bytes);
      return block;
    }
    if (refused || !cache.IsElsewhere(block, bytes)) return block;
    const bool spilled = !cache.IsOthers(block, bytes);
    if (spilled && spilled_stays) return block;
    void* const home = cache.AllocateAtHome(bytes);
    if (home == nullptr) {
      (spilled ? spilled_stays : refused) = true;
      return block;
    }
    std::memcpy(home, block, bytes);
    cache.Free(block, bytes);
    bytes_left -= static_cast<int64_t>(bytes);
    moved_bytes += bytes;
    return home;
  }
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_HOME_WORK_H_
