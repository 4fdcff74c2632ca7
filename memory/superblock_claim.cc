#include "memory/superblock_claim.h"

#include <new>
#include <span>
#include <utility>

#include "base/copy_area.h"
#include "memory/local_cache.h"
#include "memory/memory_manager.h"
#include "memory/numa_node_pool.h"
#include "memory/system/mapping_traffic.h"
#include "memory/system/write_guard.h"

namespace eris::memory {
namespace {

// For all spans of a run of the superblock at `base`.
void SetEntries(const OwnerTable& owners, const void* base, const Span& run, OwnerId entry) {
  const std::byte* const first = static_cast<const std::byte*>(base) + run.run_first * kSpanBytes;
  for (size_t i = 0; i < run.spans; ++i) owners.Set(first + i * kSpanBytes, entry);
}

}  // namespace

template <class F>
void LocalCache::ForEachRun(Superblock* superblock, const F& f) const {
  Span* const spans = layout_.Spans(superblock);
  for (size_t i = 0; i < layout_.spans();) {
    const bool free = (superblock->free_bits[i / 64] >> i % 64 & 1) != 0;
    if (free || layout_.HeaderBytesIn(i) == kSpanBytes) {
      ++i;
      continue;
    }
    f(&spans[i]);
    i += spans[i].spans;
  }
}

// --- the claimant --------------------------------------------------------------------------------

bool LocalCache::Claim(SuperblockCensus census) {
  if (census.given_away() != given_away_) return false;
  // What is in magazines counts as in use.
  Trim();
  bool any = false;
  try {  // the general heap refuses by an exception
    std::vector<std::unique_ptr<SuperblockClaim>> claims;
    size_t places = to_bring_.size() + census.superblocks().size();
    for (const std::unique_ptr<SuperblockClaim>& out : claims_) places += out->items.size();
    to_bring_.reserve(places + to_check_.size());
    absl::flat_hash_map<OwnerId, SuperblockClaim*> by_owner;
    for (NotedSuperblock& noted : census.superblocks()) {
      if (noted.mixed || noted.owner == 0 || (noted.owner & kOnItsWay) != 0 ||
          (!noted.at_home && !pool_.CanMovePages(noted.place.base, *noted.place.window))) {
        ++left_remote_;
        continue;
      }
      if (noted.owner == id_) {
        to_check_.push_back(std::move(noted));
        continue;
      }
      SuperblockClaim*& claim = by_owner[noted.owner];
      if (claim == nullptr || claim->items.size() * layout_.bytes() >= SuperblockClaim::kBytesMax) {
        claims.push_back(std::make_unique<SuperblockClaim>());
        claim = claims.back().get();
        claim->count = ReturnBatch::kClaim;
        claim->claimant = this;
        claim->owner = noted.owner;
        claim->given_away = given_away_;
      }
      claim->items.push_back({std::move(noted)});
    }
    claims_.reserve(claims_.size() + claims.size());
    for (std::unique_ptr<SuperblockClaim>& claim : claims) {
      SuperblockClaim* const out = claim.get();
      claims_.push_back(std::move(claim));
      ++claims_out_;
      PushTo(manager_.CacheOf(out->owner), out);
    }
    any = !claims.empty();
  } catch (const std::bad_alloc&) {
    ++left_remote_;  // what is to be checked, or brought, is known all the same
  }
  return any || HasToBring();
}

void LocalCache::CheckSome() {
  for (uint32_t left = kCheckedAtOnce; left > 0 && !to_check_.empty(); --left) {
    const NotedSuperblock& noted = to_check_.back();
    const bool whole = manager_.Check(
        *this, noted.place, [&](Superblock* superblock) { return IsWhole(superblock, noted); });
    if (whole) {
      to_bring_.push_back(noted.place);  // there is room
    } else {
      ++left_remote_;
    }
    to_check_.pop_back();
  }
}

void LocalCache::Adopt(SuperblockClaim* claim) {
  for (const SuperblockClaim::Item& item : claim->items) {
    bool is_home = false;
    if (item.given) {
      // If so, its pages have not gone along with an earlier range.
      is_home = manager_.Adopt(*this, item.noted.place);
    }
    if (item.given && !is_home && claim->given_away == given_away_) {
      to_bring_.push_back(item.noted.place);
    } else if (!is_home) {
      ++left_remote_;
    }
  }
  --claims_out_;
  std::erase_if(claims_, [&](const auto& one) { return one.get() == claim; });
}

void LocalCache::AdoptRuns(Superblock* superblock) {
  const OwnerTable& owners = superblock->pool->owners();
  ForEachRun(superblock, [&](Span* run) {
    ClassFigures& figures = FiguresToChange(run->size_class);
    figures.capacity.Add(run->capacity);
    figures.out.Add(run->used);
    figures.spare.Add(SpareBytes(*run));
    const bool remote = superblock->home != &pool_;
    SetEntries(owners, layout_.Base(superblock), *run,
               static_cast<OwnerId>(remote ? id_ | kPagesElsewhere : id_));
    Link(run);
  });
}

LocalCache::Brought LocalCache::BringSuperblock(bool wait, uint64_t& bytes) {
  bytes = 0;
  CheckSome();
  if (!to_check_.empty()) return Brought::kChecked;
  // Their lists go through their bytes, which may be in what is to be copied.
  if (alone_on_the_way_.load(std::memory_order_acquire) != 0) return Brought::kLater;
  while (!to_bring_.empty()) {
    const SuperblockPlace place = to_bring_.back();
    Superblock* const superblock = manager_.BeginMove(*this, place);
    if (superblock == nullptr) {  // freed meanwhile, or another cache has taken a span
      ++left_remote_;
      to_bring_.pop_back();
      continue;
    }
    if (!pool_.CanMovePages(place.base, *place.window)) {
      manager_.EndMove(*this, superblock, /*moved=*/false);
      ++left_remote_;
      to_bring_.pop_back();
      continue;
    }
    const MappingTraffic::ChangeDue change_due;
    void* const fresh = wait ? pool_.TakeReady() : pool_.TakeSuperblock();
    if (fresh == nullptr) {
      manager_.EndMove(*this, superblock, /*moved=*/false);
      if (wait) return Brought::kLater;
      break;
    }
    bool moved = false;
    {
      const WriteGuard nobody_writes(place.base, layout_.bytes());
      CopyInto(static_cast<std::byte*>(fresh), superblock);
      moved = pool_.MovePages(fresh, place.base, *place.window, *superblock->home);
    }
    ForEachRun(superblock, [&](const Span* run) {
      bytes += moved ? uint64_t{run->used} * SizeClassBytes(run->size_class) : 0;
    });
    manager_.EndMove(*this, superblock, moved);
    if (!moved) {
      pool_.ReturnSuperblock(fresh);
      break;
    }
    to_bring_.pop_back();
    return Brought::kYes;
  }
  const bool none = to_bring_.empty();
  left_remote_ += to_bring_.size();
  to_bring_.clear();
  return none ? Brought::kNone : Brought::kEnded;
}

void LocalCache::CameHome(Superblock* superblock, Span* run) {
  SetEntries(superblock->pool->owners(), layout_.Base(superblock), *run, id_);
  if (run->bucket == kFull) return;
  Unlink(run);
  Link(run);
}

void LocalCache::CopyInto(std::byte* fresh, Superblock* superblock) const {
  const auto* const old = static_cast<const std::byte*>(layout_.Base(superblock));
  base::CopyArea(fresh, old, layout_.HeaderBytes());
  ForEachRun(superblock, [&](const Span* run) {
    const size_t begin = run->run_first * kSpanBytes + layout_.HeaderBytesIn(run->run_first);
    base::CopyArea(fresh + begin, old + begin, (run->run_first + run->spans) * kSpanBytes - begin);
  });
}

// --- the owner that is asked ---------------------------------------------------------------------

void LocalCache::Answer(SuperblockClaim* claim) {
  Trim();
  for (SuperblockClaim::Item& item : claim->items) {
    item.given = manager_.GiveUp(
        *this, item.noted.place,
        [&](Superblock* superblock) { return IsWhole(superblock, item.noted); },
        [&](Superblock* superblock) { GiveRuns(superblock, claim->claimant->id_); });
    if (item.given) claim->claimant->manager_.Receive(item.noted.place);
  }
  claim->answered = true;
  PushTo(*claim->claimant, claim);
}

bool LocalCache::IsWhole(Superblock* superblock, const NotedSuperblock& noted) const {
  const OwnerTable& owners = superblock->pool->owners();
  bool whole = true;
  bool any = false;
  ForEachRun(superblock, [&](const Span* run) {
    any = true;
    if (!whole) return;
    const size_t first = run->run_first;
    const void* const span = noted.place.base + first * kSpanBytes;
    // The rest of another cache's run may be written meanwhile.
    if (owners.Of(span) != id_) {
      whole = false;
      return;
    }
    // A block that was noted may have come back and been given out again.
    whole = run->used == 0 || noted.taken[first] == run->taken.load(std::memory_order_relaxed) + 1;
    const size_t words = (run->capacity + 63) / 64;
    for (size_t word = 0; whole && word < words; ++word) {
      const uint64_t blocks =
          run->capacity - word * 64 < 64 ? (uint64_t{1} << run->capacity % 64) - 1 : ~uint64_t{0};
      const uint64_t used = blocks & ~run->free_bits[word];
      whole = (used & ~noted.blocks[SuperblockLayout::FreeBitsWord(first) + word]) == 0;
    }
  });
  return whole && any;
}

void LocalCache::GiveRuns(Superblock* superblock, OwnerId to) {
  const OwnerTable& owners = superblock->pool->owners();
  ForEachRun(superblock, [&](Span* run) {
    if (run->used < run->capacity) Unlink(run);
    ClassFigures& figures = figures_[run->size_class];
    figures.capacity.Add(-uint64_t{run->capacity});
    figures.out.Add(-uint64_t{run->used});
    figures.spare.Add(-SpareBytes(*run));
    JudgeScatter(run->size_class);
    SetEntries(owners, layout_.Base(superblock), *run, static_cast<OwnerId>(to | kOnItsWay));
  });
}

// --- the managers --------------------------------------------------------------------------------

Superblock* MemoryManager::Held(const SuperblockPlace& place) const {
  if (place.window->HolderOf(place.base) != this) return nullptr;
  return layout_.HeaderOf(place.base);
}

bool MemoryManager::Check(LocalCache& cache, const SuperblockPlace& place,
                          absl::FunctionRef<bool(Superblock*)> is_whole) {
  base::MutexLock lock(&mu_);
  Superblock* const superblock = Held(place);
  return superblock != nullptr &&
         (superblock->list == &shared_ || superblock->list == &cache.superblocks_) &&
         is_whole(superblock);
}

bool MemoryManager::GiveUp(LocalCache& cache, const SuperblockPlace& place,
                           absl::FunctionRef<bool(Superblock*)> is_whole,
                           absl::FunctionRef<void(Superblock*)> give) {
  base::MutexLock lock(&mu_);
  Superblock* const superblock = Held(place);
  if (superblock == nullptr ||
      (superblock->list != &shared_ && superblock->list != &cache.superblocks_) ||
      !is_whole(superblock)) {
    return false;
  }
  give(superblock);
  Unlink(superblock);
  UnlinkFrom(all_, superblock);
  place.window->SetHolder(place.base, nullptr);
  --superblocks_;
  if (superblock->home != &pool_) --spilled_;
  free_span_bytes_ -= FreeSpanBytes(*superblock);
  cache.spans_ -= UsedSpans(*superblock);
  return true;
}

void MemoryManager::Receive(const SuperblockPlace& place) {
  base::MutexLock lock(&mu_);
  LinkTo(arriving_, layout_.HeaderOf(place.base));
}

bool MemoryManager::Adopt(LocalCache& cache, const SuperblockPlace& place) {
  base::MutexLock lock(&mu_);
  Superblock* const superblock = layout_.HeaderOf(place.base);
  // Before any other cache can take a span of it.
  cache.AdoptRuns(superblock);
  UnlinkFrom(arriving_, superblock);
  LinkTo(all_, superblock);
  superblock->list = &cache.superblocks_;
  Link(superblock);
  place.window->SetHolder(place.base, this);
  ++superblocks_;
  if (superblock->home != &pool_) ++spilled_;
  free_span_bytes_ += FreeSpanBytes(*superblock);
  cache.spans_ += UsedSpans(*superblock);
  return superblock->home == &pool_;
}

Superblock* MemoryManager::BeginMove(LocalCache& cache, const SuperblockPlace& place) {
  base::MutexLock lock(&mu_);
  Superblock* const superblock = Held(place);
  if (superblock == nullptr || superblock->home == &pool_) return nullptr;
  // Near the limit other caches take spans wherever there are some.
  bool alone = superblock->list == &shared_ || superblock->list == &cache.superblocks_;
  cache.ForEachRun(superblock, [&](const Span* run) {
    alone = alone &&
            superblock->pool->owners().Of(place.base + run->run_first * kSpanBytes) == cache.id_;
  });
  if (!alone) return nullptr;
  Unlink(superblock);
  UnlinkFrom(all_, superblock);
  return superblock;
}

void MemoryManager::EndMove(LocalCache& cache, Superblock* superblock, bool moved) {
  base::MutexLock lock(&mu_);
  if (moved) {
    superblock->home = &pool_;
    --spilled_;
    // Before any other cache can take a span of it.
    cache.ForEachRun(superblock, [&](Span* run) { cache.CameHome(superblock, run); });
  }
  superblock->list = &cache.superblocks_;
  LinkTo(all_, superblock);
  Link(superblock);
}

size_t MemoryManager::UsedSpans(const Superblock& superblock) const {
  const size_t header_spans = layout_.HeaderBytes() / kSpanBytes;
  return layout_.spans() - header_spans - superblock.free_spans;
}

uint64_t MemoryManager::FreeSpanBytes(const Superblock& superblock) const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < layout_.spans(); ++i) {
    const bool free = (superblock.free_bits[i / 64] >> i % 64 & 1) != 0;
    if (free) bytes += kSpanBytes - layout_.HeaderBytesIn(i);
  }
  return bytes;
}

}  // namespace eris::memory
