// Memory whose place is chosen before it is touched, and its location according to the kernel.
#ifndef ERIS_BENCH_PAPER_PLACED_BUFFER_H_
#define ERIS_BENCH_PAPER_PLACED_BUFFER_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/cache_line.h"
#include "bench/routing/machine.h"
#include "topology/binding.h"
#include "topology/page_location.h"
#include "topology/topology.h"

namespace eris::bench {

// Untouched at first; on huge pages if the system has some, like the engine's pools.
class PlacedBuffer {
 public:
  // Ends the program if there is no memory: a benchmark cannot continue.
  explicit PlacedBuffer(size_t bytes) : bytes_(base::RoundUp(bytes, kHugePageBytes)) {
    void* mapped = mmap(nullptr, bytes_ + kHugePageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) Die("no address space for " + std::to_string(bytes_) + " bytes");
    mapped_ = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<size_t>(mapped_);
    begin_ = mapped_ + (base::RoundUp(address, kHugePageBytes) - address);
    madvise(begin_, bytes_, MADV_HUGEPAGE);
  }
  ~PlacedBuffer() { munmap(mapped_, bytes_ + kHugePageBytes); }
  PlacedBuffer(const PlacedBuffer&) = delete;
  PlacedBuffer& operator=(const PlacedBuffer&) = delete;

  // Call it before the memory is touched. Errors: those of topology/binding.h.
  absl::Status Bind(const topology::NumaNode& node) {
    return topology::BindMemory(begin_, bytes_, node);
  }
  absl::Status Interleave(std::span<const topology::NumaNode> nodes) {
    return topology::InterleaveMemory(begin_, bytes_, nodes);
  }

  uint64_t* words() const { return reinterpret_cast<uint64_t*>(begin_); }

  // The fraction of the pages, sampled in some thousand places, on each NumaNode, by position in
  // `nodes`; empty if the kernel does not tell.
  std::vector<double> PartOf(std::span<const topology::NumaNode> nodes) const {
    const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t pages = bytes_ / page_bytes;
    // Odd, so that it meets all NumaNodes of interleaved memory.
    const size_t step = std::max<size_t>(1, pages / kPagesLookedAt) | 1;
    std::vector<void*> asked;
    for (size_t page = 0; page < pages; page += step) asked.push_back(begin_ + page * page_bytes);
    std::vector<int32_t> found(asked.size());
    if (!topology::LocatePages(asked, found).ok()) return {};
    // The end of the last huge page may never be touched.
    std::erase(found, topology::kPageNotPresent);
    if (found.empty()) return {};
    std::vector<double> parts;
    for (const topology::NumaNode& node : nodes) {
      const auto count =
          std::count(found.begin(), found.end(), static_cast<int32_t>(node.os_index));
      parts.push_back(static_cast<double>(count) / static_cast<double>(found.size()));
    }
    return parts;
  }

 private:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  static constexpr size_t kPagesLookedAt = 4096;
  const size_t bytes_;
  std::byte* mapped_;
  std::byte* begin_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_PAPER_PLACED_BUFFER_H_
