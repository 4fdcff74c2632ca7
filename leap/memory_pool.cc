#include "leap/memory_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/cache_line.h"
#include "leap/faults.h"
#include "topology/free_memory.h"

namespace eris::leap {
namespace {

memory::PageKind KindOf(Pages pages) {
  switch (pages) {
    case Pages::kAnonymous:
      return memory::PageKind::kAnonymous;
    case Pages::kAnonymousHuge:
      return memory::PageKind::kAnonymousHuge;
    case Pages::kFile:
      return memory::PageKind::kSharedHuge;
    case Pages::kReservedHuge:
      break;
  }
  return memory::PageKind::kReservedHuge;
}

// The node with that number of the operating system. Errors: InvalidArgument.
absl::StatusOr<topology::NumaNode> FindNumaNode(uint32_t os_numa_node) {
  const absl::StatusOr<topology::Topology> machine = topology::Topology::Discover();
  if (!machine.ok()) return machine.status();
  std::string known;
  for (const topology::NumaNode& node : machine->numa_nodes()) {
    if (node.memory_bytes == 0) continue;
    if (node.os_index == os_numa_node) return node;
    absl::StrAppend(&known, known.empty() ? "" : ", ", node.os_index);
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no NumaNode ", os_numa_node, " with memory for this process; there are ", known));
}

// Whether the kernel remaps memory of this kind: found out with a huge page of it, in address space
// that nobody else has.
bool CanBeRemapped(memory::SystemMemory& system) {
  std::byte* const both = memory::ReserveAddressSpace(2 * kHugePageBytes, kHugePageBytes);
  if (both == nullptr) return false;
  std::byte* const to = both + kHugePageBytes;
  const bool can =
      system.MapAt(both, kHugePageBytes) &&
      mremap(both, kHugePageBytes, kHugePageBytes, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
  // After a remap there is nothing at the first place.
  memory::ReturnAddressSpace(can ? to : both, can ? kHugePageBytes : 2 * kHugePageBytes);
  return can;
}

}  // namespace

Faults& InjectedFaults() {
  static Faults faults;
  return faults;
}

absl::StatusOr<std::unique_ptr<Pool>> Pool::Create(const PoolOptions& options) {
  const absl::StatusOr<topology::NumaNode> node = FindNumaNode(options.os_numa_node);
  if (!node.ok()) return node.status();
  absl::StatusOr<std::unique_ptr<MemoryPool>> pool = MemoryPool::Create(options, *node);
  if (!pool.ok()) return pool.status();
  return *std::move(pool);
}

absl::StatusOr<std::unique_ptr<MemoryPool>> MemoryPool::Create(const PoolOptions& options,
                                                               const topology::NumaNode& node) {
  const auto no_memory = [&](const char* what) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "no ", what, " for a pool of ", options.bytes, " bytes (",
        memory::PageKindName(KindOf(options.pages)), ") on NumaNode ", options.os_numa_node,
        "; a smaller pool can be filled and used several times"));
  };
  const size_t bytes = base::RoundUp(options.bytes, kHugePageBytes);
  if (bytes < options.bytes) return no_memory("address space");
  memory::PagePolicy policy;
  if (options.bind) policy.numa_nodes.push_back(node);
  auto system = std::make_unique<memory::SystemMemory>(KindOf(options.pages), policy);
  std::unique_ptr<MemoryPool> pool(new MemoryPool(options, std::move(system)));
  if (bytes == 0) return pool;
  std::byte* const memory = pool->system_->Map(bytes, kHugePageBytes);
  if (memory == nullptr) return no_memory("address space");
  absl::Status bound = pool->system_->binding_status();
  if (!bound.ok()) {
    pool->system_->Unmap(memory, bytes);
    return bound;
  }
  // The kernel kills a process that asks for more bound memory than there is.
  const bool asks = options.bind && options.pages != Pages::kReservedHuge;
  const std::optional<uint64_t> free = asks ? topology::FreeMemoryBytes(node) : std::nullopt;
  const uint64_t kept = free ? topology::KernelReserveBytes(node) : 0;
  if (free && *free < bytes + kept) {
    pool->system_->Unmap(memory, bytes);
    return absl::ResourceExhaustedError(absl::StrCat("NumaNode ", options.os_numa_node, " has ",
                                                     *free,
                                                     " free bytes, of which the kernel "
                                                     "keeps ",
                                                     kept, "; the pool wants ", bytes));
  }
  if (!pool->system_->Populate(memory, bytes)) {
    pool->system_->Unmap(memory, bytes);
    return no_memory("memory");
  }
  pool->Give(memory, bytes);
  if (options.pages == Pages::kReservedHuge && !CanBeRemapped(*pool->system_)) {
    return absl::UnimplementedError(absl::StrCat("this kernel does not remap memory of the kind '",
                                                 memory::PageKindName(KindOf(options.pages)),
                                                 "' (reserved huge pages: from 5.16 on)"));
  }
  return pool;
}

MemoryPool::~MemoryPool() {
  base::MutexLock lock(&mu_);
  for (const auto& [piece, bytes] : free_) {
    // A memory file would keep the pages for as long as a moved area maps it.
    system_->Discard(piece, bytes);
    system_->Unmap(piece, bytes);
  }
  for (const Range& kept : kept_) munmap(kept.begin, kept.bytes);
}

size_t MemoryPool::free_bytes() const {
  base::MutexLock lock(&mu_);
  size_t bytes = 0;
  for (const auto& [piece, length] : free_) bytes += length;
  return bytes;
}

std::byte* MemoryPool::Take(size_t bytes, const std::byte* like) {
  if (InjectedFaults().take.Fires()) return nullptr;
  const size_t within = reinterpret_cast<uintptr_t>(like) % kHugePageBytes;
  base::MutexLock lock(&mu_);
  for (auto piece = free_.begin(); piece != free_.end(); ++piece) {
    const auto [begin, length] = *piece;
    size_t skip = 0;
    if (bytes >= kHugePageBytes) {
      skip = (within + kHugePageBytes - reinterpret_cast<uintptr_t>(begin) % kHugePageBytes) %
             kHugePageBytes;
    }
    if (length < skip || length - skip < bytes) continue;
    free_.erase(piece);
    if (skip > 0) free_.emplace(begin, skip);
    std::byte* const taken = begin + skip;
    if (length - skip > bytes) free_.emplace(taken + bytes, length - skip - bytes);
    return taken;
  }
  return nullptr;
}

void MemoryPool::Give(std::byte* piece, size_t bytes) {
  base::MutexLock lock(&mu_);
  auto next = free_.lower_bound(piece);
  if (next != free_.end() && piece + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == piece) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(piece, bytes);
}

void MemoryPool::KeepPages(const Range& range) {
  if (range.bytes < kHugePageBytes) return;
  // With length 0: another mapping of the same memory, without a page of its own.
  void* const kept = mremap(range.begin, 0, range.bytes, MREMAP_MAYMOVE);
  if (kept == MAP_FAILED) return;
  base::MutexLock lock(&mu_);
  try {
    kept_.push_back({kept, range.bytes});
  } catch (const std::bad_alloc&) {  // the general heap's word for "no"
    munmap(kept, range.bytes);
  }
}

}  // namespace eris::leap
