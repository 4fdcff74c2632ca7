#include "memory/numa_node_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <limits>
#include <new>

#include "base/cache_line.h"
#include "base/check.h"
#include "memory/system/poison.h"
#include "topology/binding.h"
#include "topology/free_memory.h"

namespace eris::memory {
namespace {

// Regions grow with the pool, so that their number (map entries of the process are limited) grows
// with its logarithm.
constexpr size_t kRegionSuperblocks = 32;
constexpr size_t kRegionBytesMax = size_t{4} << 30;
// Reading a NumaNode's free memory costs some 50 us. While it has plenty, one reading serves this
// number of superblocks.
constexpr uint32_t kTakesPerReading = 64;
// A NumaNode has as many addresses more than memory: some stay behind when their pages go to
// another one.
constexpr uint64_t kWindowOverMemory = 2;
// The limit of one pool's address space. A process has 128 TiB.
constexpr uint64_t kWindowBytesMax = uint64_t{16} << 40;

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
      stays_free_bytes_(bind ? node.memory_bytes / 32 + topology::KernelReserveBytes(node) : 0),
      budget_(budget) {
  // Extents come from the last kind, with their first touch: one that runs out would be a signal.
  ERIS_CHECK(!options_.pages.empty() && options_.pages.back() != PageKind::kReservedHuge);
  for (const PageKind kind : options_.pages) {
    Source source;
    source.system =
        std::make_unique<SystemMemory>(kind, PagePolicy{NumaNodesOf(node_, bind_, interleaved_)});
    sources_.push_back(std::move(source));
  }
  MakeWindow();
  budget_.Add(this);
}

void NumaNodePool::MakeWindow() {
  uint64_t most = budget_.limit_bytes();
  if (bind_ && interleaved_.empty() && node_.memory_bytes > 0 &&
      most > kWindowOverMemory * node_.memory_bytes) {
    most = kWindowOverMemory * node_.memory_bytes;
    away_bytes_max_ = most - node_.memory_bytes;
  }
  most = std::min(most, kWindowBytesMax / sources_.size()) * sources_.size();
  size_t bytes = base::RoundUp(most, layout_.bytes()) + kRegionSuperblocks * layout_.bytes();
  // A process that may have little address space gets as much as there is, and less memory.
  for (; bytes >= layout_.bytes(); bytes = bytes / 2 & ~(layout_.bytes() - 1)) {
    window_ = ReserveAddressSpace(bytes, layout_.bytes());
    if (window_ == nullptr) continue;
    const size_t entries_bytes = bytes / kSpanBytes * sizeof(OwnerId);
    void* entries = mmap(nullptr, entries_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (entries == MAP_FAILED) {
      ReturnAddressSpace(window_, bytes);
      continue;
    }
    const size_t holders_bytes = bytes / layout_.bytes() * sizeof *holders_;
    void* holders = mmap(nullptr, holders_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (holders == MAP_FAILED) {
      munmap(entries, entries_bytes);
      ReturnAddressSpace(window_, bytes);
      continue;
    }
    // A refusal is told with the superblocks' own.
    if (bind_) (void)topology::BindMemory(entries, entries_bytes, node_);
    holders_ = static_cast<std::atomic<MemoryManager*>*>(holders);
    window_bytes_ = bytes;
    owner_entries_ = static_cast<OwnerId*>(entries);
    owners_ = OwnerTable(window_, window_bytes_, owner_entries_);
    return;
  }
}

NumaNodePool::~NumaNodePool() {
  budget_.Remove(this);
  base::MutexLock lock(&mu_);
  ERIS_CHECK(in_use_bytes_ == 0);
  for (const auto& [memory, extent] : dead_extents_) {
    sources_.back().system->Unmap(memory, extent.bytes);
  }
  if (window_bytes_ > 0) {
    ReturnAddressSpace(window_, window_bytes_);
    munmap(owner_entries_, window_bytes_ / kSpanBytes * sizeof(OwnerId));
    munmap(holders_, window_bytes_ / layout_.bytes() * sizeof *holders_);
  }
  budget_.AddReclaimable(-static_cast<int64_t>(reserved_bytes_));
  budget_.Return(reserved_bytes_);
}

void* NumaNodePool::TakeSuperblock() {
  if (take_failures_.Fires()) return nullptr;
  void* superblock = nullptr;
  {
    base::MutexLock lock(&mu_);
    if (!kept_.empty()) {
      superblock = kept_.back().superblock;
      kept_.pop_back();
    } else if (!ready_.empty()) {
      superblock = ready_.back();
      ready_.pop_back();
    }
    if (superblock != nullptr) budget_.AddReclaimable(-static_cast<int64_t>(layout_.bytes()));
  }
  if (superblock == nullptr) superblock = TakeFromSystem(/*reclaim=*/true);
  if (superblock == nullptr) return nullptr;
  base::MutexLock lock(&mu_);
  in_use_bytes_ += layout_.bytes();
  ++taken_in_tick_;
  const bool low =
      kept_.empty() && ready_.size() <= ready_wanted_ / 2 && taken_in_tick_ >= kTakenWorthReady;
  if (low && keeper_ != nullptr) keeper_->Wake(/*now=*/true);
  return superblock;
}

// The lock is not held while pages are made: other AEUs go on taking what is there.
void* NumaNodePool::TakeFromSystem(bool reclaim) {
  if (!TryReserve(layout_.bytes(), reclaim)) return nullptr;
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
    // The last one is always asked: there is nothing else.
    if (tick_ < sources_[source].dry_until_tick && source + 1 < sources_.size()) return nullptr;
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
  sources_[source].dry_until_tick = tick_ + 1;
  return nullptr;
}

void* NumaNodePool::TakeBare(size_t source) {
  std::vector<void*>& bare = sources_[source].bare;
  if (bare.empty() && !MapRegion(source)) return nullptr;
  void* superblock = bare.back();
  bare.pop_back();
  return superblock;
}

bool NumaNodePool::MapRegion(size_t source) {
  const size_t left = window_bytes_ - window_used_bytes_;
  if (left < layout_.bytes()) return false;
  const size_t least = kRegionSuperblocks * layout_.bytes();
  size_t bytes = std::clamp(base::RoundUp(window_used_bytes_ / 4, layout_.bytes()), least,
                            std::max(least, kRegionBytesMax));
  bytes = std::min(bytes, left);
  std::byte* const region = window_ + window_used_bytes_;
  // A system that has little to give may have enough for one.
  while (!sources_[source].system->MapAt(region, bytes)) {
    if (bytes == layout_.bytes()) return false;
    bytes = base::RoundUp(bytes / 2, layout_.bytes());
  }
  try {  // these are on the general heap, which refuses by an exception
    // Nothing that is pushed later needs memory.
    const size_t all = (window_used_bytes_ + bytes) / layout_.bytes();
    sources_[source].bare.reserve(all);
    ready_.reserve(all);
    kept_.Reserve(all);
    regions_[region] = {bytes, source};
  } catch (const std::bad_alloc&) {
    return false;  // mapped over at the next attempt
  }
  window_used_bytes_ += bytes;
  mapped_bytes_ += bytes;
  // The lowest address is to be taken first.
  for (size_t offset = bytes; offset > 0; offset -= layout_.bytes()) {
    sources_[source].bare.push_back(region + offset - layout_.bytes());
  }
  return true;
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
  if (TakeFromNumaNode(bytes)) return true;
  // What is kept, or about to be given back, fills the NumaNode as well.
  if (reclaim) Reclaim(bytes);
  if (reclaim && TakeFromNumaNode(bytes)) return true;
  budget_.Return(bytes);
  return false;
}

bool NumaNodePool::TakeFromNumaNode(size_t bytes) {
  const bool limited = IsLimitedByNumaNode();
  base::MutexLock lock(&mu_);
  if (limited && !NumaNodeHasRoom(bytes)) return false;
  reserved_bytes_ += bytes;
  return true;
}

bool NumaNodePool::NumaNodeHasRoom(size_t bytes) {
  if (reserved_bytes_ + bytes > NumaNodeTakesMost()) return false;
  // Near the end each superblock counts, so each is preceded by a reading. After a refusal, callers
  // ask again and again: they get the same answer for a while.
  const bool near_end = node_free_bytes_ < bytes + 4 * stays_free_bytes_;
  if (takes_until_read_ == 0 || (near_end && !node_full_)) {
    std::optional<uint64_t> free;
    try {
      free = topology::FreeMemoryBytes(node_);
    } catch (const std::bad_alloc&) {
      return false;
    }
    node_free_bytes_ = free.value_or(std::numeric_limits<uint64_t>::max() / 2);
    // They may all be touched yet.
    node_free_bytes_ -= std::min(node_free_bytes_, on_touch_bytes_);
    takes_until_read_ = kTakesPerReading;
  }
  --takes_until_read_;
  node_full_ = node_free_bytes_ < bytes + stays_free_bytes_;
  if (!node_full_) node_free_bytes_ -= bytes;
  return !node_full_;
}

uint64_t NumaNodePool::RoomBytes() {
  uint64_t reserved = 0, at_hand = 0, untouched = 0;
  {
    base::MutexLock lock(&mu_);
    reserved = reserved_bytes_;
    at_hand = (kept_.size() + ready_.size()) * layout_.bytes();
    untouched = on_touch_bytes_;
    takes_until_read_ = 0;
  }
  const auto beyond = [](uint64_t all, uint64_t taken) { return all - std::min(all, taken); };
  // A piece comes before another one goes.
  if (beyond(budget_.limit_bytes(), budget_.taken_bytes()) < layout_.bytes()) return at_hand;
  if (!IsLimitedByNumaNode()) return std::numeric_limits<uint64_t>::max();
  uint64_t more = beyond(NumaNodeTakesMost(), reserved);
  if (const std::optional<uint64_t> free = topology::FreeMemoryBytes(node_)) {
    more = std::min(more, beyond(*free, untouched + stays_free_bytes_));
  }
  return at_hand + more;
}

void NumaNodePool::Unreserve(size_t bytes) {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(reserved_bytes_ >= bytes);
  reserved_bytes_ -= bytes;
  budget_.Return(bytes);
}

void NumaNodePool::ReturnSuperblock(void* superblock) {
  Unpoison(superblock, layout_.bytes());
  void* beyond = nullptr;
  {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(in_use_bytes_ >= layout_.bytes());
    in_use_bytes_ -= layout_.bytes();
    kept_.push_back({superblock, tick_});
    budget_.AddReclaimable(static_cast<int64_t>(layout_.bytes()));
    const bool too_many = kept_.size() * layout_.bytes() > options_.kept_bytes_max;
    if (keeper_ != nullptr) {
      keeper_->Wake(too_many);
    } else if (too_many) {
      beyond = kept_.front().superblock;
      kept_.pop_front();
    }
  }
  if (beyond != nullptr) ReturnToSystem({&beyond, 1});
}

size_t NumaNodePool::ReturnToSystem(std::span<void* const> superblocks) {
  size_t returned = 0;
  for (void* superblock : superblocks) {
    size_t source = 0;
    {
      base::MutexLock lock(&mu_);
      source = SourceOf(superblock);
    }
    const bool gone = Discard(static_cast<std::byte*>(superblock), source);
    base::MutexLock lock(&mu_);
    if (!gone) {  // memory that is locked, say: ours still
      kept_.push_back({superblock, tick_});
      continue;
    }
    sources_[source].populated_bytes -= layout_.bytes();
    sources_[source].bare.push_back(superblock);
    reserved_bytes_ -= layout_.bytes();
    budget_.AddReclaimable(-static_cast<int64_t>(layout_.bytes()));
    budget_.Return(layout_.bytes());
    ++returned;
  }
  return returned;
}

size_t NumaNodePool::ExtentBytes(size_t bytes) const {
  if (bytes > std::numeric_limits<size_t>::max() - 2 * layout_.bytes()) return kNoBytes;
  return base::RoundUp(bytes, layout_.bytes());
}

// From the last source: reserved huge pages are few, and would have to be there at once.
void* NumaNodePool::TakeExtent(size_t bytes, Pages pages) {
  const size_t rounded = ExtentBytes(bytes);
  if (rounded == kNoBytes || take_failures_.Fires()) return nullptr;
  if (!TryReserve(rounded, /*reclaim=*/true)) return nullptr;
  SystemMemory& system = *sources_.back().system;
  std::byte* memory = system.Map(rounded, layout_.bytes());
  if (memory != nullptr && (pages == Pages::kOnTouch || system.Populate(memory, rounded))) {
    base::MutexLock lock(&mu_);
    try {
      extents_[memory] = {rounded, pages};
      in_use_bytes_ += rounded;
      mapped_bytes_ += rounded;
      if (pages == Pages::kOnTouch) on_touch_bytes_ += rounded;
      return memory;
    } catch (const std::bad_alloc&) {  // the general heap's word for "no"
    }
  }
  if (memory != nullptr) system.Unmap(memory, rounded);
  Unreserve(rounded);
  return nullptr;
}

void NumaNodePool::ReturnExtent(void* extent, size_t bytes) {
  const size_t rounded = ExtentBytes(bytes);
  Unpoison(extent, rounded);
  Extents now;
  {
    base::MutexLock lock(&mu_);
    const auto found = extents_.find(static_cast<std::byte*>(extent));
    ERIS_CHECK(found != extents_.end());
    ERIS_CHECK(found->second.bytes == rounded);
    if (found->second.pages == Pages::kOnTouch) on_touch_bytes_ -= rounded;
    in_use_bytes_ -= rounded;
    budget_.AddReclaimable(static_cast<int64_t>(rounded));
    // Giving back many pages takes a while: not the AEU's while.
    (keeper_ != nullptr ? dead_extents_ : now).insert(extents_.extract(found));
    if (keeper_ != nullptr) keeper_->Wake(/*now=*/true);
  }
  UnmapExtents(now);
}

void NumaNodePool::UnmapExtents(const Extents& extents) {
  for (const auto& [memory, extent] : extents) {
    const size_t bytes = extent.bytes;
    sources_.back().system->Unmap(memory, bytes);
    base::MutexLock lock(&mu_);
    mapped_bytes_ -= bytes;
    reserved_bytes_ -= bytes;
    budget_.AddReclaimable(-static_cast<int64_t>(bytes));
    budget_.Return(bytes);
  }
}

void NumaNodePool::SetKeeper(PoolKeeper* keeper) {
  {
    base::MutexLock lock(&mu_);
    keeper_ = keeper;
  }
  // What it has not done: later the other pools may have gone.
  uint64_t bytes = 0;
  while (keeper == nullptr && GiveBackAbroad(bytes)) {
  }
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
      if (away_.contains(memory + offset)) continue;
      ranges.push_back({memory + offset, layout_.bytes(), /*populated=*/true});
    }
  }
  for (const auto& [memory, source] : abroad_) ranges.push_back({memory, layout_.bytes()});
  for (const auto& [memory, extent] : extents_) {
    ranges.push_back({memory, extent.bytes, extent.pages == Pages::kNow, /*extent=*/true});
  }
  return ranges;
}

}  // namespace eris::memory
