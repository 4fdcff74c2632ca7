// Superblocks whose pages have moved: each has an address in the window of one pool and pages of
// another, its home. What finds something from an address goes by the window; figures, the limit
// and the check of placement go by home. Paper: page leap, 3.
#include <algorithm>
#include <array>
#include <atomic>
#include <fstream>
#include <new>

#include "memory/numa_node_pool.h"
#include "memory/system/mapping_traffic.h"
#include "memory/system/poison.h"

namespace eris::memory {
namespace {

// Each address that has been given pages may be a mapping of its own, and end one before it and
// begin one after it, until it is mapped as at first. The process may have only so many mappings:
// half of them are left to others.
constexpr uint64_t kMappingsEach = 2;
constexpr uint64_t kMappingsLeft = 1024;  // of that half, for all else
// Superblocks that a thread takes out of the list of those to be given back.
constexpr size_t kPutBackAtOnce = 16;
std::atomic<uint64_t> superblocks_moved{0};  // of the process. relaxed: a bound, not an order

uint64_t SuperblocksMovedMax() {
  static const uint64_t most = [] {
    uint64_t mappings = 65530;  // the kernel's default
    std::ifstream("/proc/sys/vm/max_map_count") >> mappings;
    return (std::max(mappings / 2, kMappingsLeft) - kMappingsLeft) / kMappingsEach;
  }();
  return most;
}

// Whether the kernel may refuse a move half way, because another process has taken what it had
// promised to this one.
bool CommitsStrictly() {
  static const bool strictly = [] {
    int mode = 0;
    std::ifstream("/proc/sys/vm/overcommit_memory") >> mode;
    return mode == 2;
  }();
  return strictly;
}

bool IsAnonymous(PageKind kind) {
  return kind == PageKind::kAnonymous || kind == PageKind::kAnonymousHuge;
}

}  // namespace

void* NumaNodePool::TakeReady() {
  {
    // In the last eighth of the limit the keeper makes nothing ready.
    const bool makes = options_.ready_superblocks_max > 0 &&
                       budget_.taken_bytes() + layout_.bytes() <= budget_.limit_bytes() / 8 * 7;
    base::MutexLock lock(&mu_);
    if (makes && keeper_ != nullptr && kept_.empty() && ready_.empty()) {
      ready_wanted_ = options_.ready_superblocks_max;
      keeper_->Wake(/*now=*/true);
      return nullptr;
    }
    if (keeper_ != nullptr && MappingTraffic::MustComeBack()) return nullptr;
  }
  return TakeSuperblock();
}

bool NumaNodePool::CanMovePages(const void* at, const NumaNodePool& window) const {
  const auto is_anonymous = [](const Source& source) { return IsAnonymous(source.system->kind()); };
  if (CommitsStrictly()) return false;
  base::MutexLock lock(&window.mu_);
  const uint64_t away_bytes = (window.away_.size() + 1) * layout_.bytes();
  return (away_bytes <= window.away_bytes_max_ || &window == this) &&
         (window.moved_.contains(static_cast<const std::byte*>(at)) ||
          superblocks_moved.load(std::memory_order_relaxed) < SuperblocksMovedMax()) &&
         window.layout_.bytes() == layout_.bytes() &&
         std::any_of(sources_.begin(), sources_.end(), is_anonymous) &&
         IsAnonymous(window.sources_[window.SourceOf(at)].system->kind());
}

bool NumaNodePool::MovePages(void* fresh, void* at, NumaNodePool& window, NumaNodePool& home) {
  auto* const from = static_cast<std::byte*>(fresh);
  auto* const to = static_cast<std::byte*>(at);
  size_t source = 0;
  {
    base::MutexLock lock(&mu_);
    source = SourceOf(from);
  }
  if (!IsAnonymous(sources_[source].system->kind()) || !CanMovePages(at, window)) return false;
  const bool comes_home = &window == this;
  if (!comes_home) {
    if (!NoteAbroad(to, source)) return false;
    if (!window.NoteAway(to)) {
      ForgetAbroad(to);
      return false;
    }
  }
  CountMove(&Moves::begun);
  home.CountMove(&Moves::begun);
  const bool moved = sources_[source].system->MovePages(from, to, layout_.bytes());
  if (moved) {
    home.Lose(to);
    base::MutexLock lock(&mu_);
    sources_[source].bare.push_back(from);
    if (comes_home) {
      away_.erase(to);
      sources_[source].populated_bytes -= layout_.bytes();
      sources_[SourceOf(to)].populated_bytes += layout_.bytes();
    }
  } else if (!comes_home) {
    ForgetAbroad(to);
    if (&home == &window) window.ForgetAway(to);
  }
  CountMove(&Moves::ended);
  home.CountMove(&Moves::ended);
  return moved;
}

bool NumaNodePool::NoteAbroad(std::byte* at, size_t source) {
  base::MutexLock lock(&mu_);
  try {
    // Returning it then needs no memory.
    if (dead_abroad_.capacity() <= abroad_.size()) dead_abroad_.reserve(2 * abroad_.size() + 1);
    abroad_[at] = source;
    return true;
  } catch (const std::bad_alloc&) {  // the general heap's word for "no"
    return false;
  }
}

bool NumaNodePool::NoteAway(std::byte* at) {
  base::MutexLock lock(&mu_);
  try {
    if (moved_.insert(at).second) superblocks_moved.fetch_add(1, std::memory_order_relaxed);
    away_.insert(at);
    return true;
  } catch (const std::bad_alloc&) {
    return false;  // it may count as moved, which costs nothing
  }
}

void NumaNodePool::ForgetAbroad(std::byte* at) {
  base::MutexLock lock(&mu_);
  abroad_.erase(at);
}

void NumaNodePool::ForgetAway(std::byte* at) {
  base::MutexLock lock(&mu_);
  away_.erase(at);
}

void NumaNodePool::CountMove(uint64_t Moves::*figure) {
  base::MutexLock lock(&mu_);
  ++(moves_.*figure);
}

bool NumaNodePool::Discard(std::byte* superblock, size_t source) {
  SystemMemory& system = *sources_[source].system;
  bool moved = false;
  {
    base::MutexLock lock(&mu_);
    moved = moved_.contains(superblock);
  }
  // If so, new address space with the pool's own policy.
  if (!moved || !system.MapAt(superblock, layout_.bytes())) {
    return system.Discard(superblock, layout_.bytes());
  }
  base::MutexLock lock(&mu_);
  moved_.erase(superblock);
  superblocks_moved.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void NumaNodePool::Lose(std::byte* at) {
  base::MutexLock lock(&mu_);
  in_use_bytes_ -= layout_.bytes();
  LosePages(at);
}

void NumaNodePool::LosePages(std::byte* at) {
  const auto found = abroad_.find(at);
  sources_[found == abroad_.end() ? SourceOf(at) : found->second].populated_bytes -=
      layout_.bytes();
  if (found != abroad_.end()) abroad_.erase(found);
  reserved_bytes_ -= layout_.bytes();
  budget_.Return(layout_.bytes());
}

void NumaNodePool::ReturnSuperblock(void* superblock, NumaNodePool& window) {
  if (&window == this) return ReturnSuperblock(superblock);
  const Abroad abroad{static_cast<std::byte*>(superblock), &window};
  Unpoison(superblock, layout_.bytes());
  {
    base::MutexLock lock(&mu_);
    in_use_bytes_ -= layout_.bytes();
    budget_.AddReclaimable(static_cast<int64_t>(layout_.bytes()));
    // To change a mapping takes a while: not the AEU's while.
    if (keeper_ != nullptr) {
      dead_abroad_.push_back(abroad);
      keeper_->Wake(/*now=*/true);
      return;
    }
  }
  GiveBack({&abroad, 1});
}

bool NumaNodePool::GiveBackAbroad(uint64_t& bytes) {
  std::array<Abroad, kPutBackAtOnce> some;
  size_t count = 0;
  {
    base::MutexLock lock(&mu_);
    for (; count < some.size() && !dead_abroad_.empty(); ++count) {
      some[count] = dead_abroad_.back();
      dead_abroad_.pop_back();
    }
    // What was known of the NumaNode is out of date.
    if (count > 0) takes_until_read_ = 0;
  }
  GiveBack(std::span(some).first(count));
  bytes += count * layout_.bytes();
  return count > 0;
}

void NumaNodePool::GiveBack(std::span<const Abroad> superblocks) {
  for (const auto& [at, window] : superblocks) {
    size_t source = 0;
    {
      base::MutexLock lock(&window->mu_);
      source = window->SourceOf(at);
    }
    // Without a mapping to spare the pages go, and the address space is lost.
    window->Discard(at, source);
    budget_.AddReclaimable(-static_cast<int64_t>(layout_.bytes()));
    {
      base::MutexLock lock(&mu_);
      LosePages(at);
    }
    base::MutexLock lock(&window->mu_);
    if (window->moved_.contains(at)) continue;
    window->away_.erase(at);
    window->sources_[source].bare.push_back(at);
  }
}

NumaNodePool::Moves NumaNodePool::moves() const {
  base::MutexLock lock(&mu_);
  return moves_;
}

MemoryManager* NumaNodePool::HolderOf(const void* superblock) const {
  const size_t offset = static_cast<size_t>(static_cast<const std::byte*>(superblock) - window_);
  return holders_[offset / layout_.bytes()].load(std::memory_order_relaxed);
}

void NumaNodePool::SetHolder(const void* superblock, MemoryManager* manager) {
  const size_t offset = static_cast<size_t>(static_cast<const std::byte*>(superblock) - window_);
  holders_[offset / layout_.bytes()].store(manager, std::memory_order_relaxed);
}

}  // namespace eris::memory
