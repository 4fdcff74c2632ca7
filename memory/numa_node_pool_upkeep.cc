// What a pool does in the background, on its keeper's thread: superblocks are made ready for the
// demand of the last tick, and those that have not been taken for a while go back to the system.
// When memory is short, Reclaim gives them back at once.
#include <algorithm>
#include <array>

#include "memory/numa_node_pool.h"
#include "memory/system/mapping_traffic.h"

namespace eris::memory {
namespace {

// In one call of Maintain.
constexpr size_t kGivenBackAtOnce = 64;
constexpr uint32_t kMadeReadyAtOnce = 8;

}  // namespace

NumaNodePool::Work NumaNodePool::Maintain(bool tick) {
  std::array<void*, kGivenBackAtOnce> old;
  size_t olds = 0;
  Extents extents;
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
    while (olds < old.size() && !kept_.empty() &&
           (tick_ - kept_.front().since_tick >= options_.decay_ticks ||
            kept_.size() * layout_.bytes() > options_.kept_bytes_max)) {
      old[olds++] = kept_.front().superblock;
      kept_.pop_front();
    }
    while (olds < old.size() && ready_.size() > ready_wanted_) {
      old[olds++] = ready_.back();
      ready_.pop_back();
    }
    extents.swap(dead_extents_);
  }
  // What the system refuses to take back is tried again, but not at once.
  const bool more_to_return = ReturnToSystem(std::span(old).first(olds)) > 0 && olds == old.size();
  UnmapExtents(extents);
  uint64_t given_back = 0;
  GiveBackAbroad(given_back);
  const bool more_to_make = MakeReady();
  base::MutexLock lock(&mu_);
  if (more_to_make || more_to_return || !dead_extents_.empty() || !dead_abroad_.empty()) {
    return Work::kNow;
  }
  const bool later = !kept_.empty() || !ready_.empty() || ready_wanted_ > 0 || taken_in_tick_ > 0;
  return later ? Work::kWithTheNextTick : Work::kNone;
}

void NumaNodePool::Prepare(uint64_t bytes) {
  {
    base::MutexLock lock(&mu_);
    const uint64_t superblocks = bytes / layout_.bytes() + (bytes % layout_.bytes() != 0);
    ready_wanted_ =
        std::max(ready_wanted_, std::min<uint64_t>(superblocks, options_.ready_superblocks_max));
    // It gives them back if they are not taken for a while.
    if (keeper_ != nullptr) keeper_->Wake(/*now=*/false);
  }
  while (MakeReady()) {
  }
}

bool NumaNodePool::MakeReady() {
  for (uint32_t made = 0; made < kMadeReadyAtOnce; ++made) {
    {
      base::MutexLock lock(&mu_);
      // What is kept serves as well, and costs no zeroing.
      if (kept_.size() + ready_.size() >= ready_wanted_) return false;
    }
    // The last eighth of the limit is kept for superblocks that are needed now.
    if (budget_.taken_bytes() + layout_.bytes() > budget_.limit_bytes() / 8 * 7) return false;
    void* superblock = nullptr;
    {
      const MappingTraffic::PagesMade making;
      superblock = TakeFromSystem(/*reclaim=*/false);
    }
    if (superblock == nullptr) return false;
    base::MutexLock lock(&mu_);
    ready_.push_back(superblock);
    budget_.AddReclaimable(static_cast<int64_t>(layout_.bytes()));
  }
  return true;
}

void NumaNodePool::Reclaim(uint64_t bytes) {
  Extents extents;
  uint64_t given = 0;
  {
    base::MutexLock lock(&mu_);
    extents.swap(dead_extents_);
    for (const auto& [memory, extent] : extents) given += extent.bytes;
    // What was known of the NumaNode is out of date.
    if (!extents.empty()) takes_until_read_ = 0;
  }
  UnmapExtents(extents);
  while (given < bytes && GiveBackAbroad(given)) {
  }
  while (given < bytes) {
    std::array<void*, kGivenBackAtOnce> superblocks;
    size_t count = 0;
    {
      base::MutexLock lock(&mu_);
      for (; given < bytes && count < superblocks.size(); given += layout_.bytes()) {
        if (!ready_.empty()) {
          superblocks[count++] = ready_.back();
          ready_.pop_back();
        } else if (!kept_.empty()) {
          superblocks[count++] = kept_.front().superblock;
          kept_.pop_front();
        } else {
          break;
        }
      }
      if (count == 0) return;
      takes_until_read_ = 0;
    }
    // What the system refuses to take back is kept again.
    if (ReturnToSystem(std::span(superblocks).first(count)) < count) return;
  }
}

}  // namespace eris::memory
