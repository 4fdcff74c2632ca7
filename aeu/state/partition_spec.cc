#include "aeu/state/partition_spec.h"

#include <utility>

#include "base/check.h"
#include "storage/hash/hash_partition.h"
#include "storage/index/bytes_partition.h"
#include "storage/index/index_partition.h"
#include "storage/index/two_part_partition.h"
#include "storage/index/versioned_partition.h"
#include "storage/table/table_partition.h"

namespace eris::aeu {
namespace {

using PartitionOr = absl::StatusOr<std::unique_ptr<storage::Partition>>;

PartitionOr WithVersions(absl::StatusOr<std::unique_ptr<storage::OrderedPartition>> rows,
                         memory::LocalCache& cache, storage::VersionedPartition::Form form) {
  if (!rows.ok()) return rows.status();
  return storage::VersionedPartition::Create(*std::move(rows), cache, form);
}

// Makes unrelated seeds of adjacent numbers (the finaliser of splitmix64).
uint64_t SeedOf(uint64_t seed, uint64_t number) {
  uint64_t mixed = seed + number * 0x9e3779b97f4a7c15;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
  return mixed ^ (mixed >> 31);
}

}  // namespace

PartitionSpec::PartitionSpec(const routing::InstallSegment& install)
    : kind(install.kind),
      value_type(install.value_type),
      two_parts(install.two_parts),
      seed(install.seed),
      layout(install.layout == nullptr ? nullptr : *install.layout) {}

PartitionOr MakePartition(const PartitionSpec& spec, const storage::Range& range,
                          memory::LocalCache& cache, const storage::SnapshotView& snapshots,
                          uint64_t number) {
  switch (spec.kind) {
    case ObjectKind::kIndex:
      if (IsByteString(spec.value_type)) {
        return WithVersions(storage::BytesPartition::Create(range, cache), cache,
                            {.byte_strings = true});
      }
      if (spec.two_parts) {
        return WithVersions(storage::TwoPartPartition::Create(range, cache), cache,
                            {.two_parts = true});
      }
      return WithVersions(storage::IndexPartition::Create(range, cache), cache, {});
    case ObjectKind::kHash:
      return storage::HashPartition::Create(range, cache, SeedOf(spec.seed, number));
    case ObjectKind::kTable:
    case ObjectKind::kHeapTable: {
      auto partition = storage::TablePartition::Create(range, cache, spec.layout);
      if (partition.ok()) {
        (*partition)->SetSnapshots(&snapshots);
      }
      return partition;
    }
  }
  ERIS_CHECK(false);  // the engine installs no other kind
  return absl::InternalError("");
}

}  // namespace eris::aeu
