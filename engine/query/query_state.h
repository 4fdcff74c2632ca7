// A running query: has its AEUs work on one stage after the other, as QueryFlow says, on its
// reader's thread. Rows stay with the AEUs, in the memory of their NumaNodes; the reader gets them
// where they are. All reads see one snapshot. Not from the papers: query processing is ERIS's next
// step (6).
#ifndef ERIS_ENGINE_QUERY_QUERY_STATE_H_
#define ERIS_ENGINE_QUERY_QUERY_STATE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/core/core.h"
#include "engine/core/reader_state.h"
#include "engine/objects/object_entry.h"
#include "engine/query/query_end.h"
#include "engine/query/query_figures.h"
#include "engine/query/query_flow.h"
#include "eris/query.h"
#include "routing/stage_part.h"
#include "routing/table_scan_part.h"
#include "storage/query/query_part.h"

namespace eris::engine {

using QueryObjects = std::map<std::string, ObjectRef, std::less<>>;

class QueryState final : public ReaderState {
 public:
  // `objects`: those that the steps read. `lines`: empty, or those of the steps
  // (explain_steps.h), for an analysis: then the answer is their text with figures. The result has
  // the caller's reference. Errors: ResourceExhausted (no memory). Throws std::bad_alloc.
  static absl::StatusOr<QueryState*> Create(Core& core, SessionNode& node,
                                            storage::QuerySteps steps, QueryObjects objects,
                                            std::shared_ptr<Snapshot> snapshot,
                                            std::vector<std::string> lines);

  const Schema& schema() const override { return schema_; }
  std::shared_ptr<Snapshot> snapshot() override { return snapshot_; }
  uint32_t keepable() const override { return ~uint32_t{0}; }
  void ReturnBuffer(ReaderBuffer&) override {}  // rows stay until the query ends

 private:
  struct StagePart final : routing::StagePart {
    QueryState* query = nullptr;
  };
  struct ScanPart final : routing::TableScanPart {
    QueryState* query = nullptr;
  };

  QueryState(Core& core, SessionNode& node, storage::QuerySteps steps, QueryObjects objects,
             std::shared_ptr<Snapshot> snapshot, std::unique_ptr<QueryEnd> end,
             std::vector<std::string> lines);
  ~QueryState() override;

  std::optional<NextResult> TryNext() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Work() override ABSL_LOCKS_EXCLUDED(mu_);
  void CancelParts() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The next thing to do. False: it waits for AEUs. Throws std::bad_alloc.
  absl::StatusOr<bool> WorkOn();
  // How the work that AEUs have ended was.
  absl::Status EndOfWork();
  absl::Status Begin(const NoWork&);
  void AnswerRows() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AnswerAnalysis(const QueryFigures& figures) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status Begin(const ScanWork& work);
  absl::Status Begin(const ReadWork& work);
  absl::Status Begin(const StageWork& work);
  // Sends the command to `targets`; Answered is called for each. `refuse`: ends the part of an AEU
  // that has no room.
  template <class Refuse>
  absl::Status Send(const routing::CommandHeader& header, std::span<const std::byte> segment,
                    const std::vector<AeuId>& targets, Refuse refuse);
  template <class Part>
  static void Answered(routing::Reply* reply, uint32_t answered) noexcept;
  void Answer(uint32_t answered) noexcept;

  // The rows of an index.
  void AskScan();
  absl::StatusOr<bool> TakeRead();

  // Immutable after construction.
  const Schema schema_;
  const QueryObjects objects_;
  const std::shared_ptr<Snapshot> snapshot_;
  const uint64_t number_;  // a query that came later has a larger one
  const AeuId home_;
  const TaskScheduling scheduling_;
  const std::vector<std::string> lines_;  // of an analysis

  // The reader's thread alone; AEUs read what is under way.
  std::unique_ptr<QueryEnd> end_;
  storage::QueryParts& parts_;
  QueryFlow flow_;
  std::optional<QueryFigures> figures_;  // of an analysis
  QueryFlow::Work work_;                 // the last one, which is done or under way
  std::deque<StagePart> stage_parts_;
  std::vector<routing::StagePart*> stage_list_;
  std::deque<ScanPart> scan_parts_;
  std::vector<routing::TableScanPart*> scan_list_;
  std::vector<AeuId> targets_;
  storage::RowSink* sink_ = nullptr;  // of a scan of an index

  // Shared: counted down by AEUs.
  std::atomic<uint32_t> left_{0};

  std::unique_ptr<Scan> scan_ ABSL_GUARDED_BY(mu_);         // of an index
  std::optional<NextResult> arrived_ ABSL_GUARDED_BY(mu_);  // what it has answered
  // The answer, an envelope each, or the text of an analysis, once there is one.
  std::vector<ReaderBuffer> chunks_ ABSL_GUARDED_BY(mu_);
  std::array<uint32_t, 2> text_offsets_ ABSL_GUARDED_BY(mu_){};
  std::vector<uint64_t> chunk_rows_ ABSL_GUARDED_BY(mu_);
  bool answered_ ABSL_GUARDED_BY(mu_) = false;
  size_t next_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_QUERY_QUERY_STATE_H_
