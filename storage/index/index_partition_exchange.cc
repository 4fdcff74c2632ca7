// How ranges of an IndexPartition change hands.
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/index/index_partition.h"
#include "storage/range_ops.h"

namespace eris::storage {

absl::StatusOr<std::unique_ptr<Partition>> IndexPartition::SplitAt(const Key& key) {
  ERIS_RETURN_IF_ERROR(CheckWidth(key));
  if (key <= range_.lo || !range_.Contains(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot split ", Text(range_), " at ", key.head));
  }
  ERIS_RETURN_IF_ERROR(loan_.CanChange("split a partition"));
  TreeLoan::Settled settled(loan_, tree_);
  absl::StatusOr<std::unique_ptr<IndexPartition>> upper =
      Create(Range{key, range_.hi}, tree_.cache(), free_values_);
  if (!upper.ok()) return upper.status();
  if (!tree_.SplitAt(key.head, (*upper)->tree_)) return NoMemory("split a partition");
  settled.Keep();
  range_.hi = key;
  return std::unique_ptr<Partition>(*std::move(upper));
}

absl::Status IndexPartition::Absorb(Partition& other) {
  auto* index = dynamic_cast<IndexPartition*>(&other);
  if (index == nullptr) return absl::InvalidArgumentError("not a partition of an index");
  if (index == this) return absl::InvalidArgumentError("a partition cannot absorb itself");
  if (!Adjacent(index->range_, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Text(index->range_), " is not adjacent to ", Text(range_)));
  }
  if (&index->tree_.cache() != &tree_.cache()) {
    return absl::InvalidArgumentError("the partitions have different caches");
  }
  ERIS_RETURN_IF_ERROR(loan_.CanChange("absorb a partition"));
  ERIS_RETURN_IF_ERROR(index->loan_.CanChange("absorb a partition"));
  TreeLoan::Settled settled(loan_, tree_);
  TreeLoan::Settled other_settled(index->loan_, index->tree_);
  if (!tree_.Absorb(index->tree_)) return NoMemory("absorb a partition");
  settled.Keep();
  other_settled.Keep();
  loan_.Adopt(index->loan_, tree_.cache());
  Widen(range_, index->range_);
  MakeEmpty(index->range_);
  return absl::OkStatus();
}

absl::Status IndexPartition::PrepareExtract(const Range& leaving) {
  return CheckEnd(leaving, range_);
}

absl::Status IndexPartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                  ExchangeChunk& out) {
  return loan_.Lend(tree_, leaving, from, limit.rows, range_, out);
}

bool IndexPartition::Forget(const SnapshotView&, uint32_t rows_max) {
  return loan_.Forget(tree_, rows_max);
}

void IndexPartition::TakeBack() { loan_.TakeBack(range_); }

bool IndexPartition::Maintain(const SnapshotView&, uint32_t rows_max) {
  return loan_.FreeForgotten(tree_, rows_max);
}

absl::Status IndexPartition::Ingest(const ExchangeChunk& chunk) {
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk));
  return IngestRows(chunk.covers, chunk.keys.data(), chunk.values.data(), chunk.keys.size());
}

absl::Status IndexPartition::IngestRows(const Range& covers, const uint64_t* keys,
                                        const uint64_t* values, size_t count) {
  if (!Adjacent(covers, range_)) {
    return absl::InvalidArgumentError(
        absl::StrCat("chunk ", Text(covers), " is not adjacent to ", Text(range_)));
  }
  ERIS_RETURN_IF_ERROR(loan_.CanChange("ingest a chunk"));
  TreeLoan::Settled settled(loan_, tree_);
  PrefixTree rows(tree_.cache());
  if (!rows.Build(keys, values, count) || !tree_.Absorb(rows)) {
    return NoMemory(absl::StrCat("ingest ", count, " rows"));
  }
  settled.Keep();
  Widen(range_, covers);
  return absl::OkStatus();
}

absl::Status IndexPartition::Rehome(memory::LocalCache& cache) {
  ERIS_RETURN_IF_ERROR(CheckHome(tree_.cache(), cache));
  tree_.Rehome(cache);
  return absl::OkStatus();
}

}  // namespace eris::storage
