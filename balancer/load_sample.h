// What the balancer knows about the load of one data object in one sample period: per partition an
// access histogram over its key sub-ranges, the execution time and the size. Plain data, any
// thread. Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_LOAD_SAMPLE_H_
#define ERIS_BALANCER_LOAD_SAMPLE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "eris/types.h"
#include "storage/key.h"

namespace eris::balancer {

struct PartitionSample {
  storage::Range range;  // never empty
  AeuId owner;
  // weights[i]: accesses (or whatever is to be balanced) in sub-range i. Sub-range i is
  // [lo + i * width, lo + (i + 1) * width), cut at the end of `range`; what lies behind the last
  // sub-range was not accessed. Without a width they are equal pieces of `range`, key k in piece
  // (k - lo) * weights.size() / (width of range).
  std::vector<uint64_t> weights;
  std::optional<uint64_t> sub_range_width;
  uint64_t mean_execution_ns = 0;  // per key
  uint64_t size = 0;               // rows
};

// Partitions in key order; each range begins where the one before it ends. Only the last may be
// without an end. Keys count by their first eight bytes.
struct LoadSample {
  ObjectId object;
  std::vector<PartitionSample> partitions;
};

// Boundaries as in the partition table: partition i owns [starts[i], starts[i + 1]) on AEU
// owners[i], the last one up to the end of the last range.
struct Partitioning {
  std::vector<storage::Key> starts;
  std::vector<AeuId> owners;
  friend bool operator==(const Partitioning&, const Partitioning&) = default;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_LOAD_SAMPLE_H_
