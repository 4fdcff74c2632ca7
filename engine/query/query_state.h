// A running query: makes its steps one after the other, on its reader's thread, piece by piece.
// Steps that read an object are scans of their own, which AEUs answer; all see one snapshot. The
// rows between steps are in memory of the session's NumaNode. Not from the papers: query processing
// is ERIS's next step (6).
#ifndef ERIS_ENGINE_QUERY_QUERY_STATE_H_
#define ERIS_ENGINE_QUERY_QUERY_STATE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "engine/core/reader_state.h"
#include "engine/objects/object_entry.h"
#include "eris/query.h"
#include "memory/memory_manager.h"
#include "storage/query/query_run.h"
#include "storage/query/rows/query_memory.h"
#include "storage/query/rows/row_sink.h"

namespace eris::engine {

using QueryObjects = std::map<std::string, ObjectRef, std::less<>>;

class QueryState final : public ReaderState {
 public:
  // `objects`: those that the steps read. The result has the caller's reference. Errors:
  // ResourceExhausted (no memory).
  static absl::StatusOr<QueryState*> Create(Core& core, SessionNode& node,
                                            storage::QuerySteps steps, QueryObjects objects,
                                            std::shared_ptr<Snapshot> snapshot);

  const Schema& schema() const override { return schema_; }
  std::shared_ptr<Snapshot> snapshot() override { return snapshot_; }
  void ReturnBuffer(ReaderBuffer&) override {}  // rows stay until the query ends

 private:
  QueryState(Core& core, SessionNode& node, storage::QuerySteps steps, QueryObjects objects,
             std::shared_ptr<Snapshot> snapshot);
  ~QueryState() override;

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Work() override ABSL_LOCKS_EXCLUDED(mu_);
  void CancelParts() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // A piece of the current step. False: it waits for AEUs. Throws std::bad_alloc.
  absl::StatusOr<bool> WorkOnStep();
  absl::StatusOr<bool> WorkOnScan(const storage::ScanStep& step);
  absl::Status OpenScanOf(const storage::ScanStep& step);
  void AskScan();
  // Takes in a chunk that has come, or the end of the scan.
  absl::Status Take(const storage::ScanStep& step, NextResult arrived);
  absl::Status EndStep();
  void EndScan();
  void ShowAnswer();

  // Immutable after construction.
  const Schema schema_;
  const QueryObjects objects_;
  const std::shared_ptr<Snapshot> snapshot_;

  // The reader's thread alone.
  memory::MemoryManager manager_;
  std::unique_ptr<storage::QueryMemory> memory_;
  std::unique_ptr<storage::QueryRun> run_;
  std::unique_ptr<storage::RowSink> sink_;  // of a scan
  bool begun_ = false;                      // the current step
  bool asked_ = false;                      // the scan, for its next chunk

  std::unique_ptr<Scan> scan_ ABSL_GUARDED_BY(mu_);
  std::optional<NextResult> arrived_ ABSL_GUARDED_BY(mu_);  // what the scan has answered
  // The answer, an envelope each, once there is one.
  std::vector<ReaderBuffer> chunks_ ABSL_GUARDED_BY(mu_);
  std::vector<uint64_t> chunk_rows_ ABSL_GUARDED_BY(mu_);
  bool answered_ ABSL_GUARDED_BY(mu_) = false;
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_QUERY_STATE_H_
