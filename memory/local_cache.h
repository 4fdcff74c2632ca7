// An AEU's own cache of one data object's memory. Each size class has a magazine of free blocks in
// front of spans that only this cache divides into blocks. The common allocation and the common
// free take no lock and no atomic read-modify-write. Used only by the owning AEU's thread; other
// threads may read the figures. Papers: ERIS 3.1; locality-aware scheduling in Bobox, 5.1.
//
//   Allocate <- magazine <- the fullest span with free blocks <- manager
//   Free     -> magazine -> (its older half) the blocks' own spans -> (when empty) manager
//            -> (a span of another cache) carrier -> that cache's recollection bin -> its span
//
// A magazine is a stack of addresses: it hands out the block that the core touched last. Neither an
// allocation nor a free touches the block itself. Spans have a bit per block.
#ifndef ERIS_MEMORY_LOCAL_CACHE_H_
#define ERIS_MEMORY_LOCAL_CACHE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/counter.h"
#include "base/prefetch.h"
#include "memory/memory_account.h"
#include "memory/owner_table.h"
#include "memory/recollection_bin.h"
#include "memory/size_class.h"
#include "memory/superblock.h"
#include "memory/superblock_claim.h"
#include "memory/system/failure_point.h"
#include "memory/system/poison.h"

namespace eris::memory {

class MemoryManager;

class LocalCache {
 public:
  // Made and destroyed by its manager.
  ~LocalCache();
  LocalCache(const LocalCache&) = delete;
  LocalCache& operator=(const LocalCache&) = delete;

  // At least `bytes`, aligned to 16; to 64 if `bytes` is above 1 KiB or a multiple of 64 (as the
  // sizes of alignas(64) types are). Contents unspecified. nullptr at the memory limit, by an
  // injected failure, and for 0 bytes in every build: the caller must then leave its structure
  // unchanged.
  [[nodiscard, gnu::always_inline]] void* Allocate(size_t bytes) {
    if (!Classed(bytes)) [[unlikely]]
      return AllocateExtent(bytes);
    const size_t size_class = SizeClassOf(bytes);
    ClassState& state = classes_[size_class];
    void** top = state.top.load(std::memory_order_relaxed);
    if (top == state.begin.load(std::memory_order_relaxed)) [[unlikely]]
      return AllocateSlowly(size_class);
    void* block = *--top;
    state.top.store(top, std::memory_order_relaxed);
    Unpoison(block, SizeClassBytes(size_class));
    return block;
  }

  // As Allocate, but only memory of the cache's own NumaNode, none that is spilled. nullptr also if
  // there is only such.
  [[nodiscard]] void* AllocateAtHome(size_t bytes);

  // `bytes` as given to Allocate; 0 ends the program, because no block has that size. REQUIRES:
  // `block` comes from this cache or another one of the same object. A block of another cache is
  // sent back to it at the next EndTurn of this one, at the latest.
  [[gnu::always_inline]] void Free(void* block, size_t bytes) {
    ERIS_DCHECK(block != nullptr);
    if (!Classed(bytes)) [[unlikely]] {
      FreeExtent(block, bytes);
      return;
    }
    const size_t size_class = SizeClassOf(bytes);
    ERIS_DCHECK(layout_.RunOf(block)->size_class == size_class);
    if (owners_.EntryOf(block) != id_) [[unlikely]] {
      FreeElsewhere(block, size_class);
      return;
    }
    FreeOwn(block, size_class);
  }

  // Whether blocks of that size are so scattered that moving some would free whole spans. This
  // happens after a structure has shrunk, or no longer uses this size. A load.
  bool Scattered(size_t bytes) const {
    return Classed(bytes) && classes_[SizeClassOf(bytes)].scattered;
  }
  // A block of the same size, in a fuller span, to move the contents of `block` to. nullptr: its
  // place is good enough, or it belongs to another cache. The caller copies, and gives the old
  // block to FreeMoved.
  [[nodiscard]] void* AllocateToMove(const void* block, size_t bytes);
  // Like Free, but bypasses the magazine so that the block is not handed out again soon.
  void FreeMoved(void* block, size_t bytes);

  // Sends home the blocks of other caches that this one has freed since the last call. Call it
  // after a batch of work; it costs a load and a branch if there are none.
  void EndTurn() {
    if (outgoing_used_ > 0) [[unlikely]]
      SendHome();
  }
  // Takes in blocks of this cache that others have freed, up to a bound. True: there were some.
  bool Collect();
  // Whether the last Collect ended at its bound: there may be more, and the owner will not be
  // notified again.
  bool CollectsMore() const { return collects_more_; }
  // Returns the blocks of magazines to their spans and empty spans to the manager, for an owner
  // without other work. Bounded by the magazines' sizes.
  void Trim();
  // Whether Trim would free memory: a span is empty, which may be all that holds its superblock; or
  // enough has been freed since the last Trim for other spans to be empty.
  bool TrimWorthwhile() const {
    return empty_runs_kept_ > 0 || freed_to_spans_bytes_ >= kTrimWorthwhileBytes;
  }

  // Whether a block of `bytes` lies on another NumaNode than this cache's: it came from a cache
  // there, or was spilled. REQUIRES: this cache's AEU has the block. Takes the manager's mutex for
  // blocks above the largest class.
  bool IsRemote(const void* block, size_t bytes) const {
    return Classed(bytes) ? layout_.HeaderOf(block)->home != &pool_ : !HasExtent(block);
  }

  // Whether it belongs to another manager's cache. REQUIRES as IsRemote.
  bool IsOthers(const void* block, size_t bytes) const {
    return Classed(bytes) ? owners_.Of(block) != id_ && IsOtherManagers(block) : !HasExtent(block);
  }
  // Whether it is to come to this cache's manager: remote, or another manager's although its pages
  // are here.
  bool IsElsewhere(const void* block, size_t bytes) const {
    return IsRemote(block, bytes) || (Classed(bytes) && IsOthers(block, bytes));
  }

  // Superblocks that change hands whole, and whose pages then move (superblock_claim.h). Claims
  // those that hold nothing but what `census` has noted; the answers come through Collect. False:
  // none is claimed, because there is no memory, or none comes into question.
  bool Claim(SuperblockCensus census);
  bool ClaimsAreOut() const { return claims_out_ > 0; }
  // Whether BringSuperblock would find work.
  bool HasToBring() const { return !to_bring_.empty() || !to_check_.empty(); }
  // Brings the pages of one of these superblocks home: copies them, which takes as long as a copy
  // of a superblock takes, and lets the kernel change the mapping. kLater: it is not possible now,
  // and nothing has moved. kNone: what was left is gone. kChecked: of superblocks that it had
  // before, so many are to be checked that this call has done nothing else. kEnded: the NumaNode
  // has no memory, or the kernel refuses: the others stay where they are. `bytes`: of the blocks
  // that came home. With `wait` it takes only memory that is ready, and asks for more.
  enum class Brought : uint8_t { kYes, kLater, kNone, kEnded, kChecked };
  Brought BringSuperblock(bool wait, uint64_t& bytes);
  // Call it whenever the AEU gives blocks of the object to another one: that one will write to
  // them, so no superblock is known to hold this AEU's blocks alone.
  void GaveBlocksAway() {
    ++given_away_;
    left_remote_ += to_bring_.size() + to_check_.size();
    to_bring_.clear();
    to_check_.clear();
  }
  uint64_t given_away() const { return given_away_; }
  // Superblocks that a census has met, and that were not given or not brought. Only grows.
  uint64_t left_remote() const { return left_remote_; }

  // Call it before other caches of the object free this one's blocks. `listener` must outlive
  // that.
  void SetListener(RecollectionListener* listener) { listener_ = listener; }
  MemoryManager& manager() const { return manager_; }
  const SuperblockLayout& layout() const { return layout_; }

  // Sum of ClassBytes of live blocks: those allocated here minus those freed here. A block that a
  // cache of another manager frees counts here until this cache has taken it in. One above the
  // largest class counts here until any cache frees it. Any thread; O(size classes in use).
  uint64_t used_bytes() const;
  // For readers of many caches: used_bytes then waits for less.
  void PrefetchUsed() const { base::Prefetch(changed_classes_.data()); }
  // The real size of a block of `bytes`: its size class; whole superblocks above the largest class;
  // nothing for 0.
  size_t ClassBytes(size_t bytes) const {
    return Classed(bytes) ? SizeClassBytes(SizeClassOf(bytes))
                          : base::RoundUp(bytes, layout_.bytes());
  }
  // Adds this cache's share. Any thread.
  void AddTo(ObjectAccount& account) const;

  // For tests: the n-th Allocate from now on (1 = the next) fails. 0: none. Magazines are not used
  // while armed, so the fast path need not check.
  void ArmFailures(uint64_t nth, FailurePoint::Mode mode);
  // The same, and every one after it until called with 0.
  void FailAllocationsFrom(uint64_t nth) { ArmFailures(nth, FailurePoint::Mode::kFromThen); }

 private:
  friend class MemoryManager;  // makes caches

  static constexpr uint32_t kBuckets = 4;
  // Span::bucket of a run without free blocks, and from where on it is one in remote_spans_.
  static constexpr uint32_t kFull = kBuckets;
  static constexpr uint32_t kRemote = kBuckets + 1;
  using SpanLists = std::array<Span*, kBuckets>;  // with free blocks, by how full they are
  // One cache line. begin == end == nullptr: no magazine.
  struct alignas(base::kCacheLineBytes) ClassState {
    // One writer. relaxed: other threads read them only for figures, which order nothing.
    std::atomic<void**> top{nullptr};
    std::atomic<void**> begin{nullptr};
    void** end = nullptr;
    SpanLists spans{};  // at home
    bool scattered = false;
  };
  static_assert(sizeof(ClassState) == base::kCacheLineBytes);
  // Blocks of this class, in all size-class states together: modulo 2^64, since a block may be
  // allocated here and freed elsewhere. Blocks that caches of other managers free are in no
  // balance: so the account of each manager is exact.
  struct ClassFigures {
    base::Counter capacity;  // in this cache's spans
    base::Counter out;       // part of capacity: not marked free in their span
    base::Counter balance;   // foreign blocks taken in minus foreign blocks freed
    base::Counter spare;     // bytes at the ends of its runs
  };
  // For a change of other figures than `out`, which only changes in classes with a capacity.
  ClassFigures& FiguresToChange(size_t size_class) {
    std::atomic<uint64_t>& word = changed_classes_[size_class / 64];
    const uint64_t bits = word.load(std::memory_order_relaxed);
    const uint64_t bit = uint64_t{1} << size_class % 64;
    if ((bits & bit) == 0) word.store(bits | bit, std::memory_order_relaxed);
    return figures_[size_class];
  }
  // Calls look(size class, its live blocks, free blocks, spare bytes) for classes with figures.
  template <class Look>
  void ForEachClass(Look look) const;
  // A carrier being filled, by the low bits of the owner.
  struct Outgoing {
    OwnerId owner = 0;
    ReturnCarrier* carrier = nullptr;
  };
  static constexpr size_t kOutgoing = 32;
  // More than pile up while an owner is busy for a while. Beyond this, blocks travel one by one.
  static constexpr uint32_t kCarriersMax = 1024;
  // Per call of Collect: more than other threads free in a turn, but not enough to delay a turn.
  static constexpr uint64_t kCollectedAtOnce = 16384;
  // Superblocks: some 50 us.
  static constexpr uint32_t kCheckedAtOnce = 16;
  static constexpr uint64_t kTrimWorthwhileBytes = 1u << 20;
  // If a class's spans have this many free bytes, and this share of the spans, it is worth moving
  // blocks.
  static constexpr uint64_t kScatteredBytes = 1u << 18;
  static constexpr uint64_t kScatteredShare = 12;

  LocalCache(MemoryManager& manager, OwnerId id);

  // Whether a size class has blocks of that size: 1 .. kClassedBytesMax, in one comparison, since 0
  // wraps around.
  static constexpr bool Classed(size_t bytes) { return bytes - 1 < kClassedBytesMax; }

  void FreeOwn(void* block, size_t size_class) {
    ClassState& state = classes_[size_class];
    void** const top = state.top.load(std::memory_order_relaxed);
    if (top == state.end) [[unlikely]] {
      FreeToFull(block, size_class);
      return;
    }
    Poison(block, SizeClassBytes(size_class));
    *top = block;
    state.top.store(top + 1, std::memory_order_relaxed);
  }
  void* AllocateSlowly(size_t size_class);
  void FreeToFull(void* block, size_t size_class);
  // False: no memory for it, or blocks of this class always go directly to their spans.
  bool MakeMagazine(size_t size_class);
  // Up to `most` free blocks of the spans; those to be used first are at the end. 0: refused.
  uint32_t TakeBlocks(size_t size_class, uint32_t most, void** blocks);
  uint32_t TakeBlocksOf(Span* run, size_t size_class, uint32_t most, void** blocks);
  // A new run for the class, added to the lists; nullptr: refused.
  Span* TakeRun(size_t size_class);
  // The same; or, if the NumaNode has none, a remote run with free blocks, before more is spilled.
  Span* TakeMore(size_t size_class);
  // A span of the fullest list from that one on; nullptr: there is none.
  static Span* FullestOf(const SpanLists& lists, uint32_t bucket_min = 0);
  // Prepares a run that the manager has given, and adds it to the lists.
  Span* AddRun(Span* run, size_t size_class);
  // A block of a span on the own NumaNode, past the magazine; nullptr: refused.
  void* TakeAtHome(size_t size_class);
  void ReturnRun(Span* run);
  uint64_t SpareBytes(const Span& run) const;  // at its end
  // Marks the `count` oldest blocks of the magazine free in their spans.
  void Spill(size_t size_class, size_t count);
  void ReturnToSpan(void* block, size_t size_class);
  // Called after blocks have moved to or from spans.
  void JudgeScatter(size_t size_class);
  void Link(Span* run);
  void Unlink(Span* run);
  bool IsRemote(const Span& run) const { return layout_.HeaderOf(&run)->home != &pool_; }
  // The list that a run with free blocks is in.
  Span*& ListOf(const Span& run) {
    return run.bucket >= kRemote ? remote_spans_[run.size_class][run.bucket - kRemote]
                                 : classes_[run.size_class].spans[run.bucket];
  }
  // Quarters in use; kFull: all.
  static uint32_t BucketOf(const Span& run) {
    const uint32_t quarters = 4 * run.used;
    return uint32_t{quarters >= run.capacity} + (quarters >= 2 * run.capacity) +
           (quarters >= 3 * run.capacity) + (quarters >= 4 * run.capacity);
  }
  static_assert(kBuckets == 4);

  // A block that, according to the owner table, is not this cache's: it belongs to another cache,
  // or lies in a superblock of another NumaNode's pool.
  void FreeElsewhere(void* block, size_t size_class);
  void FreeForeign(void* block, OwnerId owner, size_t size_class);
  ReturnCarrier* TakeCarrier();
  void Send(Outgoing& outgoing);
  void SendHome();
  void PushTo(LocalCache& owner, ReturnBatch* batch);
  // The entry of the owner table for a block, wherever it lies.
  OwnerId EntryOf(const void* block) const;
  // What has come to the bin, answers to claims taken in: the blocks of what has been given may be
  // in any batch.
  ReturnBatch* TakeBatches();
  void TakeIn(ReturnCarrier* carrier);
  void TakeInAlone(ReturnBatch* block);
  // A block of this cache is back.
  void ComesHome(void* block, bool counted);
  void Uncount(ReturnBatch* batch);
  // To the owner that the entry names. If that is this cache, the batch waits until it has taken in
  // what it has claimed.
  void SendOn(ReturnBatch* batch, OwnerId entry);

  // For an owner that has been asked: gives what is whole, and answers.
  void Answer(SuperblockClaim* claim);
  // Whether all blocks in use are noted, and none has been given out since then.
  bool IsWhole(Superblock* superblock, const NotedSuperblock& noted) const;
  void GiveRuns(Superblock* superblock, OwnerId to);
  // For the claimant.
  void Adopt(SuperblockClaim* claim);
  // The same for superblocks that this cache has already: they were spilled, or adopted for an
  // earlier claim.
  void CheckSome();
  void AdoptRuns(Superblock* superblock);
  // The pages of the run's superblock are at home now.
  void CameHome(Superblock* superblock, Span* run);
  // Its header and what is in use.
  void CopyInto(std::byte* fresh, Superblock* superblock) const;
  // Calls f(run) for the first spans of its runs.
  template <class F>
  void ForEachRun(Superblock* superblock, const F& f) const;

  bool HasExtent(const void* extent) const;
  bool IsOtherManagers(const void* block) const;
  void* AllocateExtent(size_t bytes);
  void FreeExtent(void* block, size_t bytes);

  // Immutable after construction.
  MemoryManager& manager_;
  NumaNodePool& pool_;  // the manager's own
  const SuperblockLayout layout_;
  const OwnerTable owners_;  // the manager's own pool's
  const OwnerId id_;
  RecollectionListener* listener_ = nullptr;

  // Owned by the AEU thread.
  FailurePoint failures_;
  bool failures_armed_ = false;
  uint32_t outgoing_used_ = 0;
  uint64_t freed_to_spans_bytes_ = 0;  // minus those taken from there, since the last Trim
  std::array<ClassState, kSizeClasses> classes_;
  // As ClassState::spans, on other NumaNodes. Used only when there is no memory at home: so they
  // become empty, and their superblocks go back.
  std::array<SpanLists, kSizeClasses> remote_spans_{};
  // Runs without used blocks, not returned to the manager: at most one per class, at home.
  std::array<Span*, kSizeClasses> empty_runs_{};
  uint32_t empty_runs_kept_ = 0;
  uint32_t home_refused_ = 0;  // as the manager's, for blocks
  std::array<std::unique_ptr<void*[]>, kSizeClasses> magazines_;
  std::array<Outgoing, kOutgoing> outgoing_;
  ReturnCarrier* carriers_ = nullptr;  // all that were created
  uint32_t carriers_made_ = 0;
  ReturnBatch* free_carriers_ = nullptr;
  ReturnBatch* collecting_ = nullptr;  // taken from the bin, not processed so far
  ReturnBatch* postponed_ = nullptr;   // until an answer is taken in
  bool collects_more_ = false;
  std::vector<std::unique_ptr<SuperblockClaim>> claims_;  // this cache's own
  uint32_t claims_out_ = 0;
  uint64_t given_away_ = 0;
  uint64_t left_remote_ = 0;
  std::vector<NotedSuperblock> to_check_;  // this cache's
  std::vector<SuperblockPlace> to_bring_;  // the same, with blocks of its AEU alone

  // Owned by the AEU thread, read by anyone.
  std::array<ClassFigures, kSizeClasses> figures_;
  // A bit for each class whose figures have ever changed: readers leave out the others, which are
  // most. relaxed, as the figures.
  std::array<std::atomic<uint64_t>, (kSizeClasses + 63) / 64> changed_classes_{};

  // Shared: written under the manager's mutex, read by anyone. relaxed: a figure.
  std::atomic<uint64_t> extent_bytes_{0};

  // Shared: written by other caches' threads, read by this one's.
  RecollectionBin bin_;
  RecollectionBin returned_carriers_;
  // Blocks that this cache has sent home without a carrier, and that are not there. Their lists run
  // through their own bytes, which other threads therefore write. release by the cache that takes
  // one in, acquire in BringSuperblock: those writes have ended.
  std::atomic<uint64_t> alone_on_the_way_{0};

  // Guarded by the manager's mutex.
  SuperblockList superblocks_;  // that only this cache uses
  size_t spans_ = 0;            // held by it now
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_LOCAL_CACHE_H_
