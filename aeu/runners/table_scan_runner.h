// The table scans that one AEU is running. Scans at the same row of the same object share a pass:
// each block is run for all of them while it is in the caches. A new scan joins at the current
// position of a pass over its object, and wraps around at the end. A scan without an empty chunk
// pauses, costs nothing and leaves its pass; it joins again when another pass reaches its position.
// Advanced in slices, so that point commands never wait longer than a slice. Owned by the AEU;
// never blocks. Paper: ERIS 3.1 (scan sharing), 4.2.2.
#ifndef ERIS_AEU_TABLE_SCAN_RUNNER_H_
#define ERIS_AEU_TABLE_SCAN_RUNNER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "aeu/runners/runner.h"
#include "aeu/runners/scan_into_sender.h"
#include "aeu/state/acknowledgements.h"
#include "aeu/state/load_counters.h"
#include "aeu/state/object_slot.h"
#include "aeu/state/query_cache.h"
#include "eris/types.h"
#include "routing/data_command.h"
#include "routing/port.h"
#include "routing/snapshot_registry.h"
#include "routing/table_scan_part.h"
#include "storage/table/query/table_run.h"
#include "storage/table/rows/segment_mask.h"
#include "storage/table/rows/segment_view.h"
#include "storage/table/table_partition.h"

namespace eris::aeu {

class TableScanRunner final : public Runner {
 public:
  // `port` is the AEU's own: scans into other objects send through it.
  TableScanRunner(AeuId self, routing::Port& port, routing::SnapshotRegistry& snapshots,
                  QueryCache& query_cache, Acknowledgements& acknowledgements,
                  LoadCounters& counters)
      : self_(self),
        port_(port),
        snapshots_(snapshots),
        query_cache_(query_cache),
        acknowledgements_(acknowledgements),
        counters_(counters) {}

  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot* slot) override;
  // Pass after pass. Scans whose snapshot is no longer held end.
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override;
  size_t running() const override { return scans_.size(); }

 private:
  // A segment as one snapshot shows it, or the next one that may have rows for it. Valid for one
  // slice, except the mask, which keeps its blocks.
  struct View {
    bool found = false;
    uint64_t number = 0;
    storage::SegmentView segment;
    storage::SegmentMask mask;
  };
  struct RunningScan {
    ObjectSlot* slot = nullptr;  // nullptr: the object has been dropped
    routing::TableScanPart* part = nullptr;
    uint64_t snapshot = 0;
    routing::CompletionFunction complete = nullptr;
    bool aggregate = false;
    bool rode = false;  // it was in a group of the slice
    std::unique_ptr<storage::TableRun> run;
    routing::TableCursor cursor;
    routing::TableChunk* chunk = nullptr;  // the one being filled
    std::optional<ScanIntoSender> sender;  // for scans into other objects
    storage::RowSink* sink = nullptr;      // for scans of queries
    // The outcome is decided; the scan is removed once all its rows have been sent.
    routing::PartOutcome end = routing::PartOutcome::kRunning;
    absl::Status status;

    // For the current segment.
    View own;
    View* view = nullptr;  // its own, or that of a scan in the group with the same snapshot
    bool wanted = false;   // some row of it may pass the filter

    // For a scan that reads no row. Others of its group may need slices for the segment: it counts
    // once, where the segment begins.
    void CountRows() {
      if (wanted && cursor.at.row == 0) part->rows_met += view->segment.rows;
      wanted = false;
    }
  };
  using Group = std::vector<RunningScan*>;

  static bool CanRun(const RunningScan& scan);
  static bool QueryStops(const RunningScan& scan) {
    const storage::QueryPart* const query = scan.part->query_part;
    return query != nullptr && query->all().stop.load(std::memory_order_relaxed);
  }
  // Prepares a new scan, which is running then, or has ended.
  void Start(RunningScan& scan);
  // Where a new scan of `slot` begins: at the current pass.
  routing::TableCursor Attach(const ObjectSlot& slot) const;
  // Runs the pass of the scan, with all scans that share it, until the deadline or until none of
  // them can continue.
  void RunPass(RunningScan& first, uint64_t deadline_ns);
  void RunSegments(RunningScan& first, uint64_t deadline_ns);
  // A slice has ended: counts it for each scan of a query that was in it.
  void CountSlice(uint64_t ns);
  // The scans at the position of `first` that can run.
  void CollectGroup(const RunningScan& first);
  // Runs one segment for group_, or moves to the next segment. False: the deadline has passed.
  bool RunSegment(uint64_t deadline_ns);
  // Finds the next segment for each snapshot of group_; the one with the lowest number is run.
  // nullopt: none may have rows after `at`.
  std::optional<uint64_t> FindSegments(const storage::TablePartition& partition,
                                       const routing::TablePlace& at);
  // Begins the segment for each scan of group_ that has rows in it. Its rows, as far as any scan
  // wants them.
  uint64_t BeginSegment(uint64_t number);
  // Its blocks from `at` on, for all of group_. False: the deadline has passed.
  bool RunBlocks(routing::TablePlace at, uint64_t rows_end, uint64_t deadline_ns);
  // One block, from `at` on, for one scan. False: it has paused in it or come to its end.
  bool RunBlock(RunningScan& scan, const routing::TablePlace& at);
  // Moves the group to `at`; scans that have completed their round end.
  void MoveTo(const routing::TablePlace& at);
  void Wrap();
  static bool InGroup(const RunningScan& scan, const routing::TablePlace& at) {
    return scan.end == routing::PartOutcome::kRunning && scan.cursor.at == at && CanRun(scan);
  }

  // The same for a scan of a query, whose rows stay here.
  bool RunIntoSink(RunningScan& scan, uint32_t row);
  // False: no memory.
  bool PrepareQuery(RunningScan& scan);
  // Only rows that may have partners in joins of the query. False: no memory.
  static bool FilterByKeys(RunningScan& scan);
  // Prepares a chunk that has just been taken, or emptied.
  void BeginChunk(RunningScan& scan);
  // Passes on a full chunk, by SkipChunk or HandOver.
  void GiveAway(RunningScan& scan);
  // Drops a chunk of rows that the reader already has.
  void SkipChunk(RunningScan& scan);
  // Passes a full chunk to the reader, or to the owners of the target.
  void HandOver(RunningScan& scan);
  // Sends the scan's chunk to the owners of its target. Errors: as ScanIntoSender::Send, and
  // ResourceExhausted; then it has not been sent.
  absl::Status SendOn(RunningScan& scan);
  void End(RunningScan& scan, routing::PartOutcome outcome, absl::Status status = {});
  // Acknowledges the end. REQUIRES: nothing must still be sent.
  void Finish(RunningScan& scan);
  // Finishes and removes scans that have ended. True if there were any.
  bool Reap();

  const AeuId self_;
  routing::Port& port_;
  routing::SnapshotRegistry& snapshots_;
  QueryCache& query_cache_;
  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  std::vector<std::unique_ptr<RunningScan>> scans_;
  size_t next_ = 0;  // index of the next one to advance
  // Blocks between two reads of the clock: fewer if they took long, also in the slice before.
  static constexpr uint32_t kRunsPerClock = 4;
  uint32_t runs_per_clock_ = kRunsPerClock;
  uint64_t step_ns_ = 0;  // what was between the last two
  // Scratch.
  Group group_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TABLE_SCAN_RUNNER_H_
