#include "engine/query/query_state.h"

#include <utility>

#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/reads/open.h"
#include "engine/reads/read_chunk.h"
#include "memory/memory_system.h"
#include "storage/query/rows/chunk_rows.h"

namespace eris::engine {
namespace {

// The memory of queries belongs to no object of the catalogue.
constexpr ObjectId kQueryMemory{0};

}  // namespace

absl::StatusOr<QueryState*> QueryState::Create(Core& core, SessionNode& node,
                                               storage::QuerySteps steps, QueryObjects objects,
                                               std::shared_ptr<Snapshot> snapshot) {
  auto* state =
      new QueryState(core, node, std::move(steps), std::move(objects), std::move(snapshot));
  if (state->run_ != nullptr) return state;
  state->Unref();
  return base::NoMemory("no memory for a query");
}

QueryState::QueryState(Core& core, SessionNode& node, storage::QuerySteps steps,
                       QueryObjects objects, std::shared_ptr<Snapshot> snapshot)
    : ReaderState(core, node, "query"),
      schema_(steps.steps.back().schema),
      objects_(std::move(objects)),
      snapshot_(std::move(snapshot)),
      manager_(kQueryMemory, core.memory->pool(node.numa_node),
               core.memory->spill(node.numa_node)) {
  core.queries.Add(this);
  memory::LocalCache* const cache = manager_.NewCache();
  if (cache == nullptr) return;
  memory_ = std::make_unique<storage::QueryMemory>(*cache, core.run_memory.get());
  run_ = std::make_unique<storage::QueryRun>(std::move(steps), *memory_, core.run_memory.get());
}

QueryState::~QueryState() { core_.queries.Remove(this); }

std::optional<QueryState::NextResult> QueryState::TryNext() {
  if (auto ended = Ended()) return ended;
  if (!answered_) return std::nullopt;
  if (next_ == chunks_.size()) {
    finished_ = true;
    return NextResult(nullptr);
  }
  Ref();  // the chunk's reference
  Held held(*this);
  auto chunk =
      std::make_shared<ReadChunk>(*this, chunks_[next_], chunk_rows_[next_], ResumePoint());
  held.Keep();
  ++next_;
  return NextResult(std::move(chunk));
}

bool QueryState::Work() {
  {
    base::MutexLock lock(&mu_);
    if (!error_.ok() || answered_) return false;
  }
  absl::StatusOr<bool> worked = false;
  try {
    worked = WorkOnStep();
  } catch (const std::bad_alloc&) {
    worked = base::NoMemory("no memory for a query");
  }
  if (worked.ok()) return *worked;
  base::MutexLock lock(&mu_);
  Fail(worked.status());
  return true;
}

absl::StatusOr<bool> QueryState::WorkOnStep() {
  if (run_->done()) {
    ShowAnswer();
    return true;
  }
  if (!begun_) {
    ERIS_RETURN_IF_ERROR(run_->Begin());
    begun_ = true;
    return true;
  }
  if (const storage::ScanStep* const scan = run_->scan(); scan != nullptr) return WorkOnScan(*scan);
  ERIS_ASSIGN_OR_RETURN(const bool more, run_->Advance());
  if (!more) ERIS_RETURN_IF_ERROR(EndStep());
  return true;
}

absl::StatusOr<bool> QueryState::WorkOnScan(const storage::ScanStep& step) {
  if (sink_ == nullptr) {
    ERIS_RETURN_IF_ERROR(OpenScanOf(step));
    AskScan();
    return true;
  }
  std::optional<NextResult> arrived;
  {
    base::MutexLock lock(&mu_);
    arrived = std::exchange(arrived_, std::nullopt);
  }
  if (!arrived) return false;
  ERIS_RETURN_IF_ERROR(Take(step, *std::move(arrived)));
  return true;
}

absl::Status QueryState::OpenScanOf(const storage::ScanStep& step) {
  Query query = step.query;
  query.snapshot = snapshot_;
  ERIS_ASSIGN_OR_RETURN(std::unique_ptr<Scan> scan,
                        OpenScan(core_, node_, objects_.find(step.object)->second, query));
  sink_ = std::make_unique<storage::RowSink>(*memory_, run_->rows(), "scan");
  base::MutexLock lock(&mu_);
  scan_ = std::move(scan);
  return error_;  // it may have been cancelled meanwhile
}

void QueryState::AskScan() {
  Scan* scan = nullptr;
  {
    base::MutexLock lock(&mu_);
    scan = scan_.get();
  }
  Ref();
  scan->NextAsync([this](NextResult next) {
    {
      base::MutexLock lock(&mu_);
      arrived_ = std::move(next);
    }
    Notify();
    Unref();
  });
}

absl::Status QueryState::Take(const storage::ScanStep& step, NextResult arrived) {
  const bool groups = !step.query.aggregates.empty() || !step.query.group_by.empty();
  if (absl::IsOutOfRange(arrived.status()) && groups) {
    // Perhaps there are more groups than a scan may have: they are made here.
    const ObjectEntry& table = *objects_.find(step.object)->second;
    EndScan();
    return run_->GroupHere(table.schema);
  }
  ERIS_RETURN_IF_ERROR(arrived.status());
  if (*arrived == nullptr) {
    ERIS_RETURN_IF_ERROR(sink_->Flush());
    EndScan();
    return EndStep();
  }
  const Chunk& chunk = **arrived;
  ERIS_RETURN_IF_ERROR(storage::AddChunk(chunk, *sink_));
  AskScan();
  return absl::OkStatus();
}

absl::Status QueryState::EndStep() {
  ERIS_RETURN_IF_ERROR(run_->EndStep());
  // A scan whose rows are grouped here goes on as another kind of step.
  begun_ = !run_->done() && run_->begun();
  return absl::OkStatus();
}

void QueryState::EndScan() {
  sink_.reset();
  std::unique_ptr<Scan> scan;
  base::MutexLock lock(&mu_);
  scan = std::move(scan_);
}

void QueryState::ShowAnswer() {
  const storage::EnvelopeList& answer = run_->answer();
  base::MutexLock lock(&mu_);
  chunks_.resize(answer.size());
  for (uint32_t e = 0; e < answer.size(); ++e) {
    chunk_rows_.push_back(answer[e].rows());
    for (size_t c = 0; c < schema_.columns.size(); ++c) {
      const storage::SegmentColumn& column = answer[e].column(static_cast<uint32_t>(c));
      chunks_[e].shown.push_back({.values = column.values,
                                  .validity = reinterpret_cast<const uint8_t*>(column.validity),
                                  .offsets = column.offsets});
    }
  }
  answered_ = true;
}

void QueryState::CancelParts() {
  if (scan_ != nullptr) scan_->Cancel();
}

}  // namespace eris::engine
