#include "memory/memory_manager.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <new>
#include <utility>

#include "base/check.h"

namespace eris::memory {
namespace {

// The rest of the header's last span serves only small blocks.
constexpr size_t kBesideHeaderBytesMax = 4u << 10;
bool FitsBesideHeader(size_t size_class) {
  return SizeClassBytes(size_class) <= kBesideHeaderBytesMax;
}

// The first of adjacent free spans for a run of that class, or kSpansMax.
size_t FindRun(const Superblock& superblock, const SuperblockLayout& layout, size_t size_class) {
  const size_t spans = RunSpans(size_class);
  const bool beside_header = FitsBesideHeader(size_class);
  size_t length = 0;
  for (size_t i = 0; i < layout.spans(); ++i) {
    const uint64_t word = superblock.free_bits[i / 64];
    if (word == 0 && length == 0) {
      i |= 63;
      continue;
    }
    length = (word >> i % 64 & 1) != 0 ? length + 1 : 0;
    if (!beside_header && layout.HeaderBytesIn(i) > 0) length = 0;
    if (length == spans) return i + 1 - spans;
  }
  return kSpansMax;
}

// For each superblock that is taken, also at the same address, a count that no other one has had: a
// block noted in an earlier one must not look like one of this (SuperblockCensus).
void BeginTaken(Span* spans, size_t count) {
  static std::atomic<uint64_t> superblocks{0};  // relaxed: numbers alone
  const uint64_t first = superblocks.fetch_add(1, std::memory_order_relaxed) << 32;
  for (size_t i = 0; i < count; ++i) spans[i].taken.store(first, std::memory_order_relaxed);
}

// Superblocks tried before a new one is taken; those of one bucket are about equally full.
constexpr uint64_t kTriesPerBucket = 8;
constexpr uint64_t kAll = ~uint64_t{0};

}  // namespace

MemoryManager::MemoryManager(ObjectId object, NumaNodePool& pool, std::vector<NumaNodePool*> spill,
                             std::shared_ptr<CacheDirectory> directory)
    : object_(object),
      pool_(pool),
      spill_(std::move(spill)),
      layout_(pool.layout()),
      directory_(directory != nullptr ? std::move(directory) : std::make_shared<CacheDirectory>()) {
  for (const NumaNodePool* other : spill_) {
    ERIS_CHECK(other->layout().bytes() == layout_.bytes());
  }
  directory_->Add(*this);
}

MemoryManager::~MemoryManager() {
  directory_->Remove(*this);
  base::MutexLock lock(&mu_);
  for (const auto& [memory, extent] : extents_) pool_.ReturnExtent(memory, extent.bytes);
  for (Superblock* superblock : {all_, arriving_}) {
    while (superblock != nullptr) {
      Superblock* const next = superblock->all_next;
      superblock->pool->SetHolder(layout_.Base(superblock), nullptr);
      Return(superblock);
      superblock = next;
    }
  }
}

LocalCache* MemoryManager::NewCache() {
  const std::align_val_t alignment{alignof(LocalCache)};
  void* const memory = ::operator new(sizeof(LocalCache), alignment, std::nothrow);
  if (memory == nullptr) return nullptr;
  // Not under mu_: the directory's mutex comes first (ReturnExtent).
  const OwnerId id = directory_->NewId();
  if (id == 0) {
    ::operator delete(memory, alignment);
    return nullptr;
  }
  std::unique_ptr<LocalCache> cache(new (memory) LocalCache(*this, id));
  LocalCache* const made = cache.get();
  try {
    base::MutexLock lock(&mu_);
    caches_.push_back(std::move(cache));
  } catch (const std::bad_alloc&) {  // the general heap reports "no memory"; the number is lost
    return nullptr;
  }
  directory_->Set(id, made);
  return made;
}

Span* MemoryManager::TakeRun(LocalCache& cache, size_t size_class) {
  if (run_failures_.Fires()) return nullptr;
  base::MutexLock lock(&mu_);
  const bool share = cache.spans_ < kSharedSpansMax;
  SuperblockList& list = share ? shared_ : cache.superblocks_;
  Span* run = TakeFrom(list, cache, size_class, kTriesPerBucket);
  // All AEUs get a new object at the same time: one superblock is enough for many of them.
  while (run == nullptr && share && taking_shared_) {
    shared_taken_.Wait(&mu_);
    for (const bool remote : {false, true}) {
      if (run == nullptr) run = TakeFrom(list, cache, size_class, kTriesPerBucket, remote);
    }
  }
  if (run == nullptr) {
    if (share) taking_shared_ = true;
    run = TakeFromNew(list, cache, size_class);
    if (share) {
      taking_shared_ = false;
      shared_taken_.SignalAll();
    }
  }
  if (run != nullptr) cache.spans_ += run->spans;
  return run;
}

Span* MemoryManager::TakeRunAtHome(LocalCache& cache, size_t size_class) {
  if (run_failures_.Fires()) return nullptr;
  base::MutexLock lock(&mu_);
  SuperblockList& list = cache.spans_ < kSharedSpansMax ? shared_ : cache.superblocks_;
  Span* run = TakeFrom(list, cache, size_class, kTriesPerBucket);
  if (run == nullptr) {
    Superblock* const superblock = TakeSuperblock(list, /*spill=*/false);
    if (superblock != nullptr) run = TakeFrom(superblock, cache, size_class);
  }
  if (run != nullptr) cache.spans_ += run->spans;
  return run;
}

Span* MemoryManager::TakeFrom(const SuperblockList& list, LocalCache& cache, size_t size_class,
                              uint64_t tries, bool remote) {
  const uint32_t first = remote ? SuperblockList::kRemote : 0;
  for (uint32_t bucket = SuperblockList::kBuckets; bucket-- > 0;) {
    if (bucket == SuperblockList::kBesideHeader && !FitsBesideHeader(size_class)) continue;
    uint64_t left = tries;
    for (Superblock* superblock = list.buckets[first + bucket]; superblock != nullptr && left-- > 0;
         superblock = superblock->next) {
      if (Span* run = TakeFrom(superblock, cache, size_class)) return run;
    }
  }
  return nullptr;
}

Span* MemoryManager::TakeFromNew(SuperblockList& list, LocalCache& cache, size_t size_class) {
  const auto at_home = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) -> Span* {
    Superblock* const superblock = TakeSuperblock(list, /*spill=*/false);
    home_refused_ = superblock == nullptr ? kHomeAskedEvery : 0;
    return superblock == nullptr ? nullptr : TakeFrom(superblock, cache, size_class);
  };
  const bool asks = home_refused_ == 0;
  if (!asks) --home_refused_;
  if (Span* run = asks ? at_home() : nullptr) return run;
  // What is spilled already, before more is.
  if (Span* run = TakeFrom(list, cache, size_class, kTriesPerBucket, /*remote=*/true)) return run;
  if (Span* run = asks ? nullptr : at_home()) return run;
  if (Superblock* superblock = TakeSuperblock(list, /*spill=*/true)) {
    return TakeFrom(superblock, cache, size_class);
  }
  return TakeFromAny(cache, size_class);
}

Span* MemoryManager::TakeFrom(Superblock* superblock, LocalCache& cache, size_t size_class) {
  const size_t first = FindRun(*superblock, layout_, size_class);
  if (first == kSpansMax) return nullptr;
  const size_t spans = RunSpans(size_class);
  Unlink(superblock);
  Span* const entries = layout_.Spans(superblock);
  const bool remote = superblock->home != &pool_;
  const auto entry = static_cast<OwnerId>(remote ? cache.id_ | kPagesElsewhere : cache.id_);
  for (size_t i = first; i < first + spans; ++i) {
    superblock->free_bits[i / 64] &= ~(uint64_t{1} << i % 64);
    superblock->pool->owners().Set(SpanAt(superblock, i), entry);
    entries[i].run_first = static_cast<uint16_t>(first);
    free_span_bytes_ -= kSpanBytes - layout_.HeaderBytesIn(i);
  }
  superblock->free_spans -= static_cast<uint32_t>(spans);
  Link(superblock);
  entries[first].spans = static_cast<uint16_t>(spans);
  return &entries[first];
}

// Take any span: one in a superblock that serves another cache is better than a refusal.
Span* MemoryManager::TakeFromAny(LocalCache& cache, size_t size_class) {
  for (const bool remote : {false, true}) {
    if (Span* run = TakeFrom(shared_, cache, size_class, kAll, remote)) return run;
    for (const std::unique_ptr<LocalCache>& other : caches_) {
      if (Span* run = TakeFrom(other->superblocks_, cache, size_class, kAll, remote)) return run;
    }
  }
  return nullptr;
}

Superblock* MemoryManager::TakeSuperblock(SuperblockList& list, bool spill) {
  mu_.Unlock();
  NumaNodePool* from = &pool_;
  void* base = spill ? nullptr : pool_.TakeSuperblock();
  for (size_t i = 0; spill && base == nullptr && i < spill_.size(); ++i) {
    from = spill_[i];
    base = from->TakeSuperblock();
  }
  mu_.Lock();
  if (base == nullptr) return nullptr;
  auto* superblock = new (layout_.HeaderOf(base)) Superblock{};
  BeginTaken(layout_.Spans(superblock), layout_.spans());
  superblock->pool = from;
  superblock->home = from;
  superblock->list = &list;
  for (size_t i = 0; i < layout_.spans(); ++i) {
    const size_t header_bytes = layout_.HeaderBytesIn(i);
    if (header_bytes == kSpanBytes) continue;
    superblock->free_bits[i / 64] |= uint64_t{1} << i % 64;
    ++superblock->free_spans;
    free_span_bytes_ += kSpanBytes - header_bytes;
  }
  from->SetHolder(base, this);
  ++superblocks_;
  if (from != &pool_) ++spilled_;
  LinkTo(all_, superblock);
  Link(superblock);
  return superblock;
}

void MemoryManager::ReturnRun(LocalCache& cache, Span* run) {
  Superblock* const superblock = layout_.HeaderOf(run);
  {
    base::MutexLock lock(&mu_);
    cache.spans_ -= run->spans;
    Unlink(superblock);
    const size_t first = run->run_first;
    for (size_t i = first; i < first + run->spans; ++i) {
      superblock->free_bits[i / 64] |= uint64_t{1} << i % 64;
      superblock->pool->owners().Set(SpanAt(superblock, i), OwnerId{0});
      free_span_bytes_ += kSpanBytes - layout_.HeaderBytesIn(i);
    }
    superblock->free_spans += run->spans;
    const size_t usable_bytes = layout_.bytes() - layout_.HeaderBytes();
    const size_t usable_spans = (usable_bytes + kSpanBytes - 1) / kSpanBytes;
    if (superblock->free_spans < usable_spans) {
      Link(superblock);
      return;
    }
    UnlinkFrom(all_, superblock);
    --superblocks_;
    free_span_bytes_ -= usable_bytes;
    if (superblock->home != &pool_) --spilled_;
    // Here, or a cache that is asked for it would find it held, and whole.
    superblock->pool->SetHolder(layout_.Base(superblock), nullptr);
  }
  Return(superblock);
}

void MemoryManager::Return(Superblock* superblock) const {
  superblock->home->ReturnSuperblock(layout_.Base(superblock), *superblock->pool);
}

const std::byte* MemoryManager::SpanAt(const Superblock* superblock, size_t span) const {
  return static_cast<const std::byte*>(layout_.Base(superblock)) + span * kSpanBytes;
}

void MemoryManager::Link(Superblock* superblock) {
  superblock->bucket = SuperblockList::kFull;
  if (superblock->free_spans == 0) return;
  const size_t used = layout_.spans() - superblock->free_spans;
  superblock->bucket = static_cast<uint32_t>(used * SuperblockList::kQuarters / layout_.spans());
  const size_t beside_header = layout_.HeaderBytes() / kSpanBytes;
  if (superblock->free_spans == 1 &&
      (superblock->free_bits[beside_header / 64] >> beside_header % 64 & 1) != 0) {
    superblock->bucket = SuperblockList::kBesideHeader;
  }
  if (superblock->home != &pool_) superblock->bucket += SuperblockList::kRemote;
  Superblock*& head = superblock->list->buckets[superblock->bucket];
  superblock->prev = nullptr;
  superblock->next = head;
  if (head != nullptr) head->prev = superblock;
  head = superblock;
}

void MemoryManager::Unlink(Superblock* superblock) {
  if (superblock->bucket == SuperblockList::kFull) return;
  if (superblock->prev != nullptr) {
    superblock->prev->next = superblock->next;
  } else {
    superblock->list->buckets[superblock->bucket] = superblock->next;
  }
  if (superblock->next != nullptr) superblock->next->prev = superblock->prev;
}

void MemoryManager::LinkTo(Superblock*& all, Superblock* superblock) {
  superblock->all_prev = nullptr;
  superblock->all_next = all;
  if (all != nullptr) all->all_prev = superblock;
  all = superblock;
}

void MemoryManager::UnlinkFrom(Superblock*& all, Superblock* superblock) {
  if (superblock->all_prev != nullptr) {
    superblock->all_prev->all_next = superblock->all_next;
  } else {
    all = superblock->all_next;
  }
  if (superblock->all_next != nullptr) superblock->all_next->all_prev = superblock->all_prev;
}

void* MemoryManager::TakeExtent(size_t bytes, std::atomic<uint64_t>& taken_bytes) {
  if (run_failures_.Fires()) return nullptr;
  void* extent = pool_.TakeExtent(bytes);
  if (extent == nullptr) return nullptr;
  try {
    base::MutexLock lock(&mu_);
    extents_[extent] = {bytes, &taken_bytes};
    extent_bytes_ += pool_.ExtentBytes(bytes);
    taken_bytes.fetch_add(pool_.ExtentBytes(bytes), std::memory_order_relaxed);
    return extent;
  } catch (const std::bad_alloc&) {  // the general heap reports "no memory"
    pool_.ReturnExtent(extent, bytes);
    return nullptr;
  }
}

bool MemoryManager::HasExtent(const void* extent) const {
  base::MutexLock lock(&mu_);
  return extents_.contains(const_cast<void*>(extent));
}

bool MemoryManager::TryReturnExtent(void* extent) {
  size_t bytes = 0;
  {
    base::MutexLock lock(&mu_);
    const auto found = extents_.find(extent);
    if (found == extents_.end()) return false;
    bytes = found->second.bytes;
    found->second.taken_bytes->fetch_sub(pool_.ExtentBytes(bytes), std::memory_order_relaxed);
    extents_.erase(found);
    extent_bytes_ -= pool_.ExtentBytes(bytes);
  }
  pool_.ReturnExtent(extent, bytes);
  return true;
}

void MemoryManager::ReturnExtent(void* extent) {
  if (TryReturnExtent(extent)) return;
  // Freed twice, or never allocated.
  ERIS_CHECK(directory_->Find([&](MemoryManager& one) { return one.TryReturnExtent(extent); }) !=
             nullptr);
}

uint64_t MemoryManager::reserved_bytes() const {
  base::MutexLock lock(&mu_);
  return superblocks_ * layout_.bytes() + extent_bytes_;
}

uint64_t MemoryManager::spilled_bytes() const {
  base::MutexLock lock(&mu_);
  return spilled_ * layout_.bytes();
}

ObjectAccount MemoryManager::Account() const {
  ObjectAccount account;
  base::MutexLock lock(&mu_);
  account.committed_bytes = superblocks_ * layout_.bytes() + extent_bytes_;
  account.header_bytes = superblocks_ * layout_.HeaderBytes();
  account.extent_bytes = extent_bytes_;
  account.spare_bytes = free_span_bytes_;
  for (const std::unique_ptr<LocalCache>& cache : caches_) cache->AddTo(account);
  // Figures that are read while their owners work may be inconsistent: never return a negative one.
  account.used_bytes = account.cached_bytes = 0;
  for (size_t size_class = 0; size_class < kSizeClasses; ++size_class) {
    ClassAccount& one = account.classes[size_class];
    const auto capacity = static_cast<int64_t>(one.used_blocks + one.cached_blocks);
    const int64_t used = std::clamp<int64_t>(static_cast<int64_t>(one.used_blocks), 0,
                                             std::max<int64_t>(capacity, 0));
    one.used_blocks = static_cast<uint64_t>(used);
    one.cached_blocks = static_cast<uint64_t>(std::max<int64_t>(capacity, 0) - used);
    account.used_bytes += one.used_blocks * SizeClassBytes(size_class);
    account.cached_bytes += one.cached_blocks * SizeClassBytes(size_class);
  }
  return account;
}

}  // namespace eris::memory
