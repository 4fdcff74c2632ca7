// One cpu's private cache, simulated: lines of 64 bytes, sets chosen by physical address, least
// recently used out first. Nothing else writes to it: what other cpus do to a line is not modelled
// here but in line_directory.h, so a miss is one of capacity or of the first touch.
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
  static constexpr uint64_t kNoLine = ~uint64_t{0};

  // No sets: every access hits.
  CacheModel() = default;
  CacheModel(uint64_t bytes, uint64_t ways)
      : ways_(ways), sets_(bytes / (kLineBytes * ways)), lines_(sets_ * ways, kNoLine) {}

  struct Touched {
    bool missed = false;  // the line was not there; it is now
    uint64_t evicted = kNoLine;
  };

  Touched Touch(uint64_t line) {
    if (sets_ == 0) return {};
    const auto begin = lines_.begin() + static_cast<ptrdiff_t>(line % sets_ * ways_);
    const auto end = begin + static_cast<ptrdiff_t>(ways_);
    // A set is in the order of its last uses: the youngest first.
    auto found = std::find(begin, end, line);
    Touched touched;
    if (found == end) {
      --found;
      touched = {true, *found};
    }
    std::move_backward(begin, found, found + 1);
    *begin = line;
    return touched;
  }

  // Whether the line of `address` was not there. It is now.
  bool Misses(uint64_t address) { return Touch(address / kLineBytes).missed; }

 private:
  uint64_t ways_ = 0;
  uint64_t sets_ = 0;
  std::vector<uint64_t> lines_;  // by set
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_CACHE_MODEL_H_
