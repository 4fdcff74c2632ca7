// Shared by the programs of bench/leap: a range of memory as a program has it, a pool for it, and
// memcpy of the range, which every migration is compared with. One thread. Paper: page_leap 3, 5.
#ifndef ERIS_BENCH_LEAP_LEAP_RANGE_H_
#define ERIS_BENCH_LEAP_LEAP_RANGE_H_

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "bench/routing/machine.h"
#include "eris/leap.h"
#include "leap/memory_pool.h"

namespace eris::bench {

inline leap::Method MethodOf(const std::string& name) {
  for (const leap::Method method :
       {leap::Method::kOwner, leap::Method::kHold, leap::Method::kRetry, leap::Method::kKernel}) {
    if (name == leap::MethodName(method)) return method;
  }
  Die("no method " + name);
}
inline leap::Pages PagesOf(const std::string& name) {
  return name == "huge"    ? leap::Pages::kAnonymousHuge
         : name == "small" ? leap::Pages::kAnonymous
                           : leap::Pages::kFile;
}

// Memory without its pages, aligned to huge pages. Ends the program if there is none.
inline std::byte* NewMapping(size_t bytes, leap::Pages pages) {
  const int file = pages == leap::Pages::kFile ? memfd_create("leap-lab", MFD_CLOEXEC) : -1;
  if (pages == leap::Pages::kFile && ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    Die("no memory file");
  }
  void* const wide = mmap(nullptr, bytes + leap::kHugePageBytes, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  auto* const at = reinterpret_cast<void*>(
      base::RoundUp(reinterpret_cast<uintptr_t>(wide), leap::kHugePageBytes));
  const int flags = MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
  if (wide == MAP_FAILED || mmap(at, bytes, PROT_READ | PROT_WRITE, flags, file, 0) == MAP_FAILED) {
    Die("no memory");
  }
  // The file stays open, as that of a program whose memory it is: its old pages stay with it.
  madvise(at, bytes, pages == leap::Pages::kAnonymousHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return static_cast<std::byte*>(at);
}

// The range, as a program that knows nothing of migrations has it: all zeros, all pages present.
inline std::byte* NewRange(size_t bytes, leap::Pages pages) {
  std::byte* const range = NewMapping(bytes, pages);
  std::memset(range, 0, bytes);
  return range;
}

inline std::unique_ptr<leap::MemoryPool> NewPool(size_t bytes, leap::Pages pages) {
  auto pool = leap::MemoryPool::Create({.bytes = bytes, .pages = pages, .bind = false},
                                       topology::NumaNode{.memory_bytes = 1});
  if (!pool.ok()) Die(pool.status().ToString());
  return *std::move(pool);
}

// The range copied in pieces of an area's size into the pool, which then is as before. In ns; the
// second number is the slowest piece's.
inline std::pair<uint64_t, uint64_t> CopyNs(const std::byte* range, size_t bytes, size_t area,
                                            leap::MemoryPool& pool) {
  std::vector<std::byte*> pieces;
  uint64_t slowest_ns = 0;
  const uint64_t begin_ns = NowNs();
  uint64_t last_ns = begin_ns;
  for (size_t at = 0; at < bytes; at += area) {
    const size_t piece = std::min(area, bytes - at);
    pieces.push_back(pool.Take(piece, range + at));
    if (pieces.back() == nullptr) Die("the pool is too small");
    std::memcpy(pieces.back(), range + at, piece);
    const uint64_t now_ns = NowNs();
    slowest_ns = std::max(slowest_ns, now_ns - last_ns);
    last_ns = now_ns;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    pool.Give(pieces[i], std::min(area, bytes - i * area));
  }
  return {last_ns - begin_ns, slowest_ns};
}

// The same into memory whose pages the copy itself touches first. In ns.
inline uint64_t FreshCopyNs(const std::byte* range, size_t bytes, size_t area, leap::Pages pages) {
  std::byte* const target = NewMapping(bytes, pages);
  const uint64_t begin_ns = NowNs();
  for (size_t at = 0; at < bytes; at += area) {
    std::memcpy(target + at, range + at, std::min(area, bytes - at));
  }
  const uint64_t ns = NowNs() - begin_ns;
  munmap(target, bytes);
  return ns;
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_LEAP_LEAP_RANGE_H_
