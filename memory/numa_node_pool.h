// Superblocks of one NumaNode: big aligned pieces of regions that are bound to it before their
// first touch. Reused last in, first out; prepared in the background when many are taken; returned
// to the system after a time without use. Thread-safe (a mutex: one call per superblock, not per
// allocation). Papers: ERIS 3.1; locality-aware scheduling in Bobox, 5.2; allocators for query
// processing, 5.4 (fairness).
//
// States of a superblock:  bare (address space) --populate--> ready or in use <--> kept --decay-->
// bare
//
// Only bare superblocks cost no memory: all others have all their pages, and count in the budget.
#ifndef ERIS_MEMORY_NUMA_NODE_POOL_H_
#define ERIS_MEMORY_NUMA_NODE_POOL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "base/mutex.h"
#include "memory/owner_table.h"
#include "memory/superblock.h"
#include "memory/superblock_queue.h"
#include "memory/system/failure_point.h"
#include "memory/system/memory_budget.h"
#include "memory/system/system_memory.h"
#include "topology/topology.h"

namespace eris::memory {

class MemoryManager;

// The default: one huge page. An object takes one on each NumaNode, so larger ones make small
// objects more expensive.
inline constexpr size_t kSuperblockBytes = kSuperblockBytesMin;

struct PoolOptions {
  size_t superblock_bytes = kSuperblockBytes;
  // Where pages come from, in this order: the next kind is used when one has none left. Not empty.
  std::vector<PageKind> pages{PageKind::kAnonymousHuge};
  // Returned superblocks are kept for reuse: at most kept_bytes_max, and for at most decay_ticks.
  uint64_t kept_bytes_max = 64u << 20;
  uint32_t decay_ticks = 8;
  // The most superblocks that are prepared ahead.
  uint32_t ready_superblocks_max = 16;
};

// The owner of the background thread that runs Maintain.
class PoolKeeper {
 public:
  // The pool will have memory to return in a while or, with `now`, has too few ready superblocks or
  // keeps too many. Any thread, does not block.
  virtual void Wake(bool now) = 0;

 protected:
  ~PoolKeeper() = default;
};

// A pool's memory from the system now: reserved = in use + kept + ready, in bytes, plus memory in
// transit between the system and one of those.
struct PoolFigures {
  uint64_t reserved_bytes = 0;
  uint64_t in_use_bytes = 0;
  uint64_t kept_bytes = 0;
  uint64_t ready_bytes = 0;
  uint64_t reserved_huge_bytes = 0;  // part of reserved: from the machine's reserved huge pages
  uint64_t mapped_bytes = 0;         // address space
};

// A piece of a pool's address space that has all of its pages.
struct PoolRange {
  const std::byte* begin = nullptr;
  size_t bytes = 0;
  bool populated = true;  // false: pages are allocated on first touch
  // its address space is released when it is returned; superblocks keep theirs
  bool extent = false;
};

class NumaNodePool final : public Reclaimable {
 public:
  // `bind`: ask the kernel for the NumaNode's memory (false on a synthetic topology: a tag only).
  // `interleaved`: if not empty, pages come from all of these in turn instead of from `node`.
  // `budget` outlives the pool.
  NumaNodePool(const topology::NumaNode& node, bool bind, MemoryBudget& budget,
               const PoolOptions& options = {},
               const std::vector<topology::NumaNode>& interleaved = {});
  ~NumaNodePool();  // REQUIRES: every superblock and extent has been returned
  NumaNodePool(const NumaNodePool&) = delete;
  NumaNodePool& operator=(const NumaNodePool&) = delete;

  // layout().bytes(), aligned to that size, with all pages present; nullptr at the limit or if the
  // system refuses. Contents unspecified. May block in the kernel, not on other threads' work.
  // A bound pool also refuses near the end of its NumaNode's memory, because the kernel kills the
  // process if a page fault on bound memory finds no free page. It leaves 1/16 of the NumaNode
  // untaken. It also leaves 1/32 free, whatever else runs on the machine, in addition to what the
  // kernel keeps for itself.
  [[nodiscard]] void* TakeSuperblock();
  // The same, of those that have their pages already, for a change of a mapping. nullptr also if
  // there is none and the keeper makes some, or if pages are being made, for which the change would
  // wait. Without a keeper as TakeSuperblock.
  [[nodiscard]] void* TakeReady();
  // How many bytes could come here from other pools of the same limit, which then have as much
  // less: what is kept, and what is free on a bound pool's NumaNode, which is read: for a thread
  // that may wait. The next take reads it, too, whatever was known. Throws std::bad_alloc.
  uint64_t RoomBytes();
  void ReturnSuperblock(void* superblock);
  // For a superblock that has this pool's pages, in the address space of `window`.
  void ReturnSuperblock(void* superblock, NumaNodePool& window);

  // Moves the pages of `fresh`, which has been taken from this pool and has a copy of what is at
  // `at`, to that address: a superblock in the address space of `window`, whose pages are `home`'s.
  // These are returned to the system, and `fresh` is address space again. Readers of `at` see the
  // old memory or the new. False: the kernel refuses, or the pools have other kinds of pages, or
  // the process has too many mappings already; nothing has changed. Blocks in the kernel.
  [[nodiscard]] bool MovePages(void* fresh, void* at, NumaNodePool& window, NumaNodePool& home);
  // Whether MovePages could succeed for that address, as far as is known beforehand.
  bool CanMovePages(const void* at, const NumaNodePool& window) const;
  // How often it has begun, and ended, for superblocks with pages of this pool or at its addresses.
  // Any thread.
  struct Moves {
    uint64_t begun = 0;
    uint64_t ended = 0;
  };
  Moves moves() const;

  // Which manager has a superblock of this pool's address space; nullptr: none. A manager sets it,
  // and may rely on it if it is itself; for others it is out of date at once.
  MemoryManager* HolderOf(const void* superblock) const;
  void SetHolder(const void* superblock, MemoryManager* manager);

  // A separate piece, `bytes` rounded up to superblocks, for allocations larger than one. All its
  // pages are present; with kOnTouch they are allocated on first touch, but count from now on.
  enum class Pages : uint8_t { kNow, kOnTouch };
  [[nodiscard]] void* TakeExtent(size_t bytes, Pages pages = Pages::kNow);
  void ReturnExtent(void* extent, size_t bytes);  // `bytes` as given to TakeExtent
  static constexpr size_t kNoBytes = 0;           // rounding up would wrap
  size_t ExtentBytes(size_t bytes) const;         // the size of an extent for `bytes`

  NumaNodeId id() const { return node_.id; }
  const SuperblockLayout& layout() const { return layout_; }
  PoolFigures figures() const;
  uint64_t reserved_bytes() const { return figures().reserved_bytes; }
  uint64_t in_use_bytes() const { return figures().in_use_bytes; }
  // Whether the kernel accepts the binding. OK until it refuses once; then the reason.
  absl::Status binding_status() const;
  // The operating system's numbers of the NumaNodes that its pages may come from; empty: any.
  std::vector<uint32_t> allowed_os_nodes() const;
  // All memory that it has from the system now. A copy: pieces may be returned meanwhile, and some
  // may not have their pages.
  std::vector<PoolRange> Ranges() const;
  // By span, for all its superblocks; valid as long as the pool.
  const OwnerTable& owners() const { return owners_; }

  // Call it before the first superblock is taken; nullptr at any time (Maintain is no longer run).
  void SetKeeper(PoolKeeper* keeper);
  // Prepares superblocks until `bytes` of them are ready, but at most as many as the options allow:
  // for a thread that will need them and must not wait for pages. Blocks in the kernel. Prepares
  // fewer if memory is short.
  void Prepare(uint64_t bytes);
  // The keeper's work: prepares superblocks if many were taken recently, and returns old ones. Each
  // call does a bounded piece of either, so that other pools get their turn. `tick`: one more tick
  // has passed.
  enum class Work : uint8_t { kNone, kWithTheNextTick, kNow };
  Work Maintain(bool tick);
  void Reclaim(uint64_t bytes) override;

  // For tests: refusals of superblocks and extents, and of the kernel (index as in options.pages).
  FailurePoint& take_failures() { return take_failures_; }
  SystemMemory& system(size_t index) { return *sources_[index].system; }

 private:
  struct Source {
    std::unique_ptr<SystemMemory> system;
    std::vector<void*> bare;
    uint64_t populated_bytes = 0;
    uint64_t dry_until_tick = 0;  // its pages have run out
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
  // From any source; nullptr if the budget, the NumaNode or the system refuses. Counts as reserved.
  void* TakeFromSystem(bool reclaim) ABSL_LOCKS_EXCLUDED(mu_);
  void* PopulateFrom(size_t source) ABSL_LOCKS_EXCLUDED(mu_);
  // A bare superblock of that source, mapping a region if there is none.
  void* TakeBare(size_t source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MapRegion(size_t source) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns how many the system has taken; the others are kept.
  size_t ReturnToSystem(std::span<void* const> superblocks) ABSL_LOCKS_EXCLUDED(mu_);
  void UnmapExtents(const Extents& extents) ABSL_LOCKS_EXCLUDED(mu_);
  bool TryReserve(size_t bytes, bool reclaim) ABSL_LOCKS_EXCLUDED(mu_);
  void Unreserve(size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  bool NumaNodeHasRoom(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool TakeFromNumaNode(size_t bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // Its pages come from this NumaNode alone, whose size is known.
  bool IsLimitedByNumaNode() const {
    return bound() && interleaved_.empty() && node_.memory_bytes > 0;
  }
  uint64_t NumaNodeTakesMost() const { return node_.memory_bytes - node_.memory_bytes / 16; }
  size_t SourceOf(const void* superblock) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The pages of a superblock are this pool's no longer: they have gone back to the system.
  void Lose(std::byte* at) ABSL_LOCKS_EXCLUDED(mu_);
  // A superblock that has this pool's pages at an address of `window`, and is not in use.
  struct Abroad {
    std::byte* at;
    NumaNodePool* window;
  };
  void LosePages(std::byte* at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Gives their pages back to the system, and the addresses to their windows.
  void GiveBack(std::span<const Abroad> superblocks) ABSL_LOCKS_EXCLUDED(mu_);
  // The same for some of dead_abroad_, and adds their bytes. False: there are none.
  bool GiveBackAbroad(uint64_t& bytes) ABSL_LOCKS_EXCLUDED(mu_);
  // Notes beforehand that pages of this pool are to be at an address of another one's, and that an
  // address of this one is to have others. False: no memory.
  bool NoteAbroad(std::byte* at, size_t source) ABSL_LOCKS_EXCLUDED(mu_);
  bool NoteAway(std::byte* at) ABSL_LOCKS_EXCLUDED(mu_);
  void ForgetAbroad(std::byte* at) ABSL_LOCKS_EXCLUDED(mu_);
  void ForgetAway(std::byte* at) ABSL_LOCKS_EXCLUDED(mu_);
  void CountMove(uint64_t Moves::*figure) ABSL_LOCKS_EXCLUDED(mu_);
  // The pages of a superblock of this address space go, and its mapping becomes that of its
  // neighbours again. False: the system keeps them.
  bool Discard(std::byte* superblock, size_t source) ABSL_LOCKS_EXCLUDED(mu_);
  bool bound() const { return bind_ && binding_status().ok(); }
  // Prepares superblocks for the last tick's demand, some at a time. True: more are needed.
  bool MakeReady() ABSL_LOCKS_EXCLUDED(mu_);

  // Immutable after construction.
  const topology::NumaNode node_;
  const bool bind_;
  const PoolOptions options_;
  const std::vector<topology::NumaNode> interleaved_;
  const SuperblockLayout layout_;
  const uint64_t stays_free_bytes_;  // of the NumaNode, for a bound pool
  MemoryBudget& budget_;
  FailurePoint take_failures_;
  std::byte* window_ = nullptr;
  size_t window_bytes_ = 0;
  // How much of it may have other pools' pages: the rest is for this one's.
  uint64_t away_bytes_max_ = ~uint64_t{0};
  OwnerTable owners_;
  OwnerId* owner_entries_ = nullptr;
  // By superblock of the window. relaxed: see HolderOf.
  std::atomic<MemoryManager*>* holders_ = nullptr;

  // Guarded by mu_.
  mutable base::Mutex mu_;
  std::vector<Source> sources_;  // its size and the systems are immutable
  std::map<std::byte*, Region> regions_ ABSL_GUARDED_BY(mu_);
  size_t window_used_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  // Superblocks of this address space that have been given pages by MovePages, and part of these:
  // the pages are another pool's. And others' with pages of this one, by the source of these.
  std::set<const std::byte*> moved_ ABSL_GUARDED_BY(mu_);
  std::set<const std::byte*> away_ ABSL_GUARDED_BY(mu_);
  std::map<const std::byte*, size_t> abroad_ ABSL_GUARDED_BY(mu_);
  Moves moves_ ABSL_GUARDED_BY(mu_);
  Extents extents_ ABSL_GUARDED_BY(mu_);
  uint64_t on_touch_bytes_ ABSL_GUARDED_BY(mu_) = 0;  // of extents
  // Ordered by since_tick: taken from the end, returned to the system from the beginning.
  SuperblockQueue kept_ ABSL_GUARDED_BY(mu_);
  std::vector<void*> ready_ ABSL_GUARDED_BY(mu_);
  // Returned extents that the keeper must unmap: nodes of extents_, so that returning needs no
  // memory.
  Extents dead_extents_ ABSL_GUARDED_BY(mu_);
  // The same for superblocks at addresses of other pools. With room for all that are abroad.
  std::vector<Abroad> dead_abroad_ ABSL_GUARDED_BY(mu_);
  uint64_t reserved_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t in_use_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t mapped_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t tick_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t taken_in_tick_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t ready_wanted_ ABSL_GUARDED_BY(mu_) = 0;
  // The NumaNode's free bytes as last read, minus what has been taken since.
  uint64_t node_free_bytes_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t takes_until_read_ ABSL_GUARDED_BY(mu_) = 0;
  bool node_full_ ABSL_GUARDED_BY(mu_) = false;
  PoolKeeper* keeper_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_NUMA_NODE_POOL_H_
