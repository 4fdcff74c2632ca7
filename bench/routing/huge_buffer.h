// Zeroed memory on huge pages if the system has some, like the engine's pools.
#ifndef ERIS_BENCH_ROUTING_HUGE_BUFFER_H_
#define ERIS_BENCH_ROUTING_HUGE_BUFFER_H_

#include <sys/mman.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/cache_line.h"

namespace eris::bench {

class HugeBuffer {
 public:
  // Ends the program if there is no memory: a benchmark cannot continue.
  explicit HugeBuffer(size_t bytes) : bytes_(base::RoundUp(bytes, kHugePageBytes)) {
    void* mapped = mmap(nullptr, bytes_ + kHugePageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) {
      std::perror("mmap");
      std::exit(1);
    }
    mapped_ = static_cast<std::byte*>(mapped);
    const size_t address = reinterpret_cast<size_t>(mapped_);
    begin_ = mapped_ + (base::RoundUp(address, kHugePageBytes) - address);
    madvise(begin_, bytes_, MADV_HUGEPAGE);
    std::memset(begin_, 0, bytes_);
  }
  ~HugeBuffer() { munmap(mapped_, bytes_ + kHugePageBytes); }
  HugeBuffer(const HugeBuffer&) = delete;
  HugeBuffer& operator=(const HugeBuffer&) = delete;

  std::byte* data() const { return begin_; }

 private:
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  const size_t bytes_;
  std::byte* mapped_;
  std::byte* begin_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_ROUTING_HUGE_BUFFER_H_
