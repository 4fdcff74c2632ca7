// The part of a table scan that one AEU answers (part.h). Chunks are of fixed memory in Arrow's
// layout; one that is delivered may be empty, at the end. Aggregates move no chunk: the AEU adds
// up, and hands back what it has. A scan into another object has no reader of its rows: the AEU
// sends a filled chunk to the owners of that object, and the chunk itself is the reply. Paper:
// ERIS 3.1 (scans, scan sharing), contribution 2 (materialising intermediate results).
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
#include "storage/table/query/result_rows.h"
#include "storage/table/query/table_plan.h"
#include "storage/table/query/table_run.h"

namespace eris::routing {

// A row of an AEU's part of a table, in the order in which passes walk it: the partition's number
// at its AEU, the segment's number in it, the row. Numbers are not used twice, and a row stays
// where it is as long as a snapshot shows it, whoever owns its key by then: a place is good for as
// long as the scan's snapshot is held.
struct TablePlace {
  static constexpr uint64_t kBehindPartition = std::numeric_limits<uint64_t>::max();

  uint64_t partition = 0;
  uint64_t segment = 0;
  uint64_t row = 0;
  friend auto operator<=>(const TablePlace&, const TablePlace&) = default;
};

// Where a scan stands in one AEU's part. It begins wherever the AEU's pass is, goes on to the end,
// then from the beginning to where it began.
struct TableCursor {
  TablePlace at;     // the next row
  TablePlace began;  // at the beginning of a block
  bool wrapped = false;
  bool chosen = false;  // the two are set; else the AEU chooses where to begin
  uint64_t skip = 0;    // rows of the answer from `at` on that the reader has already

  bool AtEnd() const { return wrapped && at >= began; }
  friend bool operator==(const TableCursor&, const TableCursor&) = default;
};

// Rows of a scan. Base of what the engine makes of one.
class TableChunk : public Reply {
 public:
  storage::ResultRows rows_out;
  uint32_t capacity = 0;  // of rows_out, where no fewer are wanted
  // Where its part stood before the rows and stands behind them; written by the AEU that fills it.
  TableCursor before;
  TableCursor behind;
  std::span<ColumnView> views{};  // room for one per column

  // Empties it, for the next rows. Not while anybody reads them.
  void Clear() {
    rows_out.rows = 0;
    rows_out.capacity = capacity;
    for (storage::ResultColumn& column : rows_out.columns) {
      column.any_null = false;
      if (column.offsets != nullptr) column.offsets[0] = 0;
    }
  }
  // Shows what has been filled as the rows of a write, in `views` and Reply::rows.
  void ShowRows() {
    for (size_t i = 0; i < views.size(); ++i) {
      const storage::ResultColumn& column = rows_out.columns[i];
      static_assert(std::endian::native ==
                    std::endian::little);  // bits of words are those of bytes
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

// Before a chunk's rows are sent to another object: `answers` of them will be given, through
// complete_chunk. May not block.
using TableChunkFunction = void (*)(TableChunk* chunk, uint32_t answers) noexcept;

// Where the rows of a scan are written to. Owned by the scan.
struct TableScanTarget {
  CommandType type = CommandType::kPutRows;  // or kAppendRows, kUpsert
  const ObjectRoute* route = nullptr;
  const storage::TableLayout* layout = nullptr;  // of tables
  uint64_t table_version = 0;                    // of a heap table, as the next
  std::span<const AeuId> holders{};              // ascending
  TableChunkFunction begin_chunk = nullptr;
  CompletionFunction complete_chunk = nullptr;
};

class TableScanPart : public Part<TableChunk> {
 public:
  // Immutable while commands are under way.
  std::shared_ptr<const storage::TablePlan> plan;
  TableCursor from;                         // where it goes on; not chosen: a new scan
  const TableScanTarget* target = nullptr;  // nullptr: chunks go to the reader
  storage::RunMemory* memory = nullptr;     // that its run counts what it takes in; nullptr: none

  // The AEU's last word, after its last Deliver; not read before the command's completion function
  // has been called, which publishes it. `status`: of a run that failed (kAnswered). `run`: of
  // aggregates, what has been added up.
  void Finish(PartOutcome outcome, absl::Status status, std::unique_ptr<storage::TableRun> run) {
    outcome_ = outcome;
    status_ = std::move(status);
    run_ = std::move(run);
  }
  // The reader, after the completion.
  PartOutcome outcome() const { return outcome_; }
  const absl::Status& status() const { return status_; }
  std::unique_ptr<storage::TableRun> TakeRun() { return std::move(run_); }

 protected:
  ~TableScanPart() = default;

 private:
  // Written by the AEU while the part is out, by nobody otherwise.
  PartOutcome outcome_ = PartOutcome::kRunning;
  absl::Status status_;
  std::unique_ptr<storage::TableRun> run_;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_TABLE_SCAN_PART_H_
