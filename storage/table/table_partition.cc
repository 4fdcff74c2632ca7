#include "storage/table/table_partition.h"

#include <new>
#include <utility>

#include "base/check.h"
#include "storage/range_ops.h"
#include "storage/table/table_body.h"

namespace eris::storage {

absl::StatusOr<std::unique_ptr<TablePartition>> TablePartition::Create(
    const Range& range, memory::LocalCache& cache, std::shared_ptr<const TableLayout> layout) {
  if (absl::Status status = CheckWidth(range); !status.ok()) return status;
  std::optional<KeyIndex> keys;
  if (layout->clustered()) {
    absl::StatusOr<KeyIndex> created = KeyIndex::Create(cache, layout->two_words());
    if (!created.ok()) return created.status();
    keys = *std::move(created);
  }
  std::unique_ptr<Body> body(new (std::nothrow)
                                 Body(range, cache, std::move(layout), std::move(keys)));
  if (body == nullptr) return NoMemory("create a partition");
  std::unique_ptr<TablePartition> partition(new (std::nothrow) TablePartition(std::move(body)));
  if (partition == nullptr) return NoMemory("create a partition");
  return partition;
}

TablePartition::TablePartition(std::unique_ptr<Body> body) : body_(std::move(body)) {}
TablePartition::~TablePartition() = default;

const TableLayout& TablePartition::layout() const { return body_->layout(); }
const Range& TablePartition::range() const { return body_->range(); }
uint64_t TablePartition::size() const { return body_->size(); }
void TablePartition::SetSnapshots(const SnapshotView* snapshots) { body_->SetSnapshots(snapshots); }

void TablePartition::Execute(const Batch& batch) { body_->Execute(batch); }

bool TablePartition::Append(const RowBatch& rows, uint64_t first, uint32_t count,
                            const SnapshotView& snapshots) {
  return body_->Append(rows, first, count, snapshots);
}

bool TablePartition::FindSegment(uint64_t snapshot, uint64_t& number, SegmentMask& mask,
                                 SegmentView& view) const {
  return body_->FindSegment(snapshot, number, mask, view);
}
bool TablePartition::Lost(uint64_t snapshot) const { return body_->Lost(snapshot); }
uint64_t TablePartition::segment_end() const { return body_->segment_end(); }

bool TablePartition::FreeVersions(const SnapshotView& snapshots, uint32_t records_max) {
  return body_->FreeVersions(snapshots, records_max);
}
bool TablePartition::Maintain(const SnapshotView& snapshots, uint32_t rows_max) {
  return body_->Maintain(snapshots, rows_max);
}
uint64_t TablePartition::version_bytes() const { return body_->version_bytes(); }

absl::Status TablePartition::Lend(const Range& leaving, End from, const ChunkLimit& limit,
                                  ExchangeChunk& out) {
  return body_->Lend(leaving, from, limit, out);
}
void TablePartition::SetDeath(uint64_t epoch) { body_->SetDeath(epoch); }

bool TablePartition::Forget(const SnapshotView& snapshots, uint32_t) {
  body_->Forget(snapshots);
  return false;
}
void TablePartition::TakeBack() { body_->TakeBack(); }
bool TablePartition::CanGo(const SnapshotView& snapshots) const { return body_->CanGo(snapshots); }

absl::Status TablePartition::Ingest(const ExchangeChunk& chunk) { return body_->Ingest(chunk); }
absl::Status TablePartition::CutSegments(uint64_t rows_max, const SnapshotView& snapshots,
                                         SegmentsOut& out) {
  return body_->CutSegments(rows_max, snapshots, out);
}
void TablePartition::SegmentsAreGone() { body_->SegmentsAreGone(); }
void TablePartition::TakeSegmentsBack(SegmentsOut& in) {
  body_->SegmentsAreGone();  // the room for them is left
  const absl::Status status = body_->TakeSegments(in);
  ERIS_CHECK(status.ok());
}
absl::Status TablePartition::TakeSegments(SegmentsOut& in) { return body_->TakeSegments(in); }
bool TablePartition::BringHome(HomeWork& work) { return body_->BringHome(work); }

void TablePartition::Abandon() { body_->Abandon(); }

}  // namespace eris::storage
