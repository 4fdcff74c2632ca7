#include "engine/reads/open.h"

#include <new>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "engine/core/closing.h"
#include "engine/core/snapshot.h"
#include "engine/objects/object_kinds.h"
#include "engine/reads/aggregate_call.h"
#include "engine/reads/join_state.h"
#include "engine/reads/query_checks.h"
#include "engine/reads/reader_handle.h"
#include "engine/reads/scan_state.h"
#include "engine/reads/table_scan_state.h"
#include "storage/table/plan/table_plan.h"

namespace eris::engine {
namespace {

absl::Status CheckOpen(const Core& core) {
  return core.in_flight.closed() ? EngineClosing() : absl::OkStatus();
}

class ScanIntoCall final : public Pending {
 public:
  ScanIntoCall(InFlight::Lane& in_flight, Session::ScanIntoCallback done)
      : in_flight_(in_flight), done_(std::move(done)) {}
  void Cancel(absl::Status status) override { state_->Cancel(std::move(status)); }
  // Made before the state, so that the state cannot be lost.
  void Hold(Reader<TableScanState> state) { state_ = std::move(state); }
  // Calls back, once, and leaves in_flight.
  void End(const absl::Status& status) {
    if (status.ok()) {
      std::move(done_)(state_->rows_written());
    } else {
      std::move(done_)(status);
    }
    done_ = nullptr;
    in_flight_.Leave();
  }

 private:
  InFlight::Lane& in_flight_;
  Session::ScanIntoCallback done_;
  Reader<TableScanState> state_;
};

absl::Status CheckInto(const TableScanState::Request& request, const Query& query,
                       const ObjectEntry& table) {
  if (request.target.get() == &table) {
    return absl::InvalidArgumentError(
        absl::StrCat("table \"", table.name, "\" cannot be scanned into itself"));
  }
  if (request.plan->aggregates() || query.limit > 0 || !query.resume.empty()) {
    return absl::InvalidArgumentError(
        "a scan into another object has no aggregates, no limit and no resume token");
  }
  return CheckTarget(request.plan->result(), *request.target);
}

// The query of a table, checked in itself.
absl::StatusOr<std::shared_ptr<const storage::TablePlan>> TablePlanOf(const Core& core,
                                                                      const ObjectEntry& table,
                                                                      const Query& query) {
  ERIS_RETURN_IF_ERROR(CheckTable(table));
  ERIS_RETURN_IF_ERROR(CheckTableQuery(table, query));
  ERIS_RETURN_IF_ERROR(CheckShare(query, core.options.aeu_count));
  return storage::TablePlan::Create(table.schema.columns, query);
}

// `target` nullptr: the reader gets the rows.
absl::StatusOr<Reader<TableScanState>> StartTableScan(Core& core, SessionNode& node,
                                                      ObjectRef table, const Query& query,
                                                      ObjectRef target) {
  TableScanState::Request request;
  ERIS_ASSIGN_OR_RETURN(request.plan, TablePlanOf(core, *table, query));
  request.target = std::move(target);
  if (request.target != nullptr) {
    ERIS_RETURN_IF_ERROR(CheckInto(request, query, *table));
    // Before the first row: the target receives rows before this call can learn of any.
    if (!request.target->CountWritten(1)) return Dropped(*request.target);
  }
  if (!query.resume.empty()) {
    if (query.snapshot == nullptr) {
      return absl::InvalidArgumentError("a resume token needs the snapshot it was given on");
    }
    ERIS_ASSIGN_OR_RETURN(request.resume, TableResumeFrom(query.resume));
  }
  ERIS_RETURN_IF_ERROR(CheckOpen(core));
  // Before the partition table is read.
#ifdef ERIS_PLANTED_OWN_SNAPSHOT
  ERIS_ASSIGN_OR_RETURN(request.snapshot, SnapshotFor(core, nullptr));
#else
  ERIS_ASSIGN_OR_RETURN(request.snapshot, SnapshotFor(core, query.snapshot));
#endif
  table->step_gate().Pass(request.snapshot->epoch());
  request.table = std::move(table);
  request.share = query.share;
  request.limit = query.limit;
  request.fingerprint = FingerprintOf(query);
  ERIS_ASSIGN_OR_RETURN(TableScanState * state,
                        TableScanState::Create(core, node, std::move(request)));
  return Reader<TableScanState>(state);
}

absl::StatusOr<Reader<ReaderState>> StartScan(Core& core, SessionNode& node, ObjectRef object,
                                              const Query& query) {
  if (object->is_table()) return StartTableScan(core, node, std::move(object), query, nullptr);
  ERIS_ASSIGN_OR_RETURN(ScanState::Request request, IndexRequestOf(std::move(object), query));
  ERIS_RETURN_IF_ERROR(CheckOpen(core));
  ERIS_ASSIGN_OR_RETURN(ScanState * state, ScanState::Create(core, node, std::move(request)));
  return Reader<ReaderState>(state);
}

absl::Status CheckJoin(const ObjectEntry& outer, const ObjectEntry& inner,
                       const JoinOptions& options) {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  if (options.inner_values) {
    ERIS_RETURN_IF_ERROR(CheckRange("range of inner values", *options.inner_values));
  }
  ERIS_RETURN_IF_ERROR(CheckNoTable(outer));
  ERIS_RETURN_IF_ERROR(CheckKeyOrder(outer, "be the outer side of a join"));
  ERIS_RETURN_IF_ERROR(CheckNoTable(inner));
  ERIS_RETURN_IF_ERROR(CheckU64Values(outer));
  ERIS_RETURN_IF_ERROR(CheckU64Values(inner));
  ERIS_RETURN_IF_ERROR(CheckOnePart(outer, "be a side of a join"));
  ERIS_RETURN_IF_ERROR(CheckOnePart(inner, "be a side of a join"));
  ERIS_RETURN_IF_ERROR(CheckRangeParts(outer, options.range));
  if (options.inner_values) ERIS_RETURN_IF_ERROR(CheckRangeParts(inner, *options.inner_values));
  if (inner.key_types.first == ColumnType::kUint64) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "keys of object \"", inner.name, "\" are no u64: values of \"", outer.name, "\" are none"));
}

absl::Status CheckAggregate(const ObjectEntry& object, const AggregateOptions& options) {
  ERIS_RETURN_IF_ERROR(CheckRange("range", options.range));
  ERIS_RETURN_IF_ERROR(CheckValues(options.values));
  ERIS_RETURN_IF_ERROR(CheckNoTable(object));
  ERIS_RETURN_IF_ERROR(CheckKeyOrder(object, "be aggregated"));
  ERIS_RETURN_IF_ERROR(CheckRangeParts(object, options.range));
  return options.values || !options.count_only ? CheckU64Values(object) : absl::OkStatus();
}

// The blocking Aggregate waits here. Shared with the callback, which may come after the deadline.
class AggregateResult {
 public:
  void Set(absl::StatusOr<RangeAggregate> result) {
    base::MutexLock lock(&mu_);
    result_.emplace(std::move(result));
    set_.Signal();
  }
  // nullopt: `deadline` has passed.
  std::optional<absl::StatusOr<RangeAggregate>> Await(absl::Time deadline) {
    base::MutexLock lock(&mu_);
    while (!result_) {
      if (set_.WaitWithDeadline(&mu_, deadline)) break;
    }
    return result_;
  }

 private:
  base::Mutex mu_;
  base::CondVar set_;
  std::optional<absl::StatusOr<RangeAggregate>> result_ ABSL_GUARDED_BY(mu_);
};

// An aggregate's bytes of its session's credit; returned unless the call has taken them over.
class HeldCredit {
 public:
  HeldCredit(SessionCredit credit, int64_t bytes) : credit_(std::move(credit)), bytes_(bytes) {}
  ~HeldCredit() {
    if (credit_ != nullptr) credit_->fetch_add(bytes_, std::memory_order_relaxed);  // a count
  }
  HeldCredit(const HeldCredit&) = delete;
  HeldCredit& operator=(const HeldCredit&) = delete;
  void Keep() { credit_ = nullptr; }

 private:
  SessionCredit credit_;
  const int64_t bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Scan>> OpenScan(Core& core, SessionNode& node, ObjectRef object,
                                               const Query& query) try {
  ERIS_ASSIGN_OR_RETURN(Reader<ReaderState> state, StartScan(core, node, std::move(object), query));
  return std::make_unique<ScanImpl>(std::move(state));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<Schema> AnswerSchema(const Core& core, ObjectRef object, const Query& query) {
  if (!object->is_table()) {
    ERIS_ASSIGN_OR_RETURN(ScanState::Request request, IndexRequestOf(std::move(object), query));
    return std::move(request.schema);
  }
  ERIS_ASSIGN_OR_RETURN(const auto plan, TablePlanOf(core, *object, query));
  return plan->result();
}

absl::StatusOr<std::unique_ptr<Scan>> OpenJoin(Core& core, SessionNode& node, ObjectRef outer,
                                               ObjectRef inner, const JoinOptions& options) try {
  ERIS_RETURN_IF_ERROR(CheckJoin(*outer, *inner, options));
  ERIS_RETURN_IF_ERROR(CheckOpen(core));
  ERIS_ASSIGN_OR_RETURN(JoinState * join,
                        JoinState::Create(core, node, std::move(outer), std::move(inner), options));
  Reader<ReaderState> state(join);
  return std::make_unique<ScanImpl>(std::move(state));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<uint64_t> ScanInto(Core& core, SessionNode& node, ObjectRef table,
                                  const Query& query, ObjectRef target, absl::Time deadline) try {
  ERIS_ASSIGN_OR_RETURN(const Reader<TableScanState> state,
                        StartTableScan(core, node, std::move(table), query, std::move(target)));
  ERIS_RETURN_IF_ERROR(state->Next(deadline).status());
  return state->rows_written();
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> ScanIntoAsync(Core& core, SessionNode& node,
                                                       ObjectRef table, const Query& query,
                                                       ObjectRef target,
                                                       Session::ScanIntoCallback done) try {
  auto call = std::make_shared<ScanIntoCall>(node.in_flight, std::move(done));
  // For the call. Its capture fits in the callback itself, which needs no memory.
  Scan::Callback end = [call](Scan::NextResult result) { call->End(result.status()); };
  // Left after the callback, which Close waits for.
  if (!node.in_flight.TryEnter()) return EngineClosing();
  absl::StatusOr<Reader<TableScanState>> state = base::OrNoMemory(
      "the system has no memory for a scan",
      [&] { return StartTableScan(core, node, std::move(table), query, std::move(target)); });
  if (!state.ok()) {
    node.in_flight.Leave();
    return state.status();
  }
  TableScanState* const started = state->get();
  call->Hold(*std::move(state));
  started->NextAsync(std::move(end));
  return call;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<RangeAggregate> Aggregate(Core& core, SessionNode& node, ObjectRef object,
                                         const AggregateOptions& options, absl::Time deadline,
                                         const SessionCredit& credit) try {
  const auto result = std::make_shared<AggregateResult>();
  ERIS_ASSIGN_OR_RETURN(
      const std::shared_ptr<Pending> pending,
      AggregateAsync(
          core, node, std::move(object), options,
          [result](absl::StatusOr<RangeAggregate> aggregate) { result->Set(std::move(aggregate)); },
          credit));
  core.session_nodes.RunDeferred();  // perhaps this one
  if (auto aggregate = result->Await(deadline)) return *std::move(aggregate);
  const absl::Status late = base::LeanStatus(absl::StatusCode::kDeadlineExceeded,
                                             "the deadline passed before every AEU had answered");
  pending->Cancel(late);
  return late;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> AggregateAsync(Core& core, SessionNode& node,
                                                        ObjectRef object,
                                                        const AggregateOptions& options,
                                                        Session::AggregateCallback done,
                                                        const SessionCredit& credit) try {
  ERIS_RETURN_IF_ERROR(CheckAggregate(*object, options));
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, SnapshotFor(core, options.snapshot));
  const int64_t bytes =
      AggregateCall::kBytesPerPartition * static_cast<int64_t>(object->route.Pin()->size());
  if (credit != nullptr) ERIS_RETURN_IF_ERROR(TakeCredit(core, *credit, bytes, "aggregate"));
  HeldCredit held(credit, bytes);
  if (!node.in_flight.TryEnter()) return EngineClosing();
  std::shared_ptr<AggregateCall> call;
  try {
    call = std::make_shared<AggregateCall>(core, node, std::move(object), options,
                                           std::move(snapshot), credit, bytes, std::move(done));
  } catch (const std::bad_alloc&) {
    node.in_flight.Leave();
    return base::NoMemory("the system has no memory for an aggregate");
  }
  held.Keep();
  call->Start();
  return call;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

}  // namespace eris::engine
