// What an allocator costs while its own data are in the cache: pairs of allocate and free, and a
// small working set of TreeNodes in random order. One thread.
#ifndef ERIS_BENCH_MEMORY_SMALL_LOADS_H_
#define ERIS_BENCH_MEMORY_SMALL_LOADS_H_

#include <array>
#include <bitset>
#include <cstdint>
#include <random>
#include <vector>

#include "bench/memory/replay.h"
#include "bench/memory/trace.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"

namespace eris::bench {

// Of 1024 allocations of the tree, by class: about what a recorded trace shows.
inline uint32_t TreeNodeClassOf(uint64_t bits) {
  static constexpr std::array<uint16_t, 15> kBelow = {7,   7,   7,   7,   10,  38,  144, 294,
                                                      400, 486, 614, 770, 904, 991, 1023};
  const uint64_t at = bits % 1024;
  uint32_t size_class = 0;
  while (size_class < kBelow.size() && at >= kBelow[size_class]) ++size_class;
  return size_class;
}

class SmallLoads {
 public:
  // `blocks_known`: for the floor, which takes the slots' blocks as they stand.
  SmallLoads(const TraceHeader& header, bool blocks_known)
      : header_(header),
        blocks_known_(blocks_known),
        records_memory_(kRecordsMax * sizeof(TraceRecord)),
        slots_(kSlots * sizeof(void*)),
        blocks_(blocks_known ? kSlots * kBlockBytesMax : 1) {
    std::mt19937_64 random(header.seed);
    for (uint8_t& one : classes_) one = static_cast<uint8_t>(TreeNodeClassOf(random()));
    std::bitset<kSlots> live;
    for (uint64_t i = 0; i < kChunks * kChunkRecords; ++i) {
      const auto slot = static_cast<uint32_t>(random() % kSlots);
      records()[counted_++] = TraceRecord(live[slot], classes_[slot], slot);
      live.flip(slot);
    }
    for (uint32_t slot = 0; slot < kSlots; ++slot) {  // none is left
      if (live[slot]) records()[counted_++] = TraceRecord(true, classes_[slot], slot);
    }
    if (blocks_known_) {
      size_t at = 0;
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        slots()[slot] = blocks_.data() + at;
        at += header.class_bytes[classes_[slot]];
      }
    }
  }

  // Nanoseconds of one record, for each chunk.
  template <class Allocator>
  std::vector<double> Random(Allocator& allocator) {
    std::vector<double> ns;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < kChunks; ++i) {
      const uint64_t begin_ns = NowNs();
      sum += Replay(allocator, {records() + i * kChunkRecords, kChunkRecords}, slots());
      ns.push_back(static_cast<double>(NowNs() - begin_ns) / kChunkRecords);
    }
    sum +=
        Replay(allocator, {records() + kChunks * kChunkRecords, counted_ - kChunks * kChunkRecords},
               slots());
    sum_ = sum;
    return ns;
  }

  // Nanoseconds of allocate, write and free, the median for each class.
  template <class Allocator>
  std::vector<double> Pairs(Allocator& allocator) {
    std::vector<double> medians;
    for (uint32_t size_class = 0; size_class < header_.classes; ++size_class) {
      std::vector<double> ns;
      for (uint32_t chunk = 0; chunk < kChunks / 4; ++chunk) {
        const uint64_t begin_ns = NowNs();
        for (uint64_t i = 0; i < kChunkRecords; ++i) {
          // The class is a register's content to the compiler, as in a tree.
          uint32_t some_class = size_class;
          asm volatile("" : "+r"(some_class));
          void* block = allocator.Allocate(some_class, slots_.data());
          if (block == nullptr) Die("no memory");
          Touch(block, i);
          allocator.Free(block, some_class);
        }
        ns.push_back(static_cast<double>(NowNs() - begin_ns) / kChunkRecords);
      }
      medians.push_back(MedianOf(ns));
    }
    return medians;
  }

 private:
  static constexpr uint32_t kSlots = 1u << 16;
  static constexpr uint64_t kChunks = 400;
  static constexpr uint64_t kChunkRecords = 4096;
  static constexpr uint64_t kRecordsMax = kChunks * kChunkRecords + kSlots + kLookAhead;
  static constexpr size_t kBlockBytesMax = 1024;  // on average

  TraceRecord* records() { return reinterpret_cast<TraceRecord*>(records_memory_.data()); }
  void** slots() { return reinterpret_cast<void**>(slots_.data()); }

  const TraceHeader& header_;
  const bool blocks_known_;
  // Not of the allocator under measurement.
  HugeBuffer records_memory_;
  HugeBuffer slots_;
  HugeBuffer blocks_;
  std::array<uint8_t, kSlots> classes_;
  uint64_t counted_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_SMALL_LOADS_H_
