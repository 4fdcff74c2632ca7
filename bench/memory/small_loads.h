// The cost of an allocator while its own data are in the cache: pairs of allocate and free, and a
// small working set of TreeNodes in random order. One thread.
#ifndef ERIS_BENCH_MEMORY_SMALL_LOADS_H_
#define ERIS_BENCH_MEMORY_SMALL_LOADS_H_

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "bench/memory/replay.h"
#include "bench/memory/trace.h"
#include "bench/routing/huge_buffer.h"
#include "bench/routing/machine.h"

namespace eris::bench {

// Draws size classes as often as a trace allocates them.
class ClassDraw {
 public:
  // Draws sizes as the trace's first section allocates them. REQUIRES: that section allocates.
  explicit ClassDraw(const Trace& trace) {
    for (const TraceRecord record : trace.Section(0)) {
      if (record.is_free()) continue;
      if (record.size_class() >= trace.header().classes) Die("the trace has blocks of no class");
      classes_.push_back(static_cast<uint8_t>(record.size_class()));
    }
    if (classes_.empty()) Die("nothing is allocated in the trace's first section");
  }
  uint8_t operator()(uint64_t bits) const { return classes_[bits % classes_.size()]; }

 private:
  std::vector<uint8_t> classes_;
};

class SmallLoads {
 public:
  // `blocks_known`: for the floor, whose slots have their blocks from the start. `chunks`: of
  // kChunkRecords records, at least 4.
  SmallLoads(const Trace& trace, bool blocks_known, uint32_t chunks)
      : header_(trace.header()),
        chunks_(chunks),
        records_memory_((chunks * kChunkRecords + kSlots + kLookAhead) * sizeof(TraceRecord)),
        slots_(kSlots * sizeof(void*)) {
    std::mt19937_64 random(header_.seed);
    const ClassDraw draw(trace);
    for (uint8_t& one : classes_) one = draw(random());
    std::bitset<kSlots> live;
    for (uint64_t i = 0; i < chunks_ * kChunkRecords; ++i) {
      const auto slot = static_cast<uint32_t>(random() % kSlots);
      records()[counted_++] = TraceRecord(live[slot], classes_[slot], slot);
      live.flip(slot);
    }
    for (uint32_t slot = 0; slot < kSlots; ++slot) {  // none is left
      if (live[slot]) records()[counted_++] = TraceRecord(true, classes_[slot], slot);
    }
    if (blocks_known) {
      size_t bytes = 0;
      for (const uint8_t size_class : classes_) bytes += header_.class_bytes[size_class];
      std::byte* at = blocks_.emplace(bytes).data();
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        slots()[slot] = at;
        at += header_.class_bytes[classes_[slot]];
      }
    }
  }

  // Nanoseconds of one record, for each chunk.
  template <class Allocator>
  std::vector<double> Random(Allocator& allocator) {
    std::vector<double> ns;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < chunks_; ++i) {
      const uint64_t begin_ns = NowNs();
      sum += Replay(allocator, {records() + i * kChunkRecords, kChunkRecords}, slots());
      ns.push_back(static_cast<double>(NowNs() - begin_ns) / kChunkRecords);
    }
    sum +=
        Replay(allocator, {records() + chunks_ * kChunkRecords, counted_ - chunks_ * kChunkRecords},
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
      for (uint32_t chunk = 0; chunk < chunks_ / 4; ++chunk) {
        const uint64_t begin_ns = NowNs();
        for (uint64_t i = 0; i < kChunkRecords; ++i) {
          // The compiler must not know the class, as in a tree.
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
  static constexpr uint64_t kChunkRecords = 4096;

  TraceRecord* records() { return reinterpret_cast<TraceRecord*>(records_memory_.data()); }
  void** slots() { return reinterpret_cast<void**>(slots_.data()); }

  const TraceHeader& header_;
  const uint64_t chunks_;
  // Not allocated by the measured allocator.
  HugeBuffer records_memory_;
  HugeBuffer slots_;
  std::optional<HugeBuffer> blocks_;
  std::array<uint8_t, kSlots> classes_;
  uint64_t counted_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_MEMORY_SMALL_LOADS_H_
