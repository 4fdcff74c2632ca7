// A running scan of a table. One multicast goes to every AEU that has ever had a part of the table,
// because old rows stay in place when ranges move. Each AEU processes its part by itself, in
// slices, and fills blocks of rows or aggregates. Blocks circulate (circulation.h): reader ->
// part's AEU -> reader. TableChunkPlan determines their number and size.
//
// For a scan into another object, the AEUs send the blocks on to its owners. The AEU that answers a
// block's last row hands it to the scan, which counts its rows and reuses the block. There is no
// reader of rows; the only result is the end of the scan (table_scan_write.cc).
//
// The snapshot is held until the last reference is released. Paper: ERIS 3.1, 3.2, contribution 2.
#ifndef ERIS_ENGINE_READS_TABLE_SCAN_STATE_H_
#define ERIS_ENGINE_READS_TABLE_SCAN_STATE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "engine/core/reader_state.h"
#include "engine/core/table_chunk_pool.h"
#include "engine/objects/object_entry.h"
#include "engine/reads/circulation.h"
#include "engine/reads/resume_token.h"
#include "eris/query.h"
#include "routing/table_scan_part.h"
#include "storage/table/plan/table_plan.h"

namespace eris::engine {

class TableScanState final : public ReaderState {
 public:
  struct Part;
  struct Block final : CirculatingBlock<routing::TableChunk, Block, Part> {
    std::vector<storage::ResultColumn> columns;
  };
  struct Part final : CirculatingPart<routing::TableScanPart> {
    TableScanState* scan = nullptr;
    std::atomic<bool> ended{false};  // written by the AEU (release), read by the reader (acquire)
  };

  struct Request {
    ObjectRef table;
    std::shared_ptr<const storage::TablePlan> plan;
    std::shared_ptr<Snapshot> snapshot;  // taken before the scan
    std::optional<TableShare> share;
    uint64_t limit = 0;
    uint64_t fingerprint = 0;
    std::optional<TableResume> resume;
    ObjectRef target;  // for a scan into another object
  };

  // Begins a scan and sends it. The result has the caller's reference. May block for the control
  // Port's time limit. Errors: InvalidArgument (a resume token that does not fit),
  // ResourceExhausted (no chunk free), Unavailable.
  static absl::StatusOr<TableScanState*> Create(Core& core, SessionNode& node, Request request);

  const Schema& schema() const override { return request_.plan->result(); }
  std::shared_ptr<Snapshot> snapshot() override { return request_.snapshot; }
  uint32_t keepable() const override { return keepable_; }
  void ReturnBuffer(ReaderBuffer& buffer) override;
  // Returns the blocks to their pool now, if no AEU and no reader has one, instead of with the last
  // reference.
  void ReleaseBuffers() override;

  // For a scan into another object, after Next has returned its end or its error.
  uint64_t rows_written();

 private:
  TableScanState(Core& core, SessionNode& node, Request request);
  ~TableScanState();

  // The completion function of the command; called by AEUs.
  static void PartAnswered(routing::Reply* reply, uint32_t ended) noexcept;

  // Before the command is sent.
  absl::Status MakeParts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Leaves of owners_ the AEU of the share that is asked for; which segments it scans.
  routing::SegmentShare TakeShare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeResume(const TableResume& resume) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeBlocks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeTarget();
  void SendAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CancelParts() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { circulation_.CancelAll(); }
  // Processes the parts that are out: returns a chunk for the reader, or sets `moved` if there was
  // something to process.
  std::optional<NextResult> LookAtParts(bool& moved) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  NextResult HandOut(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status KeptAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // For aggregates. Merges the results of parts as they end; when all have been merged, sorts the
  // groups. The reader's thread does both without the lock, so that a thread that needs the lock
  // waits only for a move. False: there is nothing to do.
  bool Work() override ABSL_LOCKS_EXCLUDED(mu_);
  // When all parts have been merged and the groups are sorted.
  NextResult NextGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Processes a block whose rows all have answers from the target.
  void TakeAnswered(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendAgain(Block& block, const std::vector<uint32_t>& moved)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const Request request_;
  const std::shared_ptr<TableChunkPool> pool_;

  // Immutable once the command is out.
  std::vector<TableChunkPool::Memory> memory_;  // each has several blocks
  size_t slab_bytes_ = 0;
  std::vector<AeuId> owners_;  // of parts
  routing::TableScanTarget target_;
  std::vector<AeuId> target_holders_;

  // Guarded by mu_, which no AEU takes.
  Circulation<Block, Part> circulation_ ABSL_GUARDED_BY(mu_);
  uint32_t keepable_ = 0;  // immutable once the first command is out
  std::vector<TablePartState> handed_out_ ABSL_GUARDED_BY(mu_);  // by part
  size_t next_part_ ABSL_GUARDED_BY(mu_) = 0;                    // the part whose blocks come next
  uint32_t parts_left_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t with_reader_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t rows_left_ ABSL_GUARDED_BY(mu_);
  uint64_t rows_written_ ABSL_GUARDED_BY(mu_) = 0;
  // For aggregates: the results of ended parts, and the merged result so far.
  std::vector<std::unique_ptr<storage::TableRun>> ended_runs_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<storage::TableRun> merged_ ABSL_GUARDED_BY(mu_);
  bool groups_counted_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t groups_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_group_ ABSL_GUARDED_BY(mu_) = 0;

  // Shared: written by AEUs, taken by the reader.
  AnsweredBlocks<Block> answered_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_TABLE_SCAN_STATE_H_
