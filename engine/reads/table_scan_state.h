// A scan of a table under way. One multicast asks every AEU that has ever had a part of the table
// (old rows stay where they were as ranges change hands); each works through its part by itself, in
// slices, and fills blocks of rows or adds up. Blocks circulate (circulation.h): reader -> part's
// AEU -> reader. How many there are, and how large: TableChunkPlan.
//
// For a scan into another object, the AEUs send the blocks on to its owners. The AEU that answers a
// block's last row hands it to the scan, which counts its rows and gives it back. Nobody reads rows
// then: the scan's end is all there is (table_scan_write.cc).
//
// The snapshot is held until the last reference goes. Paper: ERIS 3.1, 3.2, contribution 2.
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
#include "storage/table/query/table_plan.h"

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
    std::shared_ptr<Snapshot> snapshot;  // begun before this
    uint64_t limit = 0;
    uint64_t fingerprint = 0;
    std::optional<TableResume> resume;
    ObjectRef target;  // of a scan into another object
  };

  // Takes a scan on and sends it out. The caller's reference is in the result. May block for the
  // control Port's bound. Errors: InvalidArgument (a resume token that does not fit),
  // ResourceExhausted (no chunk free), Unavailable.
  static absl::StatusOr<TableScanState*> Create(Core& core, Request request);

  const Schema& schema() const override { return request_.plan->result(); }
  std::shared_ptr<Snapshot> snapshot() override { return request_.snapshot; }
  void ReturnBuffer(ReaderBuffer& buffer) override;
  // The blocks go back to their pool now if no AEU and no reader has one, not only with the last
  // reference.
  void ReleaseBuffers() override;

  // Of a scan into another object, for which Next is its end or the error it ended with: after it.
  uint64_t rows_written();

 private:
  TableScanState(Core& core, Request request);
  ~TableScanState();

  // The completion function of the command; on AEUs.
  static void PartAnswered(routing::Reply* reply, uint32_t ended) noexcept;

  // Before the command is sent.
  absl::Status MakeParts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status TakeResume(const TableResume& resume) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeBlocks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeTarget();
  void SendAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void CancelParts() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { circulation_.CancelAll(); }
  // What the parts that are out have to say: a chunk for the reader, or that something has been
  // taken note of (`moved`).
  std::optional<NextResult> LookAtParts(bool& moved) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  NextResult HandOut(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status KeptAll() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of aggregates. Adds what one part has added up to what has come before, as parts end: what
  // several have stands there only until the reader comes to it; behind the last one, puts the
  // groups in order. Both are the reader's alone, without the lock: nobody who wants it waits for
  // more than a move. False: there is nothing to do.
  bool Work() override ABSL_LOCKS_EXCLUDED(mu_);
  // When all parts have been added and the groups stand in order.
  NextResult NextGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A block whose rows all have answers from the target.
  void TakeAnswered(Block& block) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendAgain(Block& block, const std::vector<uint32_t>& moved)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const Request request_;
  const std::shared_ptr<TableChunkPool> pool_;

  // Immutable once the command is out.
  std::vector<TableChunkPool::Memory> memory_;  // each of some blocks
  size_t slab_bytes_ = 0;
  std::vector<AeuId> owners_;  // of the parts
  routing::TableScanTarget target_;
  std::vector<AeuId> target_holders_;

  // Guarded by mu_, which no AEU takes.
  Circulation<Block, Part> circulation_ ABSL_GUARDED_BY(mu_);
  std::vector<TablePartState> handed_out_ ABSL_GUARDED_BY(mu_);  // by part
  size_t next_part_ ABSL_GUARDED_BY(mu_) = 0;                    // whose blocks come next
  uint32_t parts_left_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t with_reader_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t rows_left_ ABSL_GUARDED_BY(mu_);
  uint64_t rows_written_ ABSL_GUARDED_BY(mu_) = 0;
  // Of aggregates: what parts that have ended have added up, and what of it has been put together.
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
