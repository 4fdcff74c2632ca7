// Moving ranges of an IndexPartition.
#include <utility>

#include "base/status_macros.h"
#include "storage/index/index_partition.h"
#include "storage/range_ops.h"

namespace eris::storage {

absl::StatusOr<std::unique_ptr<OrderedPartition>> IndexPartition::SplitAt(const Key& key) {
  absl::StatusOr<std::unique_ptr<IndexPartition>> upper =
      Create(Range{key, key}, rows_.cache(), free_values_);
  if (!upper.ok()) return upper.status();
  ERIS_RETURN_IF_ERROR(rows_.SplitAt(key, (*upper)->rows_));
  return std::unique_ptr<OrderedPartition>(*std::move(upper));
}

absl::Status IndexPartition::Absorb(OrderedPartition& other) {
  auto* index = dynamic_cast<IndexPartition*>(&other);
  if (index == nullptr) return absl::InvalidArgumentError("not a partition of an index");
  return rows_.Absorb(index->rows_);
}

absl::Status IndexPartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                  ExchangeChunk& out) {
  return rows_.Lend(leaving, from, limit.rows, out);
}

absl::Status IndexPartition::Ingest(const ExchangeChunk& chunk) {
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk));
  return IngestRows(chunk.covers, chunk.keys.data(), chunk.values.data(), chunk.keys.size());
}

absl::Status IndexPartition::IngestRows(const Range& covers, const uint64_t* keys,
                                        const uint64_t* values, size_t count) {
  return rows_.Ingest(covers, count,
                      [&](PrefixTree& rows) { return rows.Build(keys, values, count); });
}

}  // namespace eris::storage
