#include "memory/numa_node_pool.h"

#include <algorithm>
#include <limits>

#include "base/cache_line.h"
#include "base/check.h"
#include "memory/poison.h"
#include "topology/free_memory.h"

namespace eris::memory {
namespace {

// Regions grow with the pool, so that their number (map entries of the process are limited) grows
// with its logarithm.
constexpr size_t kRegionSuperblocks = 32;
constexpr size_t kRegionBytesMax = size_t{4} << 30;
// Readings of what a NumaNode has free cost some 50 us: one for so many superblocks while there is
// plenty.
constexpr uint32_t kTakesPerReading = 64;
// Superblocks taken within a tick that make it worth having some ready.
constexpr uint64_t kTakenWorthReady = 4;

std::vector<topology::NumaNode> NumaNodesOf(const topology::NumaNode& node, bool bind,
                                            const std::vector<topology::NumaNode>& interleaved) {
  if (!bind) return {};
  return interleaved.empty() ? std::vector<topology::NumaNode>{node} : interleaved;
}

}  // namespace

NumaNodePool::NumaNodePool(const topology::NumaNode& node, bool bind, MemoryBudget& budget,
                           const PoolOptions& options,
                           const std::vector<topology::NumaNode>& interleaved)
    : node_(node),
      bind_(bind),
      options_(options),
      interleaved_(interleaved),
      layout_(options.superblock_bytes),
      budget_(budget) {
  ERIS_CHECK(!options_.pages.empty());
  for (const PageKind kind : options_.pages) {
    sources_.push_back(
        {std::make_unique<SystemMemory>(kind, PagePolicy{NumaNodesOf(node_, bind_, interleaved_)}),
         {},
         0});
  }
  budget_.Add(this);
}

NumaNodePool::~NumaNodePool() {
  budget_.Remove(this);
  base::MutexLock lock(&mu_);
  ERIS_CHECK(in_use_bytes_ == 0);
  for (const auto& [memory, bytes] : dead_extents_) {
    sources_.back().system->Unmap(static_cast<std::byte*>(memory), bytes);
  }
  for (const auto& [memory, region] : regions_) {
    sources_[region.source].system->Unmap(memory, region.bytes);
  }
  budget_.Return(reserved_bytes_);
}

void* NumaNodePool::TakeSuperblock() {
  if (take_failures_.Fires()) return nullptr;
  void* superblock = nullptr;
  {
    base::MutexLock lock(&mu_);
    ++taken_in_tick_;
    if (!kept_.empty()) {
      superblock = kept_.back().superblock;
      kept_.pop_back();
    } else if (!ready_.empty()) {
      superblock = ready_.back();
      ready_.pop_back();
    }
    if (superblock != nullptr) in_use_bytes_ += layout_.bytes();
    const bool low =
        kept_.empty() && ready_.size() <= ready_wanted_ / 2 && taken_in_tick_ >= kTakenWorthReady;
    if (low && keeper_ != nullptr) keeper_->Wake(/*now=*/true);
  }
  if (superblock != nullptr) return superblock;
  superblock = TakeFromSystem();
  if (superblock == nullptr) return nullptr;
  base::MutexLock lock(&mu_);
  in_use_bytes_ += layout_.bytes();
  return superblock;
}

// The lock is not held while pages are made: other AEUs go on taking what is there.
void* NumaNodePool::TakeFromSystem() {
  if (!TryReserve(layout_.bytes(), /*reclaim=*/true)) return nullptr;
  for (size_t source = 0; source < sources_.size(); ++source) {
    if (void* superblock = PopulateFrom(source)) return superblock;
  }
  Unreserve(layout_.bytes());
  return nullptr;
}

void* NumaNodePool::PopulateFrom(size_t source) {
  void* superblock = nullptr;
  {
    base::MutexLock lock(&mu_);
    superblock = TakeBare(source);
  }
  if (superblock == nullptr) return nullptr;
  const bool populated =
      sources_[source].system->Populate(static_cast<std::byte*>(superblock), layout_.bytes());
  base::MutexLock lock(&mu_);
  if (populated) {
    sources_[source].populated_bytes += layout_.bytes();
    return superblock;
  }
  sources_[source].bare.push_back(superblock);
  return nullptr;
}

void* NumaNodePool::TakeBare(size_t source) {
  std::vector<void*>& bare = sources_[source].bare;
  if (bare.empty()) {
    const size_t least = kRegionSuperblocks * layout_.bytes();
    size_t bytes = std::clamp(base::RoundUp(mapped_bytes_ / 4, layout_.bytes()), least,
                              std::max(least, kRegionBytesMax));
    std::byte* region = nullptr;
    // A system that has little address space to give may have enough for one.
    while ((region = sources_[source].system->Map(bytes, layout_.bytes())) == nullptr) {
      if (bytes == layout_.bytes()) return nullptr;
      bytes = base::RoundUp(bytes / 2, layout_.bytes());
    }
    regions_[region] = {bytes, source};
    mapped_bytes_ += bytes;
    // The lowest address is to be taken first.
    for (size_t offset = bytes; offset > 0; offset -= layout_.bytes()) {
      bare.push_back(region + offset - layout_.bytes());
    }
  }
  void* superblock = bare.back();
  bare.pop_back();
  return superblock;
}

size_t NumaNodePool::SourceOf(const void* superblock) const {
  auto region =
      regions_.upper_bound(const_cast<std::byte*>(static_cast<const std::byte*>(superblock)));
  ERIS_CHECK(region != regions_.begin());
  --region;
  ERIS_CHECK(static_cast<const std::byte*>(superblock) < region->first + region->second.bytes);
  return region->second.source;
}

bool NumaNodePool::TryReserve(size_t bytes, bool reclaim) {
  if (!(reclaim ? budget_.TryTakeReclaiming(bytes) : budget_.TryTake(bytes))) return false;
  const bool is_bound = bound() && interleaved_.empty() && node_.memory_bytes > 0;
  base::MutexLock lock(&mu_);
  if (is_bound && !NumaNodeHasRoom(bytes)) {
    budget_.Return(bytes);
    return false;
  }
  reserved_bytes_ += bytes;
  return true;
}

bool NumaNodePool::NumaNodeHasRoom(size_t bytes) {
  if (reserved_bytes_ + bytes > node_.memory_bytes - node_.memory_bytes / 16) return false;
  const uint64_t stays_free = node_.memory_bytes / 32;
  if (takes_until_read_ == 0 || node_free_bytes_ < bytes + 4 * stays_free) {
    const std::optional<uint64_t> free = topology::FreeMemoryBytes(node_);
    node_free_bytes_ = free.value_or(std::numeric_limits<uint64_t>::max() / 2);
    takes_until_read_ = kTakesPerReading;
  }
  --takes_until_read_;
  if (node_free_bytes_ < bytes || node_free_bytes_ - bytes < stays_free) return false;
  node_free_bytes_ -= bytes;
  return true;
}

void NumaNodePool::Unreserve(size_t bytes) {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(reserved_bytes_ >= bytes);
  reserved_bytes_ -= bytes;
  budget_.Return(bytes);
}

void NumaNodePool::ReturnSuperblock(void* superblock) {
  Unpoison(superblock, layout_.bytes());
  std::vector<void*> beyond;
  {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(in_use_bytes_ >= layout_.bytes());
    in_use_bytes_ -= layout_.bytes();
    kept_.push_back({superblock, tick_});
    const bool too_many = kept_.size() * layout_.bytes() > options_.kept_bytes_max;
    if (keeper_ != nullptr) {
      keeper_->Wake(too_many);
    } else if (too_many) {
      beyond.push_back(kept_.front().superblock);
      kept_.erase(kept_.begin());
    }
  }
  ReturnToSystem(beyond);
}

void NumaNodePool::ReturnToSystem(const std::vector<void*>& superblocks) {
  for (void* superblock : superblocks) {
    size_t source = 0;
    {
      base::MutexLock lock(&mu_);
      source = SourceOf(superblock);
    }
    sources_[source].system->Discard(static_cast<std::byte*>(superblock), layout_.bytes());
    base::MutexLock lock(&mu_);
    sources_[source].populated_bytes -= layout_.bytes();
    sources_[source].bare.push_back(superblock);
    reserved_bytes_ -= layout_.bytes();
    budget_.Return(layout_.bytes());
  }
}

size_t NumaNodePool::ExtentBytes(size_t bytes) const {
  if (bytes > std::numeric_limits<size_t>::max() - 2 * layout_.bytes()) return kNoBytes;
  return base::RoundUp(bytes, layout_.bytes());
}

// From the last source: reserved huge pages are few, and would have to be there at once.
void* NumaNodePool::TakeExtent(size_t bytes) {
  const size_t rounded = ExtentBytes(bytes);
  if (rounded == kNoBytes || take_failures_.Fires()) return nullptr;
  if (!TryReserve(rounded, /*reclaim=*/true)) return nullptr;
  std::byte* memory = sources_.back().system->Map(rounded, layout_.bytes());
  if (memory == nullptr) {
    Unreserve(rounded);
    return nullptr;
  }
  base::MutexLock lock(&mu_);
  in_use_bytes_ += rounded;
  mapped_bytes_ += rounded;
  extents_[memory] = rounded;
  return memory;
}

void NumaNodePool::ReturnExtent(void* extent, size_t bytes) {
  const size_t rounded = ExtentBytes(bytes);
  Unpoison(extent, rounded);
  std::vector<std::pair<void*, size_t>> now;
  {
    base::MutexLock lock(&mu_);
    const auto found = extents_.find(static_cast<std::byte*>(extent));
    ERIS_CHECK(found != extents_.end());
    ERIS_CHECK(found->second == rounded);
    extents_.erase(found);
    in_use_bytes_ -= rounded;
    // Giving back many pages takes a while: not the AEU's while.
    (keeper_ != nullptr ? dead_extents_ : now).emplace_back(extent, rounded);
    if (keeper_ != nullptr) keeper_->Wake(/*now=*/true);
  }
  UnmapExtents(now);
}

void NumaNodePool::UnmapExtents(const std::vector<std::pair<void*, size_t>>& extents) {
  for (const auto& [memory, bytes] : extents) {
    sources_.back().system->Unmap(static_cast<std::byte*>(memory), bytes);
    base::MutexLock lock(&mu_);
    mapped_bytes_ -= bytes;
    reserved_bytes_ -= bytes;
    budget_.Return(bytes);
  }
}

void NumaNodePool::SetKeeper(PoolKeeper* keeper) {
  base::MutexLock lock(&mu_);
  keeper_ = keeper;
}

bool NumaNodePool::Maintain(bool tick) {
  std::vector<void*> old;
  std::vector<std::pair<void*, size_t>> extents;
  {
    base::MutexLock lock(&mu_);
    const uint64_t demand =
        taken_in_tick_ < kTakenWorthReady
            ? 0
            : std::min<uint64_t>(taken_in_tick_, options_.ready_superblocks_max);
    ready_wanted_ = std::max(demand, tick ? ready_wanted_ / 2 : ready_wanted_);
    if (tick) {
      ++tick_;
      taken_in_tick_ = 0;
    }
    size_t gone = 0;
    while (gone < kept_.size() &&
           (tick_ - kept_[gone].since_tick >= options_.decay_ticks ||
            (kept_.size() - gone) * layout_.bytes() > options_.kept_bytes_max)) {
      old.push_back(kept_[gone++].superblock);
    }
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(gone));
    while (ready_.size() > ready_wanted_) {
      old.push_back(ready_.back());
      ready_.pop_back();
    }
    extents.swap(dead_extents_);
  }
  ReturnToSystem(old);
  UnmapExtents(extents);
  MakeReady();
  base::MutexLock lock(&mu_);
  return !kept_.empty() || !ready_.empty() || ready_wanted_ > 0 || taken_in_tick_ > 0;
}

void NumaNodePool::MakeReady() {
  while (true) {
    {
      base::MutexLock lock(&mu_);
      // What is kept serves as well, and costs no zeroing.
      if (kept_.size() + ready_.size() >= ready_wanted_) return;
    }
    // The last eighth of the limit is for those who really ask.
    if (budget_.taken_bytes() + layout_.bytes() > budget_.limit_bytes() / 8 * 7) return;
    void* superblock = TakeFromSystem();
    if (superblock == nullptr) return;
    base::MutexLock lock(&mu_);
    ready_.push_back(superblock);
  }
}

void NumaNodePool::Reclaim(uint64_t bytes) {
  std::vector<void*> superblocks;
  std::vector<std::pair<void*, size_t>> extents;
  {
    base::MutexLock lock(&mu_);
    uint64_t given = 0;
    extents.swap(dead_extents_);
    for (const auto& extent : extents) given += extent.second;
    for (; given < bytes && !ready_.empty(); given += layout_.bytes()) {
      superblocks.push_back(ready_.back());
      ready_.pop_back();
    }
    size_t oldest = 0;
    for (; given < bytes && oldest < kept_.size(); given += layout_.bytes()) {
      superblocks.push_back(kept_[oldest++].superblock);
    }
    kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(oldest));
  }
  ReturnToSystem(superblocks);
  UnmapExtents(extents);
}

PoolFigures NumaNodePool::figures() const {
  base::MutexLock lock(&mu_);
  PoolFigures figures{.reserved_bytes = reserved_bytes_,
                      .in_use_bytes = in_use_bytes_,
                      .kept_bytes = kept_.size() * layout_.bytes(),
                      .ready_bytes = ready_.size() * layout_.bytes(),
                      .reserved_huge_bytes = 0,
                      .mapped_bytes = mapped_bytes_};
  for (const Source& source : sources_) {
    if (source.system->kind() == PageKind::kReservedHuge) {
      figures.reserved_huge_bytes += source.populated_bytes;
    }
  }
  return figures;
}

absl::Status NumaNodePool::binding_status() const {
  for (const Source& source : sources_) {
    if (absl::Status status = source.system->binding_status(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<uint32_t> NumaNodePool::allowed_os_nodes() const {
  std::vector<uint32_t> allowed;
  if (!bound()) return allowed;
  for (const topology::NumaNode& node : NumaNodesOf(node_, bind_, interleaved_)) {
    allowed.push_back(node.os_index);
  }
  return allowed;
}

std::vector<PoolRange> NumaNodePool::Ranges() const {
  base::MutexLock lock(&mu_);
  std::vector<PoolRange> ranges;
  std::vector<const void*> bare;
  for (const Source& source : sources_) {
    bare.insert(bare.end(), source.bare.begin(), source.bare.end());
  }
  std::sort(bare.begin(), bare.end());
  for (const auto& [memory, region] : regions_) {
    for (size_t offset = 0; offset < region.bytes; offset += layout_.bytes()) {
      if (std::binary_search(bare.begin(), bare.end(), memory + offset)) continue;
      ranges.push_back({memory + offset, layout_.bytes(), /*populated=*/true});
    }
  }
  for (const auto& [memory, bytes] : extents_) ranges.push_back({memory, bytes, false});
  return ranges;
}

}  // namespace eris::memory
