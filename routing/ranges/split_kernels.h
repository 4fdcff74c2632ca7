// Compares the keys of a command with ranges, eight at a time on machines with AVX-512. For
// partition tables so small that comparing every key once per range is cheaper than placing each
// key by itself, and for the check that an AEU owns the keys sent to it. Pure functions; any
// thread.
#ifndef ERIS_ROUTING_SPLIT_KERNELS_H_
#define ERIS_ROUTING_SPLIT_KERNELS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace eris::routing {

// Whether this machine has the vectors. Otherwise the functions below return the same, slowly.
bool SplitsByVector();

// Whether all keys lie in [first, last].
bool AllInside(std::span<const uint64_t> keys, uint64_t first, uint64_t last);

// range_of[i] is the range of keys[i] and counts[j] the number of keys in range j: [starts[j],
// starts[j + 1]), the last one without an end. REQUIRES: starts ascending, starts[0] == 0, at most
// 256 of them; as many counts; room for 7 more bytes in range_of, or nullptr: only the counts, in
// less time.
void CountByRange(std::span<const uint64_t> keys, std::span<const uint64_t> starts,
                  uint8_t* range_of, std::span<uint32_t> counts);

// Columns of equal length. `values` may be nullptr; without `positions` key i has first_position +
// i.
struct KeyColumns {
  const uint64_t* keys = nullptr;
  const uint64_t* values = nullptr;
  const uint32_t* positions = nullptr;
  uint32_t first_position = 0;
  size_t count = 0;
};
struct KeyColumnsOut {
  uint64_t* keys = nullptr;
  uint64_t* values = nullptr;  // written if `from` has values
  uint32_t* positions = nullptr;
  size_t count = 0;
};

// Copies the keys in [first, last] with their values and positions, in their order. REQUIRES:
// to.count is their number (see CountByRange); nothing after it is written.
void GatherRange(const KeyColumns& from, uint64_t first, uint64_t last, const KeyColumnsOut& to);

// Appends each key to the columns of its range, *to[range_of[i]], whose count grows by one. Ranges
// may share columns.
void ScatterByRange(const KeyColumns& from, const uint8_t* range_of, KeyColumnsOut* const* to);

}  // namespace eris::routing

#endif  // ERIS_ROUTING_SPLIT_KERNELS_H_
