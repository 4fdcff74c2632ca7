// Basic types used everywhere: ids, key ranges, kinds of data objects.
#ifndef ERIS_TYPES_H_
#define ERIS_TYPES_H_

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eris/schema.h"

namespace eris {

// An integer that cannot be mixed up with another kind of id.
template <class Tag>
struct StrongId {
  uint32_t value = 0;
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <class H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.value);
  }
};

// AEU: one pinned execution unit, the sole owner of its partitions. 0 .. AEUs-1.
using AeuId = StrongId<struct AeuIdTag>;
// One socket's (or memory device's) memory. Never called "node" alone: see TreeNode.
using NumaNodeId = StrongId<struct NumaNodeIdTag>;
// A data object within one engine. Never reused during the life of an engine.
using ObjectId = StrongId<struct ObjectIdTag>;

// Keys of a half-open range [lo, hi). Without hi the range goes to the end of the key space, so key
// 2^64-1 belongs to a range like any other. Empty when hi <= lo.
//
// For two-part keys [(lo, lo_second), (hi, hi_second)), in the order of pairs: with both seconds 0,
// every key whose first part is lo, and none whose first part is hi. For one-part keys the seconds
// are 0.
struct KeyRange {
  uint64_t lo = 0;
  std::optional<uint64_t> hi{};
  uint64_t lo_second = 0;
  uint64_t hi_second = 0;  // 0 without hi

  // REQUIRES: one-part keys.
  bool Contains(uint64_t key) const { return key >= lo && (!hi || key < *hi); }
  bool Inverted() const { return hi && (*hi < lo || (*hi == lo && hi_second < lo_second)); }
  bool Empty() const { return Inverted() || (hi == lo && hi_second == lo_second); }
  friend bool operator==(const KeyRange&, const KeyRange&) = default;
};

// Which end of its range a scan begins at.
enum class ScanDirection : uint8_t {
  kForward = 0,   // ascending keys
  kBackward = 1,  // descending keys
};

// Values from `lo` to `last`, both included. Empty when last < lo.
struct ValueRange {
  uint64_t lo = 0;
  uint64_t last = ~uint64_t{0};

  bool Inverted() const { return last < lo; }
  // REQUIRES: not inverted.
  bool Contains(uint64_t value) const { return value - lo <= last - lo; }
  friend bool operator==(const ValueRange&, const ValueRange&) = default;
};

// The aggregates of a range's rows. Without a row (count 0) the other fields have no meaning; their
// initial values are neutral in Add.
struct RangeAggregate {
  uint64_t count = 0;
  // Aggregates of the values. The sum has 128 bits: sum_high * 2^64 + sum_low.
  uint64_t min = ~uint64_t{0};
  uint64_t max = 0;
  uint64_t sum_low = 0;
  uint64_t sum_high = 0;
  uint64_t first_key = ~uint64_t{0};
  uint64_t last_key = 0;
  // For two-part keys: the second parts of first_key and last_key. Otherwise the initial values.
  uint64_t first_second = ~uint64_t{0};
  uint64_t last_second = 0;

  void AddToSum(uint64_t low, uint64_t high) {
    sum_low += low;
    sum_high += high + (sum_low < low);
  }
  // Adds the rows of another range.
  void Add(const RangeAggregate& other) {
    count += other.count;
    min = other.min < min ? other.min : min;
    max = other.max > max ? other.max : max;
    AddToSum(other.sum_low, other.sum_high);
    if (std::pair(other.first_key, other.first_second) < std::pair(first_key, first_second)) {
      first_key = other.first_key;
      first_second = other.first_second;
    }
    if (std::pair(other.last_key, other.last_second) > std::pair(last_key, last_second)) {
      last_key = other.last_key;
      last_second = other.last_second;
    }
  }
  // sum(): the sum as a double, less precise. mean(): the mean of the values. REQUIRES: count above
  // 0.
  double sum() const {
    return static_cast<double>(sum_high) * 0x1p64 + static_cast<double>(sum_low);
  }
  double mean() const { return sum() / static_cast<double>(count); }
  friend bool operator==(const RangeAggregate&, const RangeAggregate&) = default;
};

enum class ObjectKind : uint8_t {
  kIndex = 1,  // ordered index, u64 -> values of its ColumnType, partitioned by key range
  // u64 -> u64 without order inside a partition: faster lookups, no scans. Each partition hashes
  // with its own random seed.
  kHash = 2,
  kTable = 3,      // clustered table: rows of typed columns under a unique key (table.h)
  kHeapTable = 4,  // heap table: rows without a key
};

// Limits of every engine. A request that exceeds one gets InvalidArgument, and the message names
// the limit.
inline constexpr uint32_t kObjectNameBytesMax = 255;
inline constexpr uint32_t kObjectsMax = 1u << 16;

// A data object as the catalogue shows it.
struct ObjectInfo {
  std::string name;
  ObjectId id{};
  ObjectKind kind = ObjectKind::kIndex;
  uint64_t keys = 0;          // as of the AEUs' last turns; not counting a chunk in transit
  uint64_t memory_bytes = 0;  // allocated to it, over all NumaNodes
  // Current partition boundaries: partition i owns [starts[i], starts[i+1]), on AEU owners[i].
  std::vector<uint64_t> partition_starts{};
  std::vector<AeuId> partition_owners{};
  Schema schema{};  // the bounds are encoded: key_encoding.h
  // The objects that lie beside it now, by name (CreateOptions::beside).
  std::vector<std::string> beside{};
};

}  // namespace eris

#endif  // ERIS_TYPES_H_
