#include "memory/local_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <span>

#include "memory/memory_manager.h"

namespace eris::memory {

LocalCache::LocalCache(MemoryManager& manager, OwnerId id)
    : manager_(manager),
      pool_(manager.pool_),
      layout_(manager.layout_),
      owners_(manager.pool_.owners()),
      id_(id) {}

LocalCache::~LocalCache() {
  while (carriers_ != nullptr) {
    ReturnCarrier* const next = carriers_->all_next;
    delete carriers_;
    carriers_ = next;
  }
}

// --- allocation ----------------------------------------------------------------------------------

void* LocalCache::AllocateSlowly(size_t size_class) {
  if (failures_.Fires()) return nullptr;
  ClassState& state = classes_[size_class];
  void* alone = nullptr;
  const bool magazine =
      state.begin.load(std::memory_order_relaxed) != nullptr || MakeMagazine(size_class);
  // Take half, so that the next frees find room.
  const uint32_t wanted = magazine ? (MagazineBlocks(size_class) + 1) / 2 : 1;
  void** const into = magazine ? state.begin.load(std::memory_order_relaxed) : &alone;
  uint32_t got = TakeBlocks(size_class, wanted, into);
  if (got == 0) {
    // At the limit: blocks that others have freed, and blocks in magazines, may make whole spans.
    while (Collect()) {
    }
    Trim();
    got = TakeBlocks(size_class, wanted, into);
    if (got == 0) return nullptr;
  }
  // In this order, so that a thread that reads both meanwhile never sees more free blocks than
  // exist.
  figures_[size_class].out.Add(got);
  if (magazine) state.top.store(into + got - 1, std::memory_order_relaxed);
  JudgeScatter(size_class);
  freed_to_spans_bytes_ -= std::min(freed_to_spans_bytes_, got * SizeClassBytes(size_class));
  Unpoison(into[got - 1], SizeClassBytes(size_class));
  return into[got - 1];
}

bool LocalCache::MakeMagazine(size_t size_class) {
  const uint32_t blocks = MagazineBlocks(size_class);
  if (blocks == 0 || failures_armed_) return false;
  if (magazines_[size_class] == nullptr) {
    magazines_[size_class].reset(new (std::nothrow) void*[blocks]);
  }
  void** const begin = magazines_[size_class].get();
  if (begin == nullptr) return false;
  ClassState& state = classes_[size_class];
  state.top.store(begin, std::memory_order_relaxed);
  state.begin.store(begin, std::memory_order_relaxed);
  state.end = begin + blocks;
  return true;
}

uint32_t LocalCache::TakeBlocks(size_t size_class, uint32_t most, void** blocks) {
  ClassState& state = classes_[size_class];
  uint32_t got = 0;
  // The fullest spans have few blocks to give: take several of them, so that the blocks last a
  // while.
  bool remote = false;  // the NumaNode has none
  while (got < (most + 1) / 2) {
    Span* run = FullestOf(remote ? remote_spans_[size_class] : state.spans);
    if (run == nullptr && empty_runs_[size_class] != nullptr) {
      run = empty_runs_[size_class];
      empty_runs_[size_class] = nullptr;
      --empty_runs_kept_;
      Link(run);
    }
    if (run == nullptr && got == 0) run = TakeMore(size_class);
    if (run == nullptr) break;
    remote = IsRemote(*run);
    got += TakeBlocksOf(run, size_class, most - got, blocks + got);
  }
  std::reverse(blocks, blocks + got);
  return got;
}

Span* LocalCache::FullestOf(const SpanLists& lists, uint32_t bucket_min) {
  for (uint32_t bucket = kBuckets; bucket-- > bucket_min;) {
    if (lists[bucket] != nullptr) return lists[bucket];
  }
  return nullptr;
}

Span* LocalCache::TakeMore(size_t size_class) {
  Span* const remote = FullestOf(remote_spans_[size_class]);
  if (remote == nullptr) return TakeRun(size_class);
  if (home_refused_ > 0) {
    --home_refused_;
    return remote;
  }
  if (Span* const run = manager_.TakeRunAtHome(*this, size_class)) return AddRun(run, size_class);
  home_refused_ = kHomeAskedEvery;
  return remote;
}

// In address order, because the blocks will be written in that order.
uint32_t LocalCache::TakeBlocksOf(Span* run, size_t size_class, uint32_t most, void** blocks) {
  const size_t bytes = SizeClassBytes(size_class);
  Unlink(run);
  const uint32_t got = std::min(most, run->capacity - run->used);
  uint32_t left = got;
  for (uint64_t* word = run->free_bits; left > 0; ++word) {
    uint64_t bits = *word;
    std::byte* const first = run->blocks + static_cast<size_t>(word - run->free_bits) * 64 * bytes;
    for (; bits != 0 && left > 0; --left, bits &= bits - 1) {
      *blocks++ = first + static_cast<size_t>(std::countr_zero(bits)) * bytes;
    }
    *word = bits;
  }
  run->used += got;
  run->taken.store(run->taken.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  Link(run);
  return got;
}

Span* LocalCache::TakeRun(size_t size_class) {
  Span* run = manager_.TakeRun(*this, size_class);
  return run == nullptr ? nullptr : AddRun(run, size_class);
}

Span* LocalCache::AddRun(Span* run, size_t size_class) {
  const size_t bytes = SizeClassBytes(size_class);
  void* base = layout_.Base(run);
  const size_t header_bytes = layout_.HeaderBytesIn(run->run_first);
  const size_t run_bytes = run->spans * kSpanBytes - header_bytes;
  run->blocks = static_cast<std::byte*>(base) + run->run_first * kSpanBytes + header_bytes;
  run->capacity = static_cast<uint32_t>(run_bytes / bytes);
  run->used = 0;
  run->reciprocal = Reciprocal(size_class);
  run->size_class = static_cast<uint16_t>(size_class);
  run->free_bits = layout_.FreeBits(layout_.HeaderOf(base), run->run_first);
  const std::span<uint64_t> words(run->free_bits, (run->capacity + 63) / 64);
  std::fill(words.begin(), words.end(), ~uint64_t{0});
  if (run->capacity % 64 != 0) words.back() = (uint64_t{1} << run->capacity % 64) - 1;
  Poison(run->blocks, run_bytes);
  Link(run);
  ClassFigures& figures = FiguresToChange(size_class);
  figures.capacity.Add(run->capacity);
  figures.spare.Add(run_bytes - run->capacity * bytes);
  return run;
}

void* LocalCache::AllocateAtHome(size_t bytes) {
  void* const block = Allocate(bytes);
  if (block == nullptr || !IsRemote(block, bytes)) return block;
  Free(block, bytes);
  return TakeAtHome(SizeClassOf(bytes));
}

void* LocalCache::TakeAtHome(size_t size_class) {
  Span* home = FullestOf(classes_[size_class].spans);
  if (home == nullptr) {
    home = manager_.TakeRunAtHome(*this, size_class);
    if (home == nullptr) return nullptr;
    AddRun(home, size_class);
  }
  void* block = nullptr;
  TakeBlocksOf(home, size_class, 1, &block);
  figures_[size_class].out.Add(1);
  Unpoison(block, SizeClassBytes(size_class));
  return block;
}

void LocalCache::ReturnRun(Span* run) {
  ERIS_DCHECK(run->used == 0);
  ClassFigures& figures = figures_[run->size_class];
  figures.capacity.Add(-uint64_t{run->capacity});
  figures.spare.Add(-SpareBytes(*run));
  manager_.ReturnRun(*this, run);
}

uint64_t LocalCache::SpareBytes(const Span& run) const {
  const size_t run_bytes = run.spans * kSpanBytes - layout_.HeaderBytesIn(run.run_first);
  return run_bytes - run.capacity * SizeClassBytes(run.size_class);
}

// --- freeing -------------------------------------------------------------------------------------

void LocalCache::FreeToFull(void* block, size_t size_class) {
  ClassState& state = classes_[size_class];
  if (state.end == nullptr && !MakeMagazine(size_class)) {
    Poison(block, SizeClassBytes(size_class));
    ReturnToSpan(block, size_class);
    freed_to_spans_bytes_ += SizeClassBytes(size_class);
    return;
  }
  void** const begin = state.begin.load(std::memory_order_relaxed);
  const auto count = static_cast<size_t>(state.top.load(std::memory_order_relaxed) - begin);
  if (count > 0) Spill(size_class, (count + 1) / 2);
  FreeOwn(block, size_class);
}

void LocalCache::Spill(size_t size_class, size_t count) {
  ClassState& state = classes_[size_class];
  void** const begin = state.begin.load(std::memory_order_relaxed);
  void** const top = state.top.load(std::memory_order_relaxed);
  for (size_t i = 0; i < count; ++i) __builtin_prefetch(layout_.HeaderOf(begin[i]));
  for (size_t i = 0; i < count; ++i) {
    if (i + 8 < count) __builtin_prefetch(layout_.RunOf(begin[i + 8]));
    ReturnToSpan(begin[i], size_class);
  }
  JudgeScatter(size_class);
  std::copy(begin + count, top, begin);
  state.top.store(top - count, std::memory_order_relaxed);
  freed_to_spans_bytes_ += count * SizeClassBytes(size_class);
}

void LocalCache::ReturnToSpan(void* block, size_t size_class) {
  Span* run = layout_.RunOf(block);
  ERIS_CHECK(run->size_class == size_class);
  const uint32_t index = BlockIndex(
      static_cast<size_t>(static_cast<std::byte*>(block) - run->blocks), run->reciprocal);
  const uint64_t bit = uint64_t{1} << index % 64;
  ERIS_CHECK((run->free_bits[index / 64] & bit) == 0);  // freed twice
  run->free_bits[index / 64] |= bit;
  figures_[size_class].out.Add(-uint64_t{1});
  const bool was_full = run->used == run->capacity;
  const uint32_t bucket = BucketOf(*run);
  --run->used;
  if (run->used > 0 && !was_full && BucketOf(*run) == bucket) return;
  if (!was_full) Unlink(run);
  if (run->used > 0) {
    Link(run);
  } else if (empty_runs_[size_class] == nullptr && run->spans == 1 && !IsRemote(*run)) {
    empty_runs_[size_class] = run;
    ++empty_runs_kept_;
  } else {
    ReturnRun(run);
  }
}

void LocalCache::Link(Span* run) {
  run->bucket = static_cast<uint8_t>(kFull);
  if (run->used == run->capacity) return;
  run->bucket = static_cast<uint8_t>(BucketOf(*run) + (IsRemote(*run) ? kRemote : 0));
  Span*& head = ListOf(*run);
  run->prev = nullptr;
  run->next = head;
  if (head != nullptr) head->prev = run;
  head = run;
}

void LocalCache::Unlink(Span* run) {
  if (run->prev != nullptr) {
    run->prev->next = run->next;
  } else {
    ListOf(*run) = run->next;
  }
  if (run->next != nullptr) run->next->prev = run->prev;
}

void LocalCache::JudgeScatter(size_t size_class) {
  const uint64_t capacity = figures_[size_class].capacity.Read();
  const uint64_t free = capacity - figures_[size_class].out.Read();
  classes_[size_class].scattered =
      free * SizeClassBytes(size_class) > kScatteredBytes && free * kScatteredShare > capacity;
}

void* LocalCache::AllocateToMove(const void* block, size_t bytes) {
  if (EntryOf(block) != id_) return nullptr;
  const Span* run = layout_.RunOf(block);
  ERIS_DCHECK(run->size_class == SizeClassOf(bytes));
  // To any span at home if this one is not there. Else to a fuller one, or to one equally empty
  // that is filled first.
  const bool remote = IsRemote(*run);
  const auto& spans = classes_[run->size_class].spans;
  Span* to = FullestOf(spans, remote ? 0 : BucketOf(*run));
  if (to == nullptr && remote) to = FullestOf(remote_spans_[run->size_class], BucketOf(*run));
  if (to == nullptr || to == run) return nullptr;
  void* moved = nullptr;
  TakeBlocksOf(to, run->size_class, 1, &moved);
  figures_[run->size_class].out.Add(1);
  Unpoison(moved, bytes);
  return moved;
}

void LocalCache::FreeMoved(void* block, size_t bytes) {
  const size_t size_class = SizeClassOf(bytes);
  Poison(block, SizeClassBytes(size_class));
  ReturnToSpan(block, size_class);
  freed_to_spans_bytes_ += SizeClassBytes(size_class);
  JudgeScatter(size_class);
}

void LocalCache::Trim() {
  for (size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    ClassState& state = classes_[size_class];
    const auto count = static_cast<size_t>(state.top.load(std::memory_order_relaxed) -
                                           state.begin.load(std::memory_order_relaxed));
    if (count > 0) Spill(size_class, count);
    if (empty_runs_[size_class] != nullptr) {
      ReturnRun(empty_runs_[size_class]);
      empty_runs_[size_class] = nullptr;
    }
  }
  empty_runs_kept_ = 0;
  freed_to_spans_bytes_ = 0;
}

// --- extents -------------------------------------------------------------------------------------

bool LocalCache::IsOtherManagers(const void* block) const {
  const auto owner = static_cast<OwnerId>(EntryOf(block) & ~kOnItsWay);
  return &manager_.CacheOf(owner).manager_ != &manager_;
}

bool LocalCache::HasExtent(const void* extent) const { return manager_.HasExtent(extent); }

void* LocalCache::AllocateExtent(size_t bytes) {
  if (bytes == 0) return nullptr;
  if (failures_.Fires()) return nullptr;
  return manager_.TakeExtent(bytes, extent_bytes_);
}

void LocalCache::FreeExtent(void* block, size_t bytes) {
  ERIS_CHECK(bytes != 0);
  manager_.ReturnExtent(block);
}

void LocalCache::ArmFailures(uint64_t nth, FailurePoint::Mode mode) {
  failures_armed_ = nth != 0;
  failures_.Arm(nth, mode);
  if (!failures_armed_) return;
  Trim();
  for (ClassState& state : classes_) {
    state.top.store(nullptr, std::memory_order_relaxed);
    state.begin.store(nullptr, std::memory_order_relaxed);
    state.end = nullptr;
  }
}

// --- figures -------------------------------------------------------------------------------------

template <class Look>
void LocalCache::ForEachClass(Look look) const {
  for (size_t word = 0; word < changed_classes_.size(); ++word) {
    uint64_t bits = changed_classes_[word].load(std::memory_order_relaxed);
    for (; bits != 0; bits &= bits - 1) {
      const size_t size_class = 64 * word + static_cast<size_t>(std::countr_zero(bits));
      const ClassFigures& figures = figures_[size_class];
      const ClassState& state = classes_[size_class];
      // The owner sets one after the other when it creates the magazine: until both are set the
      // magazine is empty.
      void* const* const top = state.top.load(std::memory_order_relaxed);
      void* const* const begin = state.begin.load(std::memory_order_relaxed);
      const auto in_magazine =
          top == nullptr || begin == nullptr ? 0 : static_cast<uint64_t>(top - begin);
      const uint64_t used = figures.out.Read() - in_magazine + figures.balance.Read();
      look(size_class, used, figures.capacity.Read() - used, figures.spare.Read());
    }
  }
}

uint64_t LocalCache::used_bytes() const {
  uint64_t in_classes = 0;
  ForEachClass([&](size_t size_class, uint64_t used, uint64_t, uint64_t) {
    in_classes += used * SizeClassBytes(size_class);
  });
  // Negative if it frees blocks that other caches have allocated.
  const auto used =
      static_cast<int64_t>(in_classes + extent_bytes_.load(std::memory_order_relaxed));
  return static_cast<uint64_t>(std::max<int64_t>(used, 0));
}

void LocalCache::AddTo(ObjectAccount& account) const {
  ForEachClass([&](size_t size_class, uint64_t used, uint64_t cached, uint64_t spare) {
    account.classes[size_class].used_blocks += used;
    account.classes[size_class].cached_blocks += cached;
    account.used_bytes += used * SizeClassBytes(size_class);
    account.cached_bytes += cached * SizeClassBytes(size_class);
    account.spare_bytes += spare;
  });
}

}  // namespace eris::memory
