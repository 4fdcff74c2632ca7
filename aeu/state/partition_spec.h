// The properties of a data object that an AEU needs to make a partition of it: when one is
// installed, and when a range arrives that touches none of its own.
#ifndef ERIS_AEU_PARTITION_SPEC_H_
#define ERIS_AEU_PARTITION_SPEC_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "eris/types.h"
#include "memory/local_cache.h"
#include "routing/data_command.h"
#include "storage/key.h"
#include "storage/partition.h"
#include "storage/snapshot_view.h"
#include "storage/table/rows/table_layout.h"

namespace eris::aeu {

struct PartitionSpec {
  PartitionSpec() = default;
  explicit PartitionSpec(const routing::InstallSegment& install);

  bool is_table() const { return layout != nullptr; }

  ObjectKind kind = ObjectKind::kIndex;
  ColumnType value_type = ColumnType::kUint64;
  bool two_parts = false;
  uint64_t seed = 0;                                   // kHash
  std::shared_ptr<const storage::TableLayout> layout;  // for tables, else nullptr
};

// An empty partition of `range`, which may be empty, on `cache`. `snapshots` is the AEU's view of
// its turn and outlives the partition. `number`: unique among the partitions with one seed, so that
// no two hash alike. Errors: ResourceExhausted.
absl::StatusOr<std::unique_ptr<storage::Partition>> MakePartition(
    const PartitionSpec& spec, const storage::Range& range, memory::LocalCache& cache,
    const storage::SnapshotView& snapshots, uint64_t number);

}  // namespace eris::aeu

#endif  // ERIS_AEU_PARTITION_SPEC_H_
