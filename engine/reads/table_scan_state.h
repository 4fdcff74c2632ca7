// A scan of a table under way. One multicast asks every AEU that has ever had a part of the table
// (old rows stay where they were as ranges change hands); each works through its part by itself, in
// slices, and fills chunks of rows or adds up. Chunks circulate: reader -> part's AEU -> reader;
// they are the scan's whole memory, and parts without one pause. How many there are, and how large:
// TableChunkPlan.
//
// Of a scan into another object the AEUs send the chunks on to its owners; whoever answers a
// chunk's last row hands it to the scan, which counts its rows and gives it back. Nobody reads rows
// then: the scan's end is all there is.
//
// Reference counted: the reader's handle, its chunks, each part that is out, and each chunk whose
// rows are on their way to another object. AEUs only push to lists and rings, and notify. The
// snapshot is held until the last reference goes. Paper: ERIS 3.1, 3.2, contribution 2.
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
#include "engine/core/handover_stack.h"
#include "engine/core/reader_state.h"
#include "engine/core/table_chunk_pool.h"
#include "engine/objects/object_entry.h"
#include "engine/reads/table_resume.h"
#include "eris/engine.h"
#include "routing/table_scan_part.h"
#include "storage/table/table_plan.h"

namespace eris::engine {

class TableScanState final : public ReaderState<TableScan::NextResult> {
 public:
  struct Part;

  // Memory for rows.
  struct Chunk final : routing::Chunk {
    TableScanState* scan = nullptr;
    Chunk* next = nullptr;  // in a list of answered ones
    std::vector<storage::ResultColumn> columns;
    std::vector<ColumnView> column_views;
    // Shared, of scans into other objects: written by whoever sends its rows and by the AEUs that
    // answer them.
    std::atomic<uint32_t> owed{0};

    // Guarded by the scan's mu_.
    Part* part = nullptr;  // that it has been given to
    uint32_t resends = 0;  // of this filling
  };

  struct Part final : routing::TableScanPart {
    TableScanState* scan = nullptr;
    std::atomic<bool> ended{false};  // written by the AEU (release), read by the reader (acquire)

    // Guarded by the scan's mu_.
    bool out = false;    // its command is with the AEU
    uint32_t given = 0;  // chunks that have not come back
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

  const Schema& schema() const { return request_.plan->result(); }
  const std::shared_ptr<const storage::TablePlan>& plan() const { return request_.plan; }
  const std::shared_ptr<Snapshot>& snapshot() const { return request_.snapshot; }

  // Next is, of a scan into another object, its end or the error it ended with.

  // The first reason stays. Any thread.
  void Cancel(absl::Status reason);
  // Of a scan into another object, after its end.
  uint64_t rows_written();

  // A chunk that the reader is done with. Any thread.
  void ReturnChunk(Chunk* chunk);
  // The reader asks for nothing more: the chunks go back to their pool now if no AEU and no reader
  // has one, not only with the last reference.
  void ReleaseChunks();

 private:
  TableScanState(Core& core, Request request);
  ~TableScanState();

  // The functions of commands; on AEUs.
  static void PartAnswered(routing::Reply* reply, uint32_t ended) noexcept;
  static void BeginChunk(routing::Chunk* chunk, uint32_t answers) noexcept;
  static void ChunkAnswered(routing::Reply* reply, uint32_t answers) noexcept;

  // Before the command is sent.
  absl::Status MakeParts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status MakeChunks() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MakeTarget();
  void SendAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  NextResult HandOut(Chunk& chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndPart(Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Of aggregates. Adds what one part has added up to what has come before, as parts end: what
  // several have stands there only until the reader comes to it; behind the last one, puts the
  // groups in order. Both are the reader's alone, without the lock: nobody who wants it waits for
  // more than a move. False: there is nothing to do.
  bool Work() override ABSL_LOCKS_EXCLUDED(mu_);
  // When all parts have been added and the groups stand in order.
  NextResult NextGroups() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // A chunk whose rows all have answers from the target.
  void TakeAnswered(Chunk& chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void SendAgain(Chunk& chunk, const std::vector<uint32_t>& moved)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Where an empty chunk goes: to its own part, another one, or the spare ones.
  void PassOn(Chunk& chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Give(Chunk& chunk, Part& part) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void GiveSpare() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status NoRoom() const;
  void Fail(absl::Status reason) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const Request request_;
  const std::shared_ptr<TableChunkPool> pool_;

  // Immutable once the command is out.
  std::vector<TableChunkPool::Memory> memory_;  // each of some chunks
  size_t slab_bytes_ = 0;
  std::unique_ptr<Chunk[]> chunks_;
  uint32_t chunk_count_ = 0;
  std::unique_ptr<Part[]> parts_;
  std::vector<routing::TableScanPart*> part_list_;  // by owner
  std::vector<AeuId> owners_;                       // theirs
  routing::TableScanTarget target_;
  std::vector<AeuId> target_holders_;

  // Guarded by mu_, which no AEU takes.
  std::vector<Chunk*> spare_ ABSL_GUARDED_BY(mu_);
  std::vector<TablePartState> handed_out_ ABSL_GUARDED_BY(mu_);  // by part
  size_t next_part_ ABSL_GUARDED_BY(mu_) = 0;                    // whose chunks come next
  size_t give_next_ ABSL_GUARDED_BY(mu_) = 0;                    // where GiveSpare looks first
  uint32_t parts_left_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t chunks_away_ ABSL_GUARDED_BY(mu_) = 0;  // given to parts, and not taken back
  uint32_t with_reader_ ABSL_GUARDED_BY(mu_) = 0;
  Chunk* answered_list_ ABSL_GUARDED_BY(mu_) = nullptr;
  uint64_t rows_left_ ABSL_GUARDED_BY(mu_);
  uint64_t rows_written_ ABSL_GUARDED_BY(mu_) = 0;
  // Of aggregates: what parts that have ended have added up, and what of it has been put together.
  std::vector<std::unique_ptr<storage::TableRun>> ended_runs_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<storage::TableRun> merged_ ABSL_GUARDED_BY(mu_);
  bool groups_counted_ ABSL_GUARDED_BY(mu_) = false;
  uint64_t groups_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t next_group_ ABSL_GUARDED_BY(mu_) = 0;
  bool finished_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status error_ ABSL_GUARDED_BY(mu_);

  // Shared: written by AEUs, taken by the reader.
  HandoverStack<Chunk> answered_chunks_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_TABLE_SCAN_STATE_H_
