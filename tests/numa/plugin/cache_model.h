// One cpu's private cache, simulated: lines of 64 bytes, sets chosen by physical address, least
// recently used out first. Nothing else writes to it: what other cpus do to a line is not modelled,
// so a miss is one of capacity or of the first touch.
#ifndef ERIS_TESTS_NUMA_PLUGIN_CACHE_MODEL_H_
#define ERIS_TESTS_NUMA_PLUGIN_CACHE_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::numa_lab {

class CacheModel {
 public:
  static constexpr uint64_t kLineBytes = 64;

  // No sets: every access hits.
  CacheModel() = default;
  CacheModel(uint64_t bytes, uint64_t ways)
      : ways_(ways), sets_(bytes / (kLineBytes * ways)), lines_(sets_ * ways, kEmpty) {}

  // Whether the line of `address` was not there. It is now.
  bool Misses(uint64_t address) {
    if (sets_ == 0) return false;
    const uint64_t line = address / kLineBytes;
    const auto begin = lines_.begin() + static_cast<ptrdiff_t>(line % sets_ * ways_);
    const auto end = begin + static_cast<ptrdiff_t>(ways_);
    // A set is in the order of its last uses: the youngest first.
    auto found = std::find(begin, end, line);
    const bool missed = found == end;
    if (missed) found = end - 1;
    std::move_backward(begin, found, found + 1);
    *begin = line;
    return missed;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  uint64_t ways_ = 0;
  uint64_t sets_ = 0;
  std::vector<uint64_t> lines_;  // by set
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_CACHE_MODEL_H_
