// What an AEU counts about itself. Written by the AEU, read by anyone; relaxed, because they are
// figures and order nothing.
#ifndef ERIS_AEU_LOAD_COUNTERS_H_
#define ERIS_AEU_LOAD_COUNTERS_H_

#include <atomic>
#include <cstdint>

#include "base/cache_line.h"

namespace eris::aeu {

// One writer, so a load and a store do where a read-modify-write would cost a bus lock.
class Counter {
 public:
  void Add(uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  uint64_t Read() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct alignas(base::kNoSharingBytes) LoadCounters {
  Counter turns;
  Counter parks;
  Counter busy_ns;
  Counter commands;
  Counter keys;
  Counter rows_scanned;
  Counter commands_forwarded;
  Counter commands_redirected;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_LOAD_COUNTERS_H_
