#include "tests/explore/arena.h"

#include <algorithm>
#include <cstdlib>

namespace eris::explore {
namespace {

constexpr size_t kCellBytes = 8;
constexpr size_t kAllocationsMax = 1024;

}  // namespace

Arena::Arena()
    : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, kBytes))),
      cells_(kBytes / kCellBytes) {
  allocations_.reserve(kAllocationsMax);  // grows not while operator new is ours
}

Arena::~Arena() { std::free(memory_); }

void Arena::Reset() {
  ++execution_;
  used_bytes_ = 0;
  live_ = 0;
  allocations_.clear();
}

Arena::Cell& Arena::CellAt(size_t index) {
  Cell& cell = cells_[index];
  if (cell.execution != execution_) {
    cell = Cell();
    cell.execution = execution_;
  }
  return cell;
}

void* Arena::Allocate(size_t bytes, size_t alignment, uint32_t thread, const Clock& clock) {
  alignment = std::max(alignment, size_t{16});
  bytes = std::max((bytes + 15) & ~size_t{15}, size_t{16});
  // A gap, so that running past an end is an access to nothing.
  const size_t begin = (used_bytes_ + 16 + alignment - 1) & ~(alignment - 1);
  if (begin + bytes > kBytes || allocations_.size() == kAllocationsMax) return nullptr;
  used_bytes_ = begin + bytes;
  allocations_.push_back({begin, bytes, false});
  ++live_;
  for (size_t i = begin / kCellBytes; i < (begin + bytes) / kCellBytes; ++i) {
    Cell& cell = CellAt(i);
    cell.usable = true;
    cell.write_thread = static_cast<uint8_t>(thread);
    cell.write_time = clock.at[thread];
  }
  return memory_ + begin;
}

const char* Arena::Free(void* memory, uint32_t thread, const Clock& clock) {
  const size_t begin = static_cast<size_t>(static_cast<std::byte*>(memory) - memory_);
  const auto found = std::lower_bound(
      allocations_.begin(), allocations_.end(), begin,
      [](const Allocation& allocation, size_t at) { return allocation.begin < at; });
  if (found == allocations_.end() || found->begin != begin) return "free of what nobody allocated";
  if (found->freed) return "double free";
  const char* wrong = WriteCells(begin, found->bytes, thread, clock);
  found->freed = true;
  --live_;
  for (size_t i = begin / kCellBytes; i < (begin + found->bytes) / kCellBytes; ++i) {
    CellAt(i).usable = false;
  }
  return wrong;
}

const char* Arena::Read(const void* memory, size_t bytes, uint32_t thread, const Clock& clock) {
  if (!Contains(memory) || bytes == 0) return nullptr;
  const size_t begin = static_cast<size_t>(static_cast<const std::byte*>(memory) - memory_);
  for (size_t i = begin / kCellBytes; i <= (begin + bytes - 1) / kCellBytes; ++i) {
    Cell& cell = CellAt(i);
    if (!cell.usable) return "read of memory that is not, or no longer, allocated";
    if (!clock.Knows(cell.write_thread, cell.write_time)) return "data race: read after a write";
    cell.read_times[thread] = clock.at[thread];
  }
  return nullptr;
}

const char* Arena::Write(const void* memory, size_t bytes, uint32_t thread, const Clock& clock) {
  if (!Contains(memory) || bytes == 0) return nullptr;
  const size_t begin = static_cast<size_t>(static_cast<const std::byte*>(memory) - memory_);
  return WriteCells(begin, bytes, thread, clock);
}

const char* Arena::WriteCells(size_t begin, size_t bytes, uint32_t thread, const Clock& clock) {
  for (size_t i = begin / kCellBytes; i <= (begin + bytes - 1) / kCellBytes; ++i) {
    Cell& cell = CellAt(i);
    if (!cell.usable) return "write to memory that is not, or no longer, allocated";
    if (!clock.Knows(cell.write_thread, cell.write_time)) return "data race: write after a write";
    for (uint32_t reader = 0; reader < kThreadsMax; ++reader) {
      if (!clock.Knows(reader, cell.read_times[reader])) return "data race: write after a read";
    }
    cell.write_thread = static_cast<uint8_t>(thread);
    cell.write_time = clock.at[thread];
  }
  return nullptr;
}

std::string Arena::Name(const void* memory) const {
  if (!Contains(memory)) return "memory outside the arena";
  const size_t at = static_cast<size_t>(static_cast<const std::byte*>(memory) - memory_);
  for (size_t i = 0; i < allocations_.size(); ++i) {
    const Allocation& allocation = allocations_[i];
    if (at < allocation.begin || at >= allocation.begin + allocation.bytes) continue;
    return "allocation " + std::to_string(i) + " (" + std::to_string(allocation.bytes) +
           " bytes) + " + std::to_string(at - allocation.begin);
  }
  return "no allocation";
}

}  // namespace eris::explore
