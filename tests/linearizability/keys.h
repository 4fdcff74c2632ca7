// The keys that the load uses, and the rows around them that it only reads. Constants; any thread.
#ifndef ERIS_TESTS_LINEARIZABILITY_KEYS_H_
#define ERIS_TESTS_LINEARIZABILITY_KEYS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace eris {

// Both ends of the key space, neighbours, and keys far apart.
inline constexpr uint64_t kKeys[] = {0,
                                     1,
                                     1'000'000,
                                     1'000'001,
                                     uint64_t{1} << 32,
                                     (uint64_t{1} << 32) + 1,
                                     uint64_t{1} << 48,
                                     uint64_t{3} << 60,
                                     uint64_t{1} << 62,
                                     (uint64_t{1} << 62) + 256,
                                     (uint64_t{1} << 63) - 1,
                                     uint64_t{1} << 63,
                                     uint64_t{11} << 60,
                                     uint64_t{13} << 60,
                                     ~uint64_t{0} - 1,
                                     ~uint64_t{0}};
inline constexpr size_t kKeyCount = std::size(kKeys);

inline bool IsLoadKey(uint64_t key) {
  return std::binary_search(std::begin(kKeys), std::end(kKeys), key);
}

struct Rows {
  std::vector<uint64_t> keys, values;
};

// Up to so many rows follow each key. The load never writes to them, so ranges that move are not
// empty, and at the end each of these rows must be there exactly once.
inline constexpr uint32_t kRowsBehindKey = 200;

// The rows behind kKeys[first] to kKeys[last], ascending.
inline Rows RowsBehind(size_t first, size_t last) {
  Rows rows;
  for (size_t i = first; i <= last; ++i) {
    const uint64_t gap = i + 1 < kKeyCount ? kKeys[i + 1] - kKeys[i] : 0;
    for (uint32_t row = 1; row <= kRowsBehindKey && row < gap; ++row) {
      rows.keys.push_back(kKeys[i] + row);
      rows.values.push_back(row);
    }
  }
  return rows;
}

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_KEYS_H_
