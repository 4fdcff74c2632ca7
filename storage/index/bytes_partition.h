// A partition of an index of byte strings: one key range of u64 -> bytes. It wraps an index
// partition that holds a word per key (byte_value.h); longer strings are blocks of the same cache,
// so rows are in the memory of the AEU's NumaNode like the tree. Runs on the thread of the AEU that
// owns it. Paper: ERIS 3.1, 3.3.2.
#ifndef ERIS_STORAGE_INDEX_BYTES_PARTITION_H_
#define ERIS_STORAGE_INDEX_BYTES_PARTITION_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "memory/local_cache.h"
#include "storage/byte_value.h"
#include "storage/index/index_partition.h"
#include "storage/ordered_partition.h"

namespace eris::storage {

class ReplyRoom;

class BytesPartition final : public OrderedPartition {
 public:
  // As IndexPartition::Create.
  static absl::StatusOr<std::unique_ptr<BytesPartition>> Create(const Range& range,
                                                                memory::LocalCache& cache);

  const Range& range() const override { return rows_->range(); }
  uint64_t size() const override { return rows_->size(); }

  // values_in and expected are words whose records outlive the call. values_out get words whose
  // records are in the part's bytes_out: one piece of it per part and group of keys. A key whose
  // answer has no room there gets kNoRoom and changes nothing. There is no kAdd: byte strings are
  // not numbers.
  void Execute(const Batch& batch) override;
  // Copies strings to out.bytes, one piece for each run of rows; a row whose string has no room
  // there ends the chunk. Without out.bytes the values are 0. No filter on values.
  void Scan(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out) override;
  // REQUIRES: count_only.
  void Aggregate(ScanCursor& cursor, const ScanBudget& budget, RangeAggregate& out) override;

  // The records need not move: both sides have the same cache. (bytes_partition_exchange.cc)
  absl::StatusOr<std::unique_ptr<OrderedPartition>> SplitAt(const Key& key) override;
  absl::Status Absorb(OrderedPartition& other) override;
  absl::Status Lend(const Range& leaving, End from, const ChunkLimit& limit,
                    ExchangeChunk& out) override;
  bool Forget(const SnapshotView& snapshots, uint32_t rows_max) override {
    return rows_->Forget(snapshots, rows_max);
  }
  void TakeBack() override { rows_->TakeBack(); }
  absl::Status Ingest(const ExchangeChunk& chunk) override;
  absl::Status Rehome(memory::LocalCache& cache) override { return rows_->Rehome(cache); }
  bool BringHome(HomeWork& work) override;
  bool Maintain(const SnapshotView& snapshots, uint32_t rows_max) override {
    return rows_->Maintain(snapshots, rows_max);
  }

  void Abandon() override { rows_->Abandon(); }

  const PrefixTree& tree() const { return std::as_const(*rows_).tree(); }

 private:
  struct Group;

  explicit BytesPartition(std::unique_ptr<IndexPartition> rows) : rows_(std::move(rows)) {}

  memory::LocalCache& cache() { return rows_->tree().cache(); }

  void RunGroup(const Batch& batch, Group& group);
  // One run of a scan; false if its strings have no more room.
  bool ScanRun(ScanCursor& cursor, const ScanBudget& budget, ScanRows& out);
  void LookupGroup(Group& group);
  void UpsertGroup(Group& group);
  void EraseGroup(Group& group);
  void ConditionalGroup(Operation operation, Group& group);
  KeyState WriteOne(Operation operation, Group& group, uint32_t i, ReplyRoom& room);

  // A word to store for the string of `given`, with its own block if it is long. 0: no memory.
  uint64_t Keep(uint64_t given);
  // Replaces *stored by the string of `given`, in place if the old record has room. False: no
  // memory, nothing has changed.
  bool Replace(uint64_t* stored, uint64_t given);
  void Free(uint64_t stored);

  std::unique_ptr<IndexPartition> rows_;  // nullptr only during construction
};

}  // namespace eris::storage

#endif  // ERIS_STORAGE_INDEX_BYTES_PARTITION_H_
