// What the balancer knows about the load of one data object: per partition an access histogram over
// its key sub-ranges and the size. Plain data, any thread. Paper: ERIS 3.3.1, Figure 6.
#ifndef ERIS_BALANCER_LOAD_SAMPLE_H_
#define ERIS_BALANCER_LOAD_SAMPLE_H_

#include <cstdint>
#include <vector>

#include "eris/types.h"
#include "storage/key.h"

namespace eris::balancer {

// Ends where the next one of its partition begins, the last one with the partition.
struct SubRange {
  uint64_t begin = 0;
  // Execution time in nanoseconds that is expected again, or whatever is to be balanced: counts as
  // evenly spread.
  uint64_t weight = 0;
  friend bool operator==(const SubRange&, const SubRange&) = default;
};

struct PartitionSample {
  storage::Range range;  // never empty
  AeuId owner;
  // Strictly ascending, inside `range`. Nobody accessed what lies before the first one.
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

// Partitions in key order; each range begins where the one before it ends. Only the last may be
// without an end. Keys count by their first eight bytes. Of a heap table the ranges say nothing.
struct LoadSample {
  ObjectId object;
  std::vector<PartitionSample> partitions{};
  // How much time the weights have been collected over, older ones counting less; 0: not known.
  uint64_t window_ns = 0;
  // How many accesses of equal weight would scatter as much as those that the AEUs' loads are made
  // of; 0: not known, loads are exact.
  double accesses = 0;
  // Only one period has been seen: which load moves on shows from the second period on.
  bool one_period = false;
  // A sample of the rows that have been added ever, ascending by key, each once. It tells how rows
  // lie inside a partition, not how many there are.
  std::vector<RowKey> row_keys{};
  // No access outside [seen_first, seen_last] has ever been sampled.
  uint64_t seen_first = 0;
  uint64_t seen_last = ~uint64_t{0};
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
