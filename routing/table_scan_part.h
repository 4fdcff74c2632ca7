// The part of a table scan that one AEU answers (part.h). Chunks have fixed memory in Arrow's
// layout; the last delivered one may be empty. Aggregates move no chunk: the AEU aggregates, and
// returns the result. A scan into another object has no reader of its rows: the AEU sends a filled
// chunk to the owners of that object, and the chunk itself is the reply. A scan of a query leaves
// its rows at the AEU. Paper: ERIS 3.1 (scans, scan sharing), contribution 2 (materialising
// intermediate results).
#ifndef ERIS_ROUTING_TABLE_SCAN_PART_H_
#define ERIS_ROUTING_TABLE_SCAN_PART_H_

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "eris/batch.h"
#include "eris/types.h"
#include "routing/data_command.h"
#include "routing/part.h"
#include "routing/ranges/object_route.h"
#include "storage/query/query_part.h"
#include "storage/table/groups/group_limits.h"
#include "storage/table/plan/table_plan.h"
#include "storage/table/query/result_rows.h"
#include "storage/table/query/table_run.h"

namespace eris::routing {

// A row of an AEU's part of a table, in the order of passes: the partition's number at its AEU, the
// segment's number in it, the row. Numbers are never reused, and a row stays in place as long as a
// snapshot shows it, whichever AEU owns its key now. So a place is valid for as long as the scan's
// snapshot is held.
struct TablePlace {
  static constexpr uint64_t kBehindPartition = std::numeric_limits<uint64_t>::max();

  uint64_t partition = 0;
  uint64_t segment = 0;
  uint64_t row = 0;
  friend auto operator<=>(const TablePlace&, const TablePlace&) = default;
};

// The position of a scan in one AEU's part. It begins at the current position of the AEU's pass,
// continues to the end, and then from the beginning to where it began.
struct TableCursor {
  TablePlace at;     // the next row
  TablePlace began;  // at the beginning of a block
  bool wrapped = false;
  bool chosen = false;  // both are set; else the AEU chooses where to begin
  uint64_t skip = 0;    // rows of the answer from `at` on that the reader already has

  bool AtEnd() const { return wrapped && at >= began; }
  friend bool operator==(const TableCursor&, const TableCursor&) = default;
};

// Which segments of an AEU a scan reads: every count-th.
struct SegmentShare {
  uint32_t index = 0;
  uint32_t count = 1;

  bool Has(uint64_t segment) const { return segment % count == index; }
  static constexpr SegmentShare None() { return {.index = 1, .count = 1}; }
};

// Rows of a scan. Base class of the engine's chunks.
class TableChunk : public Reply {
 public:
  storage::ResultRows rows_out;
  uint32_t capacity = 0;  // of rows_out, unless fewer are wanted
  // The positions of its part before and after the rows; written by the AEU that fills it.
  TableCursor before;
  TableCursor behind;
  std::span<ColumnView> views{};  // room for one per column

  // Empties it for the next rows. REQUIRES: no thread reads them.
  void Clear() {
    rows_out.rows = 0;
    rows_out.capacity = capacity;
    for (storage::ResultColumn& column : rows_out.columns) {
      column.any_null = false;
      if (column.offsets != nullptr) column.offsets[0] = 0;
    }
  }
  // Presents the filled rows as the rows of a write, in `views` and Reply::rows.
  void ShowRows() {
    for (size_t i = 0; i < views.size(); ++i) {
      const storage::ResultColumn& column = rows_out.columns[i];
      static_assert(std::endian::native == std::endian::little);  // bits of words are bits of bytes
      views[i] = {column.values,
                  column.any_null ? reinterpret_cast<const uint8_t*>(column.validity) : nullptr,
                  column.offsets};
    }
    batch_ = {rows_out.rows, {views.data(), views.size()}};
    rows = &batch_;
  }

 protected:
  ~TableChunk() = default;

 private:
  RowBatch batch_;
};

// Called before a chunk's rows are sent to another object: `answers` answers will follow, through
// complete_chunk. May not block.
using TableChunkFunction = void (*)(TableChunk* chunk, uint32_t answers) noexcept;

// The target of a scan into another object. Owned by the scan.
struct TableScanTarget {
  CommandType type = CommandType::kPutRows;  // or kAppendRows, kUpsert
  const ObjectRoute* route = nullptr;
  const storage::TableLayout* layout = nullptr;  // for tables
  uint64_t table_version = 0;                    // for a heap table, like the next one
  std::span<const AeuId> holders{};              // ascending
  TableChunkFunction begin_chunk = nullptr;
  CompletionFunction complete_chunk = nullptr;
};

class TableScanPart : public Part<TableChunk> {
 public:
  // Immutable while commands are under way.
  std::shared_ptr<const storage::TablePlan> plan;
  TableCursor from;  // where it continues; not chosen: a new scan
  SegmentShare share;
  bool counts_rows = false;  // reads none: only counts those of segments that may have some
  const TableScanTarget* target = nullptr;  // nullptr: chunks go to the reader
  // limits and counts the memory of its run; nullptr: none
  storage::RunMemory* memory = nullptr;
  // For a scan of a query: its rows, or groups, go to the AEU's part of that; nullptr: to the
  // reader.
  storage::QueryPart* query_part = nullptr;
  storage::RowSet rows_set = 0;
  std::span<const storage::ScanFilter> key_filters{};
  storage::GroupLimits limits{};

  // For counts_rows: written by the AEU while the part is out.
  uint64_t rows_met = 0;

  // The AEU's final result, after its last Deliver. Not read before the call of the command's
  // completion function, which publishes it. `status`: of a run that failed (kAnswered). `run`: for
  // aggregates, the partial result.
  void Finish(PartOutcome outcome, absl::Status status, std::unique_ptr<storage::TableRun> run) {
    outcome_ = outcome;
    status_ = std::move(status);
    run_ = std::move(run);
  }
  // For the reader, after the completion.
  PartOutcome outcome() const { return outcome_; }
  const absl::Status& status() const { return status_; }
  std::unique_ptr<storage::TableRun> TakeRun() { return std::move(run_); }

 protected:
  ~TableScanPart() = default;

 private:
  // Written only by the AEU, while the part is out.
  PartOutcome outcome_ = PartOutcome::kRunning;
  absl::Status status_;
  std::unique_ptr<storage::TableRun> run_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_TABLE_SCAN_PART_H_
