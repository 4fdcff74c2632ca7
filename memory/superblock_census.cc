#include "memory/superblock_census.h"

#include <new>

#include "memory/local_cache.h"
#include "memory/numa_node_pool.h"

namespace eris::memory {

SuperblockCensus::SuperblockCensus(LocalCache& cache)
    : cache_(cache), layout_(cache.layout()), given_away_(cache.given_away()) {}

void SuperblockCensus::Note(const void* block, size_t bytes) {
  if (full_ || !cache_.IsElsewhere(block, bytes)) return;
  if (bytes > kClassedBytesMax) {
    has_extents_ = true;
    return;
  }
  Superblock* const superblock = layout_.HeaderOf(block);
  NotedSuperblock* const noted = Find(superblock, block, bytes);
  if (noted == nullptr) {
    full_ = true;
    return;
  }
  const OwnerId owner = superblock->pool->owners().Of(block);
  if (owner != noted->owner) noted->mixed = true;
  const Span* const run = layout_.RunOf(block);
  uint64_t& taken = noted->taken[run->run_first];
  if (taken == 0) taken = run->taken.load(std::memory_order_relaxed) + 1;
  const uint32_t index = BlockIndex(
      static_cast<size_t>(static_cast<const std::byte*>(block) - run->blocks), run->reciprocal);
  noted->blocks[layout_.FreeBitsWord(run->run_first) + index / 64] |= uint64_t{1} << index % 64;
  noted_bytes_ += bytes;
}

NotedSuperblock* SuperblockCensus::Find(Superblock* superblock, const void* block, size_t bytes) {
  if (superblock == last_) return &superblocks_[last_place_];
  try {  // these are on the general heap, which refuses by an exception
    const auto [found, is_new] = places_.try_emplace(superblock, superblocks_.size());
    if (is_new) {
      if (superblocks_.size() * layout_.bytes() >= kNotedBytesMax) return nullptr;
      superblocks_.push_back({{static_cast<std::byte*>(layout_.Base(block)), superblock->pool},
                              superblock->pool->owners().Of(block),
                              /*mixed=*/false,
                              /*at_home=*/!cache_.IsRemote(block, bytes),
                              std::make_unique<uint64_t[]>(layout_.FreeBitsWords()),
                              std::make_unique<uint64_t[]>(layout_.spans())});
    }
    last_ = superblock;
    last_place_ = found->second;
    return &superblocks_[last_place_];
  } catch (const std::bad_alloc&) {
    return nullptr;  // the entry of a superblock that has no place is not looked at: it is full
  }
}

}  // namespace eris::memory
