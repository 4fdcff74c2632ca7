// The sampled load of one data object: per partition its size, and an access histogram over its key
// sub-ranges. Plain data, any thread. Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_LOAD_SAMPLE_H_
#define ERIS_BALANCER_LOAD_SAMPLE_H_

#include <cstdint>
#include <vector>

#include "eris/types.h"
#include "storage/key.h"

namespace eris::balancer {

// Ends at the beginning of the next one in its partition; the last one ends with the partition.
struct SubRange {
  uint64_t begin = 0;
  // Execution time in nanoseconds that is expected to last, or another quantity to balance; counts
  // as evenly spread.
  uint64_t weight = 0;
  friend bool operator==(const SubRange&, const SubRange&) = default;
};

struct PartitionSample {
  storage::Range range;  // never empty
  AeuId owner;
  // Strictly ascending, inside `range`. Keys before the first one were not accessed.
  std::vector<SubRange> sub_ranges{};
  // Load on keys that is not expected in the next period: a load in key order has moved on by the
  // time boundaries have moved. Not contained in the sub-ranges.
  uint64_t moving_weight = 0;
  uint64_t mean_execution_ns = 0;  // per key
  uint64_t size = 0;               // rows
};

// The key of an added row, and about how many added rows it represents.
struct RowKey {
  uint64_t key = 0;
  uint64_t rows = 0;
  friend bool operator==(const RowKey&, const RowKey&) = default;
};

// Partitions in key order; each range begins where the previous one ends. Only the last may have no
// end. Keys count by their first eight bytes. For a heap table the ranges have no meaning.
struct LoadSample {
  ObjectId object;
  std::vector<PartitionSample> partitions{};
  // The time over which the weights were collected, older ones counting less; 0: unknown.
  uint64_t window_ns = 0;
  // The number of accesses of equal weight with the same scatter as those behind the AEUs' loads;
  // 0: unknown, loads are exact.
  double accesses = 0;
  // Only one period has been observed: moving load is known from the second period on.
  bool one_period = false;
  // A sample of the rows that were ever added, ascending by key, each once. It shows how rows are
  // distributed inside a partition, not how many there are.
  std::vector<RowKey> row_keys{};
  // No access outside [seen_first, seen_last] has ever been sampled.
  uint64_t seen_first = 0;
  uint64_t seen_last = ~uint64_t{0};
};

// Boundaries as in the partition table: partition i owns [starts[i], starts[i + 1]) on AEU
// owners[i]; the last one goes up to the end of the last range.
struct Partitioning {
  std::vector<storage::Key> starts;
  std::vector<AeuId> owners;
  friend bool operator==(const Partitioning&, const Partitioning&) = default;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_LOAD_SAMPLE_H_
