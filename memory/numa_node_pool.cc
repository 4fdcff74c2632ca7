#include "memory/numa_node_pool.h"

#include <sys/mman.h>

#include <limits>

#include "base/cache_line.h"
#include "base/check.h"
#include "memory/poison.h"
#include "topology/binding.h"

namespace eris::memory {
namespace {

std::byte* Map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

bool IsAligned(const std::byte* memory) {
  return reinterpret_cast<uintptr_t>(memory) % kSuperblockBytes == 0;
}

// `bytes` is a multiple of kSuperblockBytes; the result is aligned to that. nullptr: refused.
std::byte* MapAligned(size_t bytes) {
  // The kernel mostly puts a new mapping right below the last one, which is aligned then.
  std::byte* memory = Map(bytes);
  if (memory == nullptr || IsAligned(memory)) return memory;
  munmap(memory, bytes);
  std::byte* wide = Map(bytes + kSuperblockBytes);
  if (wide == nullptr) return nullptr;
  const size_t head = base::RoundUp(reinterpret_cast<uintptr_t>(wide), kSuperblockBytes) -
                      reinterpret_cast<uintptr_t>(wide);
  // Trimming a mapping's end needs no new map entry, so these two cannot fail.
  if (head > 0) munmap(wide, head);
  if (head < kSuperblockBytes) munmap(wide + head + bytes, kSuperblockBytes - head);
  return wide + head;
}

// 0 when rounding up would wrap.
size_t ExtentBytes(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - 2 * kSuperblockBytes) return 0;
  return base::RoundUp(bytes, kSuperblockBytes);
}

}  // namespace

NumaNodePool::NumaNodePool(const topology::NumaNode& node, bool bind, MemoryBudget& budget)
    : node_(node), bind_(bind), budget_(budget) {}

NumaNodePool::~NumaNodePool() {
  base::MutexLock lock(&mu_);
  ERIS_CHECK(in_use_bytes_ == 0);
  for (void* superblock : free_superblocks_) munmap(superblock, kSuperblockBytes);
  budget_.Return(reserved_bytes_);
}

void* NumaNodePool::TakeSuperblock() {
  {
    base::MutexLock lock(&mu_);
    if (!free_superblocks_.empty()) {
      void* superblock = free_superblocks_.back();
      free_superblocks_.pop_back();
      in_use_bytes_ += kSuperblockBytes;
      return superblock;
    }
  }
  return TakeFromSystem(kSuperblockBytes);
}

void* NumaNodePool::TakeExtent(size_t bytes) {
  const size_t rounded = ExtentBytes(bytes);
  return rounded == 0 ? nullptr : TakeFromSystem(rounded);
}

// The lock is not held over system calls: other AEUs go on taking kept superblocks.
void* NumaNodePool::TakeFromSystem(size_t bytes) {
  if (!TryReserve(bytes)) return nullptr;
  std::byte* memory = MapAligned(bytes);
  if (memory == nullptr) {
    Unreserve(bytes);
    return nullptr;
  }
  // Advice only: without huge pages everything works, at 1.7 times the cost of a random load.
  madvise(memory, bytes, MADV_HUGEPAGE);
  Bind(memory, bytes);
  return memory;
}

bool NumaNodePool::TryReserve(size_t bytes) {
  if (!budget_.TryTake(bytes)) return false;
  base::MutexLock lock(&mu_);
  const bool bound = bind_ && binding_status_.ok() && node_.memory_bytes > 0;
  const uint64_t bound_bytes_max = node_.memory_bytes - node_.memory_bytes / 16;
  if (bound && reserved_bytes_ + bytes > bound_bytes_max) {
    budget_.Return(bytes);
    return false;
  }
  reserved_bytes_ += bytes;
  in_use_bytes_ += bytes;
  return true;
}

void NumaNodePool::Unreserve(size_t bytes) {
  base::MutexLock lock(&mu_);
  reserved_bytes_ -= bytes;
  in_use_bytes_ -= bytes;
  budget_.Return(bytes);
}

void NumaNodePool::Bind(void* memory, size_t bytes) {
  if (!bind_ || !binding_status().ok()) return;
  const absl::Status status = topology::BindMemory(memory, bytes, node_);
  if (status.ok()) return;
  base::MutexLock lock(&mu_);
  if (binding_status_.ok()) binding_status_ = status;
}

void NumaNodePool::ReturnSuperblock(void* superblock) {
  Unpoison(superblock, kSuperblockBytes);
  {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(in_use_bytes_ >= kSuperblockBytes);
    in_use_bytes_ -= kSuperblockBytes;
    if (free_superblocks_.size() < kKeptSuperblocksMax) {
      free_superblocks_.push_back(superblock);
      return;
    }
  }
  ReturnToSystem(superblock, kSuperblockBytes);
}

void NumaNodePool::ReturnExtent(void* extent, size_t bytes) {
  const size_t rounded = ExtentBytes(bytes);
  Unpoison(extent, rounded);
  {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(in_use_bytes_ >= rounded);
    in_use_bytes_ -= rounded;
  }
  ReturnToSystem(extent, rounded);
}

void NumaNodePool::ReturnToSystem(void* memory, size_t bytes) {
  const bool unmapped = munmap(memory, bytes) == 0;
  base::MutexLock lock(&mu_);
  if (unmapped) {
    reserved_bytes_ -= bytes;
    budget_.Return(bytes);
    return;
  }
  // A hole in the middle of a mapping needs one more map entry, and the system has a limit on
  // those: keep the memory, its pages given up.
  madvise(memory, bytes, MADV_DONTNEED);
  for (size_t offset = 0; offset < bytes; offset += kSuperblockBytes) {
    free_superblocks_.push_back(static_cast<std::byte*>(memory) + offset);
  }
}

uint64_t NumaNodePool::reserved_bytes() const {
  base::MutexLock lock(&mu_);
  return reserved_bytes_;
}

uint64_t NumaNodePool::in_use_bytes() const {
  base::MutexLock lock(&mu_);
  return in_use_bytes_;
}

absl::Status NumaNodePool::binding_status() const {
  base::MutexLock lock(&mu_);
  return binding_status_;
}

}  // namespace eris::memory
