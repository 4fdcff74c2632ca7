#include "engine/query/query_state.h"

#include <span>
#include <utility>

#include "aeu/state/clock.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/query/analysis_text.h"
#include "engine/query/scanned_table.h"
#include "engine/reads/ended_part.h"
#include "engine/reads/open.h"
#include "engine/reads/read_chunk.h"
#include "engine/reads/scanned_aeus.h"
#include "routing/data_command.h"
#include "routing/part.h"
#include "storage/query/rows/chunk_rows.h"
#include "storage/query/stage_tasks.h"

namespace eris::engine {

using routing::CommandType;
using routing::PartOutcome;

namespace {

// An analysis tells the time of each step.
QueryFlowLimits LimitsOf(const Core& core, bool analysis) {
  QueryFlowLimits limits = core.query_limits;
  limits.follows = limits.follows && !analysis;
  return limits;
}

// An analysis answers one row: its text.
Schema AnalysisSchema() { return {.columns = {{.name = "analysis", .type = ColumnType::kString}}}; }

}  // namespace

absl::StatusOr<QueryState*> QueryState::Create(Core& core, SessionNode& node,
                                               storage::QuerySteps steps, QueryObjects objects,
                                               std::shared_ptr<Snapshot> snapshot,
                                               std::vector<std::string> lines) {
  auto end = QueryEnd::Create(core, node, QueryFlow::SetsOf(steps));
  if (end == nullptr) return base::NoMemory("no memory for a query");
  return new QueryState(core, node, std::move(steps), std::move(objects), std::move(snapshot),
                        std::move(end), std::move(lines));
}

QueryState::QueryState(Core& core, SessionNode& node, storage::QuerySteps steps,
                       QueryObjects objects, std::shared_ptr<Snapshot> snapshot,
                       std::unique_ptr<QueryEnd> end, std::vector<std::string> lines)
    : ReaderState(core, node, "query"),
      schema_(lines.empty() ? steps.steps.back().schema : AnalysisSchema()),
      objects_(std::move(objects)),
      snapshot_(std::move(snapshot)),
      // relaxed: only a number.
      number_(core.queries_begun.fetch_add(1, std::memory_order_relaxed)),
      home_{static_cast<uint32_t>(number_ % core.aeu_numa_nodes.size())},
      scheduling_(core.tasks->scheduling()),
      lines_(std::move(lines)),
      end_(std::move(end)),
      parts_(end_->parts()),
      flow_(std::move(steps), parts_, LimitsOf(core, !lines_.empty())) {
  if (!lines_.empty()) figures_.emplace(parts_, lines_.size());
  for (uint32_t aeu = 0; aeu < parts_.aeus(); ++aeu) {
    StagePart& part = stage_parts_.emplace_back();
    part.owner = AeuId{aeu};
    part.part = parts_.parts[aeu].get();
    part.query = this;
  }
  core.queries.Add(this);
}

QueryState::~QueryState() {
  core_.queries.Remove(this);
  QueryEnd::Begin(std::move(end_));
}

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
  // acquire: pairs with Answer; then the parts' results are here.
  if (left_.load(std::memory_order_acquire) > 0) return false;
  absl::StatusOr<bool> worked = base::OrNoMemory("no memory for a query", [&] { return WorkOn(); });
  if (worked.ok()) return *worked;
  base::MutexLock lock(&mu_);
  Fail(worked.status());
  return true;
}

absl::StatusOr<bool> QueryState::WorkOn() {
  if (sink_ != nullptr) return TakeRead();
  ERIS_RETURN_IF_ERROR(EndOfWork());
  if (figures_) figures_->End(aeu::NowNs());
  const auto describe = [&](const std::string& name) {
    return DescribeScanned(*objects_.find(name)->second, parts_);
  };
  ERIS_ASSIGN_OR_RETURN(work_, flow_.Next(describe));
  if (figures_) figures_->Begin(flow_, work_, aeu::NowNs());
  ERIS_RETURN_IF_ERROR(std::visit([&](const auto& work) { return Begin(work); }, work_));
  return true;
}

absl::Status QueryState::EndOfWork() {
  absl::Status cancelled;
  const auto look = [&](absl::Status status) -> absl::Status {
    if (absl::IsCancelled(status)) {  // perhaps another part has failed
      cancelled = std::move(status);
      return absl::OkStatus();
    }
    return status;
  };
  if (const auto* scan = std::get_if<ScanWork>(&work_)) {
    const ObjectEntry& table = *objects_.find(scan->object)->second;
    for (const routing::TableScanPart* part : scan_list_) {
      ERIS_RETURN_IF_ERROR(look(part->outcome() == PartOutcome::kAnswered
                                    ? part->status()
                                    : StatusOf(part->outcome(), core_, table, "query",
                                               snapshot_->epoch(), snapshot_.get())));
    }
  } else if (std::holds_alternative<StageWork>(work_)) {
    for (const routing::StagePart* part : stage_list_) ERIS_RETURN_IF_ERROR(look(part->status()));
  }
  return cancelled;
}

absl::Status QueryState::Begin(const ScanWork& work) {
  ObjectEntry& table = *objects_.find(work.object)->second;
  // Before the members are read.
  table.step_gate().Pass(snapshot_->epoch());
  targets_ = ScannedAeus(table);
  scan_parts_.clear();
  scan_list_.clear();
  for (const AeuId aeu : targets_) {
    ScanPart& part = scan_parts_.emplace_back();
    part.owner = aeu;
    part.plan = work.plan;
    part.memory = core_.run_memory.get();
    part.query_part = parts_.parts[aeu.value].get();
    part.rows_set = work.set;
    part.key_filters = work.filters;
    part.limits = storage::kNoGroupLimits;
    part.query = this;
    scan_list_.push_back(&part);
  }
  const routing::TableScanSegment segment{scan_list_.data(), scan_list_.size()};
  const routing::CommandHeader header{.type = CommandType::kTableScan,
                                      .slot = table.route.slot(),
                                      .object = table.route.object(),
                                      .table_version = table.route.Pin()->version(),
                                      .snapshot = snapshot_->epoch(),
                                      .complete = &QueryState::Answered<ScanPart>,
                                      .count = 1};
  return Send(header, std::as_bytes(std::span(&segment, 1)), targets_, [&](AeuId aeu) {
    routing::TableScanPart* const part = routing::PartOf(scan_list_, aeu);
    part->Finish(PartOutcome::kRefused, absl::OkStatus(), nullptr);
  });
}

absl::Status QueryState::Begin(const StageWork& work) {
  parts_.stage_tasks.reset();
  if (work.everywhere) {
    parts_.stage_tasks =
        storage::StageTasks::Create(parts_, work.stage, *core_.tasks, scheduling_, number_);
  }
  targets_.clear();
  stage_list_.clear();
  for (StagePart& part : stage_parts_) {
    if (!work.everywhere && part.owner != home_) continue;
    part.stage = &work.stage;
    part.Finish(absl::OkStatus());
    targets_.push_back(part.owner);
    stage_list_.push_back(&part);
  }
  const routing::StageSegment segment{stage_list_.data(), stage_list_.size()};
  const routing::CommandHeader header{.type = CommandType::kStage,
                                      .object = kQueryMemory,
                                      .complete = &QueryState::Answered<StagePart>,
                                      .count = 1};
  return Send(header, std::as_bytes(std::span(&segment, 1)), targets_, [&](AeuId aeu) {
    routing::PartOf(stage_list_, aeu)->Finish(NoRoom(core_));
    // The others wait for its tasks.
    if (parts_.stage_tasks != nullptr) parts_.stage_tasks->Absent();
  });
}

template <class Refuse>
absl::Status QueryState::Send(const routing::CommandHeader& header,
                              std::span<const std::byte> segment, const std::vector<AeuId>& targets,
                              Refuse refuse) {
  std::vector<AeuId> refused;
  refused.reserve(targets.size());
  {
    base::MutexLock lock(&mu_);
    ERIS_RETURN_IF_ERROR(error_);
    if (!EnterParts(1)) return error_;  // for all of them together
  }
  // relaxed: the buffers that carry the commands publish it.
  left_.store(static_cast<uint32_t>(targets.size()), std::memory_order_relaxed);
  core_.control->Multicast(targets, header, segment, refused);
  for (const AeuId aeu : refused) refuse(aeu);
  if (!refused.empty()) {
    parts_.stop.store(true, std::memory_order_relaxed);
    Answer(static_cast<uint32_t>(refused.size()));
  }
  return absl::OkStatus();
}

template <class Part>
void QueryState::Answered(routing::Reply* reply, uint32_t answered) noexcept {
  static_cast<Part*>(reply)->query->Answer(answered);
}

void QueryState::Answer(uint32_t answered) noexcept {
  // acq_rel: the last one has what the others have written, and hands it on to Work.
  if (left_.fetch_sub(answered, std::memory_order_acq_rel) == answered) Leave();
}

absl::Status QueryState::Begin(const ReadWork& work) {
  sink_ = &parts_.parts.back()->BeginRows(work.set);
  Query query;
  query.snapshot = snapshot_;
  ERIS_ASSIGN_OR_RETURN(std::unique_ptr<Scan> scan,
                        OpenScan(core_, node_, objects_.find(work.object)->second, query));
  {
    base::MutexLock lock(&mu_);
    scan_ = std::move(scan);
    ERIS_RETURN_IF_ERROR(error_);  // it may have been cancelled meanwhile
  }
  AskScan();
  return absl::OkStatus();
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

absl::StatusOr<bool> QueryState::TakeRead() {
  std::optional<NextResult> arrived;
  {
    base::MutexLock lock(&mu_);
    arrived = std::exchange(arrived_, std::nullopt);
  }
  if (!arrived) return false;
  ERIS_RETURN_IF_ERROR(arrived->status());
  if (**arrived != nullptr) {
    ERIS_RETURN_IF_ERROR(storage::AddChunk(***arrived, *sink_));
    AskScan();
    return true;
  }
  sink_ = nullptr;
  ERIS_RETURN_IF_ERROR(parts_.parts.back()->EndRows());
  std::unique_ptr<Scan> scan;
  base::MutexLock lock(&mu_);
  scan = std::move(scan_);
  return true;
}

absl::Status QueryState::Begin(const NoWork&) {
  base::MutexLock lock(&mu_);
  figures_ ? AnswerAnalysis(*figures_) : AnswerRows();
  answered_ = true;
  return absl::OkStatus();
}

void QueryState::AnswerAnalysis(const QueryFigures& figures) {
  ReaderBuffer& chunk = chunks_.emplace_back();
  chunk.strings = AnalysisText(lines_, figures.steps(), home_);
  text_offsets_[1] = static_cast<uint32_t>(chunk.strings.size());
  chunk.shown.push_back({.values = chunk.strings.data(), .offsets = text_offsets_.data()});
  chunk_rows_.push_back(1);
}

void QueryState::AnswerRows() {
  for (const auto& part : parts_.parts) {
    const storage::EnvelopeList* const rows = part->list(flow_.answer());
    for (uint32_t e = 0; rows != nullptr && e < rows->size(); ++e) {
      const storage::Envelope& envelope = (*rows)[e];
      chunk_rows_.push_back(envelope.rows());
      ReaderBuffer& chunk = chunks_.emplace_back();
      for (size_t c = 0; c < schema_.columns.size(); ++c) {
        const storage::SegmentColumn& column = envelope.column(static_cast<uint32_t>(c));
        chunk.shown.push_back({.values = column.values,
                               .validity = reinterpret_cast<const uint8_t*>(column.validity),
                               .offsets = column.offsets});
      }
    }
  }
}

void QueryState::CancelParts() {
  // relaxed: advice.
  parts_.stop.store(true, std::memory_order_relaxed);
  if (scan_ != nullptr) scan_->Cancel();
}

}  // namespace eris::engine
