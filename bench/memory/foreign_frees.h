// Measures the price of a block that another thread frees. The owner allocates a batch. Either it
// frees the batch itself, or a second thread does, and then the owner ends its turn (ours:
// collects). The freeing thread has read each block before, as a tree does. Phases follow one
// another, so a thread's figure is its own work; the two alternate by spinning.
#ifndef ERIS_BENCH_MEMORY_FOREIGN_FREES_H_
#define ERIS_BENCH_MEMORY_FOREIGN_FREES_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "bench/memory/replay.h"
#include "bench/memory/small_loads.h"
#include "bench/memory/trace.h"
#include "bench/routing/machine.h"

namespace eris::bench {

// Medians, in nanoseconds per block.
struct ForeignFrees {
  double local_allocate = 0;  // for blocks that the owner had freed
  double local_free = 0;
  double local_collect = 0;
  double foreign_allocate = 0;  // for blocks that the other thread had freed
  double foreign_free = 0;      // on the other thread, including the end of its turn
  double foreign_collect = 0;   // on the owner
};

// A batch of blocks, of sizes as a trace has them.
class BlockBatch {
 public:
  explicit BlockBatch(const Trace& trace) : classes_(kBlocks), blocks_(kBlocks), order_(kBlocks) {
    std::mt19937_64 random(trace.header().seed);
    const ClassDraw draw(trace);
    for (uint32_t& one : classes_) one = draw(random());
    // The order of freeing is not that of allocating.
    std::iota(order_.begin(), order_.end(), 0);
    std::shuffle(order_.begin(), order_.end(), random);
  }
  ~BlockBatch() {
    volatile uint64_t keep = sum_;
    static_cast<void>(keep);
  }

  template <class Allocator>
  void Allocate(Allocator& allocator) {
    for (uint32_t i = 0; i < kBlocks; ++i) {
      blocks_[i] = allocator.Allocate(classes_[i], nullptr);
      if (blocks_[i] == nullptr) Die("no memory");
      Touch(blocks_[i], i);
    }
  }
  void Read() {
    for (const uint32_t i : order_) sum_ += *static_cast<volatile uint64_t*>(blocks_[i]);
  }
  template <class Allocator>
  void Free(Allocator& allocator) {
    for (const uint32_t i : order_) allocator.Free(blocks_[i], classes_[i]);
  }
  // Nanoseconds per block.
  template <class Work>
  static double Timed(const Work& work) {
    const uint64_t begin_ns = NowNs();
    work();
    return static_cast<double>(NowNs() - begin_ns) / kBlocks;
  }

 private:
  static constexpr uint32_t kBlocks = 4096;
  std::vector<uint32_t> classes_;
  std::vector<void*> blocks_;
  std::vector<uint32_t> order_;
  uint64_t sum_ = 0;
};

// end_turn(0) is the owner's, end_turn(1) the other thread's; `rounds` of each kind.
template <class Allocator, class EndTurn>
ForeignFrees MeasureForeignFrees(const Trace& trace, uint32_t rounds, Allocator& owner,
                                 Allocator& other, const EndTurn& end_turn) {
  BlockBatch blocks(trace);
  const auto timed = [](const auto& work) { return BlockBatch::Timed(work); };
  std::vector<double> local_allocate, local_free, local_collect, foreign_allocate, foreign_free,
      foreign_collect;
  for (uint32_t round = 0; round < rounds; ++round) {
    local_allocate.push_back(timed([&] { blocks.Allocate(owner); }));
    blocks.Read();
    local_free.push_back(timed([&] { blocks.Free(owner); }));
    local_collect.push_back(timed([&] { end_turn(0); }));
  }
  // Whose turn it is: 0 the owner's, 1 the other's, 2 none (the end). The release publishes
  // everything that the thread has written; the other one's acquire receives it.
  std::atomic<uint32_t> turn{0};
  const std::vector<int> cpus = AllowedCpus();
  std::thread helper([&] {
    PinTo(cpus[1 % cpus.size()]);
    for (;;) {
      uint32_t now;
      while ((now = turn.load(std::memory_order_acquire)) == 0) std::this_thread::yield();
      if (now == 2) return;
      blocks.Read();
      foreign_free.push_back(timed([&] {
        blocks.Free(other);
        end_turn(1);
      }));
      turn.store(0, std::memory_order_release);
    }
  });
  for (uint32_t round = 0; round < rounds; ++round) {
    foreign_allocate.push_back(timed([&] { blocks.Allocate(owner); }));
    turn.store(1, std::memory_order_release);
    while (turn.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    foreign_collect.push_back(timed([&] { end_turn(0); }));
  }
  turn.store(2, std::memory_order_release);
  helper.join();
  return {MedianOf(local_allocate),   MedianOf(local_free),   MedianOf(local_collect),
          MedianOf(foreign_allocate), MedianOf(foreign_free), MedianOf(foreign_collect)};
}

inline void PrintForeignFrees(const ForeignFrees& ns) {
  std::printf(
      "{\"possible\": true, \"local_allocate\": %.3f, \"local_free\": %.3f, \"local_collect\": "
      "%.3f, \"foreign_allocate\": %.3f, \"foreign_free\": %.3f, \"foreign_collect\": %.3f}\n",
      ns.local_allocate, ns.local_free, ns.local_collect, ns.foreign_allocate, ns.foreign_free,
      ns.foreign_collect);
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_FOREIGN_FREES_H_
