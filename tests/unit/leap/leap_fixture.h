// Memory to migrate, of each kind that the machine has, and pools for it.
#ifndef ERIS_TESTS_UNIT_LEAP_LEAP_FIXTURE_H_
#define ERIS_TESTS_UNIT_LEAP_LEAP_FIXTURE_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/cache_line.h"
#include "eris/leap.h"
#include "leap/memory_pool.h"
#include "topology/topology.h"

namespace eris::leap {

inline constexpr size_t kPage = 4096;
#ifdef ERIS_TSAN
inline constexpr bool kBlockedThreadsWrite = false;  // a thread of the sanitizer has all blocked
#else
inline constexpr bool kBlockedThreadsWrite = true;
#endif

// Some memory that the test owns: private anonymous, or of a memory file.
class TestMemory {
 public:
  // `offset`: where it begins within a huge page, whole pages.
  explicit TestMemory(size_t bytes, Pages pages = Pages::kAnonymous, size_t offset = 0)
      : whole_bytes_(base::RoundUp(bytes + offset, kHugePageBytes) + kHugePageBytes) {
    const bool file = pages == Pages::kFile;
    const int memory_file = file ? memfd_create("leap-test", MFD_CLOEXEC) : -1;
    if (file) {
      EXPECT_EQ(ftruncate(memory_file, static_cast<off_t>(whole_bytes_)), 0);
    }
    whole_ = mmap(nullptr, whole_bytes_, PROT_READ | PROT_WRITE,
                  file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, memory_file, 0);
    EXPECT_NE(whole_, MAP_FAILED);
    if (file) close(memory_file);
    madvise(whole_, whole_bytes_, pages == Pages::kAnonymousHuge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    auto* const begin = reinterpret_cast<std::byte*>(
        base::RoundUp(reinterpret_cast<uintptr_t>(whole_), kHugePageBytes));
    range_ = {begin + offset, bytes};
    for (size_t i = 0; i < words().size(); ++i) words()[i] = ValueAt(i);
  }
  ~TestMemory() { munmap(whole_, whole_bytes_); }
  TestMemory(const TestMemory&) = delete;
  TestMemory& operator=(const TestMemory&) = delete;

  const Range& range() const { return range_; }
  std::byte* begin() const { return static_cast<std::byte*>(range_.begin); }
  std::span<uint64_t> words() const {
    return {reinterpret_cast<uint64_t*>(range_.begin), range_.bytes / sizeof(uint64_t)};
  }
  static uint64_t ValueAt(size_t i) { return i * 0x9e3779b97f4a7c15 + 1; }
  // How many words are not as they were filled.
  size_t CountWrong() const {
    size_t wrong = 0;
    for (size_t i = 0; i < words().size(); ++i) wrong += words()[i] != ValueAt(i);
    return wrong;
  }

 private:
  size_t whole_bytes_;
  void* whole_;
  Range range_;
};

// A pool that is not bound: on the machine's first NumaNode there is nothing to bind for.
inline std::unique_ptr<MemoryPool> NewPool(size_t bytes, Pages pages = Pages::kAnonymous) {
  auto pool = MemoryPool::Create({.bytes = bytes, .pages = pages, .bind = false},
                                 topology::NumaNode{.memory_bytes = 1});
  EXPECT_TRUE(pool.ok()) << pool.status();
  return pool.ok() ? *std::move(pool) : nullptr;
}

}  // namespace eris::leap

#endif  // ERIS_TESTS_UNIT_LEAP_LEAP_FIXTURE_H_
