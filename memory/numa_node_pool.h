// Superblocks of one NumaNode: big aligned pieces of regions that are bound to it before their
// first touch. Reused last in, first out; made ready in the background when many are taken; given
// back to the system when nobody has wanted them for a while. Thread-safe (a mutex: one call per
// superblock, not per allocation). Papers: ERIS 3.1; locality-aware scheduling in Bobox, 5.2;
// allocators for query processing, 5.4 (fairness).
//
// A superblock's way:  bare (address space) --populate--> ready or in use <--> kept --decay--> bare
//
// Only bare ones cost no memory: the others have all their pages, and count in the budget.
#ifndef ERIS_MEMORY_NUMA_NODE_POOL_H_
#define ERIS_MEMORY_NUMA_NODE_POOL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "memory/failure_point.h"
#include "memory/memory_budget.h"
#include "memory/owner_table.h"
#include "memory/superblock.h"
#include "memory/superblock_queue.h"
#include "memory/system_memory.h"
#include "topology/topology.h"

namespace eris::memory {

// The default: one huge page. An object costs one on each NumaNode, so larger ones cost small
// objects more.
inline constexpr size_t kSuperblockBytes = kSuperblockBytesMin;

struct PoolOptions {
  size_t superblock_bytes = kSuperblockBytes;
  // Where pages come from, in this order: the next where one has none left. Not empty.
  std::vector<PageKind> pages{PageKind::kAnonymousHuge};
  // Returned superblocks are kept for reuse, at most so many bytes of them, and for so many ticks.
  uint64_t kept_bytes_max = 64u << 20;
  uint32_t decay_ticks = 8;
  // Made ready ahead, at most.
  uint32_t ready_superblocks_max = 16;
};

// Who runs Maintain in the background.
class PoolKeeper {
 public:
  // A pool has something to give back in a while or, with `now`, is short of ready superblocks or
  // keeps too many. Any thread, does not block.
  virtual void Wake(bool now) = 0;

 protected:
  ~PoolKeeper() = default;
};

// What a pool has from the system now: reserved = in use + kept + ready, in bytes, and what is on
// its way between the system and one of those.
struct PoolFigures {
  uint64_t reserved_bytes = 0;
  uint64_t in_use_bytes = 0;
  uint64_t kept_bytes = 0;
  uint64_t ready_bytes = 0;
  uint64_t reserved_huge_bytes = 0;  // of reserved: from the machine's reserved huge pages
  uint64_t mapped_bytes = 0;         // address space
};

// A piece of a pool's address space whose pages are all there.
struct PoolRange {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  bool populated = true;  // false: pages come with the first touch
  bool extent = false;    // its address space goes when it is returned; superblocks keep theirs
};

class NumaNodePool final : public Reclaimable {
 public:
  // `bind`: ask the kernel for the node's memory (false on a synthetic topology: a tag only).
  // `interleaved`: where not empty, pages come from all of these in turn instead of from `node`.
  // `budget` outlives the pool.
  NumaNodePool(const topology::NumaNode& node, bool bind, MemoryBudget& budget,
               const PoolOptions& options = {},
               const std::vector<topology::NumaNode>& interleaved = {});
  ~NumaNodePool();  // REQUIRES: every superblock and extent has been returned
  NumaNodePool(const NumaNodePool&) = delete;
  NumaNodePool& operator=(const NumaNodePool&) = delete;

  // Of layout().bytes(), aligned to that, all pages there; nullptr at the limit or when the system
  // refuses. Contents unspecified. May block in the kernel, not on other threads' work.
  // A bound pool also refuses near the end of its NumaNode's memory, since the kernel answers a
  // bound page fault without a free page by killing the process: 1/16 of it stays untaken, and 1/32
  // free of whatever else is on the machine, beyond what the kernel keeps for itself.
  [[nodiscard]] void* TakeSuperblock();
  void ReturnSuperblock(void* superblock);
  // A piece of its own, `bytes` rounded up to superblocks; for what is larger than one. All its
  // pages are there or, with kOnTouch, come with their first touch and count from now on.
  enum class Pages : uint8_t { kNow, kOnTouch };
  [[nodiscard]] void* TakeExtent(size_t bytes, Pages pages = Pages::kNow);
  void ReturnExtent(void* extent, size_t bytes);  // `bytes` as given to TakeExtent
  static constexpr size_t kNoBytes = 0;           // rounding up would wrap
  size_t ExtentBytes(size_t bytes) const;         // what an extent of `bytes` takes

  NumaNodeId id() const { return node_.id; }
  const SuperblockLayout& layout() const { return layout_; }
  PoolFigures figures() const;
  uint64_t reserved_bytes() const { return figures().reserved_bytes; }
  uint64_t in_use_bytes() const { return figures().in_use_bytes; }
  // Whether the kernel accepts the binding. OK until it has refused once; the reason after that.
  absl::Status binding_status() const;
  // The operating system's numbers of the NumaNodes that its pages may come from; empty: any.
  std::vector<uint32_t> allowed_os_nodes() const;
  // All that it has from the system now. A copy: pieces may be returned meanwhile, and some may be
  // about to get their pages.
  std::vector<PoolRange> Ranges() const;
  // By span, of all its superblocks; as long as the pool.
  const OwnerTable& owners() const { return owners_; }

  // Before the first superblock is taken; nullptr at any time (nobody runs Maintain any more).
  void SetKeeper(PoolKeeper* keeper);
  // Makes `bytes` of superblocks ready, as far as they are not, and no more than options allow: for
  // who is about to need them on a thread that must not wait for pages. Blocks in the kernel.
  // Fewer where memory is short.
  void Prepare(uint64_t bytes);
  // What a keeper does: makes superblocks ready if many were taken of late, gives old ones back; a
  // bounded piece of either, so that other pools get their turn. `tick`: one more tick has passed.
  enum class Work : uint8_t { kNone, kWithTheNextTick, kNow };
  Work Maintain(bool tick);
  void Reclaim(uint64_t bytes) override;

  // Tests: refusals of superblocks and extents; of the kernel: index as in options.pages.
  FailurePoint& take_failures() { return take_failures_; }
  SystemMemory& system(size_t index) { return *sources_[index].system; }

 private:
  struct Source {
    std::unique_ptr<SystemMemory> system;
    std::vector<void*> bare;
    uint64_t populated_bytes = 0;
    uint64_t dry_until_tick = 0;  // has refused pages
  };
  struct Region {
    size_t bytes;
    size_t source;
  };
  struct Extent {
    size_t bytes;
    Pages pages;
  };
  using Extents = std::map<std::byte*, Extent>;
  // Superblocks taken within a tick that make it worth having some ready.
  static constexpr uint64_t kTakenWorthReady = 4;

  // Address space for all superblocks that the limit allows, and the table of its owners.
  void MakeWindow();
  // From any source; nullptr when budget, NumaNode or system refuse. Counts as reserved.
  void* TakeFromSystem(bool reclaim) ABSL_LOCKS_EXCLUDED(mu_);
  void* PopulateFrom(size_t source) ABSL_LOCKS_EXCLUDED(mu_);
  // A bare superblock of that source, mapping a region if there is none.
  void* TakeBare(size_t source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MapRegion(size_t source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // How many the system has taken; the others are kept.
  size_t ReturnToSystem(std::span<void* const> superblocks) ABSL_LOCKS_EXCLUDED(mu_);
  void UnmapExtents(const Extents& extents) ABSL_LOCKS_EXCLUDED(mu_);
  bool TryReserve(size_t bytes, bool reclaim) ABSL_LOCKS_EXCLUDED(mu_);
  void Unreserve(size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  bool NumaNodeHasRoom(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TakeFromNumaNode(size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  size_t SourceOf(const void* superblock) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool bound() const { return bind_ && binding_status().ok(); }
  // Makes superblocks ready for the last tick's demand, some at a time. True: there are more to
  // make.
  bool MakeReady() ABSL_LOCKS_EXCLUDED(mu_);

  // Immutable after construction.
  const topology::NumaNode node_;
  const bool bind_;
  const PoolOptions options_;
  const std::vector<topology::NumaNode> interleaved_;
  const SuperblockLayout layout_;
  const uint64_t stays_free_bytes_;  // of a bound pool's NumaNode
  MemoryBudget& budget_;
  FailurePoint take_failures_;
  std::byte* window_ = nullptr;
  size_t window_bytes_ = 0;
  OwnerTable owners_;
  OwnerId* owner_entries_ = nullptr;

  // Guarded by mu_.
  mutable base::Mutex mu_;
  std::vector<Source> sources_;  // its size and the systems are immutable
  std::map<std::byte*, Region> regions_ ABSL_GUARDED_BY(mu_);
  size_t window_used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  Extents extents_ ABSL_GUARDED_BY(mu_);
  uint64_t on_touch_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of extents
  // Ordered by since_tick: taken from the end, given back from the begin.
  SuperblockQueue kept_ ABSL_GUARDED_BY(mu_);
  std::vector<void*> ready_ ABSL_GUARDED_BY(mu_);
  // Returned, and the keeper's to unmap: nodes of extents_, so that returning needs no memory.
  Extents dead_extents_ ABSL_GUARDED_BY(mu_);
  uint64_t reserved_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t in_use_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t mapped_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t tick_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t taken_in_tick_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t ready_wanted_ ABSL_GUARDED_BY(mu_) = 0;
  // What the NumaNode has free, as last read, less what has been taken since.
  uint64_t node_free_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t takes_until_read_ ABSL_GUARDED_BY(mu_) = 0;
  bool node_full_ ABSL_GUARDED_BY(mu_) = false;
  PoolKeeper* keeper_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_NUMA_NODE_POOL_H_
