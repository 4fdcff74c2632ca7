// The table scans that one AEU has under way. Scans that stand at the same row of the same object
// ride one pass: each block is run for all of them while it is in the caches. A new scan attaches
// where a pass of its object is and wraps around at the end. A scan without an empty chunk pauses,
// costs nothing and falls out of its pass; it rides along again when another pass comes to where it
// stands. Advanced in slices, so that point commands never wait for more than one. Owned by the
// AEU; never blocks. Paper: ERIS 3.1 (scan sharing), 4.2.2.
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
                  Acknowledgements& acknowledgements, LoadCounters& counters)
      : self_(self),
        port_(port),
        snapshots_(snapshots),
        acknowledgements_(acknowledgements),
        counters_(counters) {}

  void Begin(const routing::CommandHeader* command, ObjectSlot* slot) override;
  void EndAll(const ObjectSlot* slot) override;
  // Pass after pass. Scans whose snapshot is not held any more end.
  bool Advance(uint64_t deadline_ns) override;
  bool Runnable() const override;
  size_t running() const override { return scans_.size(); }

 private:
  // A segment as one snapshot shows it, or the next one that may have rows at it. Good for a slice;
  // but for the mask, of which what has been made stays.
  struct View {
    bool found = false;
    uint64_t number = 0;
    storage::SegmentView segment;
    storage::SegmentMask mask;
  };
  struct RunningScan {
    ObjectSlot* slot = nullptr;  // nullptr: the object is gone
    routing::TableScanPart* part = nullptr;
    uint64_t snapshot = 0;
    routing::CompletionFunction complete = nullptr;
    bool aggregate = false;
    std::unique_ptr<storage::TableRun> run;
    routing::TableCursor cursor;
    routing::TableChunk* chunk = nullptr;  // being filled
    std::optional<ScanIntoSender> sender;  // of scans into other objects
    // Decided; the scan goes once nothing of it is left to send.
    routing::PartOutcome end = routing::PartOutcome::kRunning;
    absl::Status status;

    // Of the segment at hand.
    View own;
    View* view = nullptr;  // its own, or that of another scan of the group with its snapshot
    bool wanted = false;   // some row of it may pass the filter
  };
  using Group = std::vector<RunningScan*>;

  static bool CanRun(const RunningScan& scan);
  // Where a new scan of `slot` begins: at the pass that is under way.
  routing::TableCursor Attach(const ObjectSlot& slot) const;
  // Runs the scan's pass, with all that ride along, until the deadline or until nobody of them can
  // go on.
  void RunPass(RunningScan& first, uint64_t deadline_ns);
  void RunSegments(RunningScan& first, uint64_t deadline_ns);
  // The scans that can run and stand where `first` does.
  void CollectGroup(const RunningScan& first);
  // One segment of group_, or what lies between segments. False: the deadline has passed.
  bool RunSegment(uint64_t deadline_ns);
  // Finds the next segment for each snapshot of group_; the lowest number is the one to run.
  // nullopt: none may have rows behind `at`.
  std::optional<uint64_t> FindSegments(const storage::TablePartition& partition,
                                       const routing::TablePlace& at);
  // Begins the segment for each scan of group_ that has rows in it. Its rows, as far as any scan
  // wants them.
  uint64_t BeginSegment(uint64_t number);
  // Its blocks from `at` on, for all of group_. False: the deadline has passed.
  bool RunBlocks(routing::TablePlace at, uint64_t rows_end, uint64_t deadline_ns);
  // One block, from `at` on, for one scan. False: it has paused in it or come to its end.
  bool RunBlock(RunningScan& scan, const routing::TablePlace& at);
  // Puts the group at `at`; those that have been everywhere end.
  void MoveTo(const routing::TablePlace& at);
  void Wrap();
  static bool InGroup(const RunningScan& scan, const routing::TablePlace& at) {
    return scan.end == routing::PartOutcome::kRunning && scan.cursor.at == at && CanRun(scan);
  }

  // A chunk that has just been taken, or emptied.
  void BeginChunk(RunningScan& scan);
  // A full chunk: by SkipChunk or HandOver.
  void GiveAway(RunningScan& scan);
  // A chunk of rows that the reader has already.
  void SkipChunk(RunningScan& scan);
  // A full chunk: to the reader, or to the owners of the target.
  void HandOver(RunningScan& scan);
  // The scan's chunk, to the owners of its target. Errors: as ScanIntoSender::Send, and
  // ResourceExhausted; it has not been sent then.
  absl::Status SendOn(RunningScan& scan);
  void End(RunningScan& scan, routing::PartOutcome outcome, absl::Status status = {});
  // Acknowledges the end. REQUIRES: nothing is left to send.
  void Finish(RunningScan& scan);
  // Finishes what has ended and removes it. True if there was any.
  bool Reap();

  const AeuId self_;
  routing::Port& port_;
  routing::SnapshotRegistry& snapshots_;
  Acknowledgements& acknowledgements_;
  LoadCounters& counters_;
  std::vector<std::unique_ptr<RunningScan>> scans_;
  size_t next_ = 0;  // whose turn it is
  // Scratch.
  Group group_;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_TABLE_SCAN_RUNNER_H_
