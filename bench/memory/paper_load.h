// The allocators' micro-benchmark as the paper describes it: each thread either allocates and
// writes, or reads an existing item and frees it; sizes are inversely proportional to the size
// class. Paper: locality in in-memory analytics on NUMA systems, III-A8.
#ifndef ERIS_BENCH_MEMORY_PAPER_LOAD_H_
#define ERIS_BENCH_MEMORY_PAPER_LOAD_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "bench/memory/allocators.h"
#include "bench/memory/replay.h"
#include "bench/memory/trace.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"

namespace eris::bench {

class PaperLoad {
 public:
  // 16 bytes to 8 KiB; the paper does not specify the classes.
  static constexpr uint32_t kClasses = 10;
  static constexpr ClassBytes kClassBytes = {16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
  // Slots for blocks of one thread; on average half of them are filled.
  static constexpr uint32_t kSlots = 1u << 20;

  PaperLoad(uint32_t threads, uint64_t operations, uint64_t seed) {
    for (uint32_t i = 0; i < threads; ++i) {
      threads_.push_back(std::make_unique<OneThread>(operations, seed + i));
      requested_bytes_peak_ += threads_.back()->requested_bytes_peak;
    }
  }
  uint64_t requested_bytes_peak() const { return requested_bytes_peak_; }

  // From the first thread's start to the last one's end. make(i) is the i-th thread's allocator.
  template <class Make>
  double Run(const Make& make) {
    const std::vector<int> cpus = AllowedCpus();
    std::atomic<uint32_t> ready{0};
    std::atomic<bool> go{false};
    std::vector<std::thread> running;
    std::vector<uint64_t> end_ns(threads_.size());
    for (size_t i = 0; i < threads_.size(); ++i) {
      running.emplace_back([&, i] {
        PinTo(cpus[i % cpus.size()]);
        auto allocator = make(i);
        OneThread& mine = *threads_[i];
        ready.fetch_add(1);  // seq_cst: before the clock starts
        while (!go.load()) std::this_thread::yield();
        mine.sum = Replay(allocator, mine.Records(), reinterpret_cast<void**>(mine.slots.data()),
                          TouchLines{kClassBytes});
        end_ns[i] = NowNs();
      });
    }
    while (ready.load() < threads_.size()) std::this_thread::yield();
    const uint64_t begin_ns = NowNs();
    go.store(true);
    for (std::thread& one : running) one.join();
    return static_cast<double>(*std::max_element(end_ns.begin(), end_ns.end()) - begin_ns) * 1e-9;
  }

 private:
  struct OneThread {
    OneThread(uint64_t count, uint64_t seed)
        : operations(count),
          records((count + kLookAhead) * sizeof(TraceRecord)),
          slots(kSlots * sizeof(void*)) {
      std::mt19937_64 random(seed);
      std::vector<uint8_t> live(kSlots, kClasses);
      uint64_t requested = 0;
      auto* out = reinterpret_cast<TraceRecord*>(records.data());
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t bits = random();
        const auto slot = static_cast<uint32_t>(bits % kSlots);
        const bool free = live[slot] != kClasses;
        const uint32_t size_class = free ? live[slot] : ClassOf(bits >> 32);
        out[i] = TraceRecord(free, size_class, slot);
        live[slot] = free ? kClasses : static_cast<uint8_t>(size_class);
        requested += free ? -uint64_t{kClassBytes[size_class]} : kClassBytes[size_class];
        requested_bytes_peak = std::max(requested_bytes_peak, requested);
      }
    }
    // Each class is half as likely as the one below.
    static uint32_t ClassOf(uint64_t bits) {
      return std::min<uint32_t>(static_cast<uint32_t>(std::countr_zero(bits | 1u << 31)),
                                kClasses - 1);
    }
    std::span<const TraceRecord> Records() const {
      return {reinterpret_cast<const TraceRecord*>(records.data()), operations};
    }

    const uint64_t operations;
    HugeBuffer records;
    HugeBuffer slots;
    uint64_t requested_bytes_peak = 0;
    uint64_t sum = 0;
  };

  std::vector<std::unique_ptr<OneThread>> threads_;
  uint64_t requested_bytes_peak_ = 0;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_PAPER_LOAD_H_
