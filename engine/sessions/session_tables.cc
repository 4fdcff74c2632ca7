// SessionImpl's table calls: checks, requests for batches of rows, scans.
#include <algorithm>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/status_macros.h"
#include "engine/core/snapshot.h"
#include "engine/core/table_batch.h"
#include "engine/objects/object_kinds.h"
#include "engine/reads/table_resume.h"
#include "engine/reads/table_scan_state.h"
#include "engine/sessions/async_call.h"
#include "engine/sessions/batch_checks.h"
#include "engine/sessions/session_impl.h"
#include "engine/sessions/table_call.h"
#include "storage/table/append_pieces.h"
#include "storage/table/plan_compiler.h"
#include "storage/table/table_plan.h"

namespace eris::engine {
namespace {

using routing::CommandType;

class TableScanImpl final : public TableScan {
 public:
  ~TableScanImpl() override {
    if (state_ == nullptr) return;
    state_->Cancel(base::LeanStatus(absl::StatusCode::kCancelled, "the scan was destroyed"));
    state_->ReleaseChunks();
    state_->Unref();
  }
  const Schema& schema() const override { return state_->schema(); }
  std::shared_ptr<Snapshot> snapshot() const override { return state_->snapshot(); }
  NextResult Next(absl::Time deadline) override { return state_->Next(deadline); }
  void NextAsync(Callback done) override { state_->NextAsync(std::move(done)); }
  void Cancel() override {
    state_->Cancel(base::LeanStatus(absl::StatusCode::kCancelled, "the scan was cancelled"));
  }
  // Takes over the caller's reference. Made before there is one, so that it cannot be lost.
  void Hold(TableScanState* state) { state_ = state; }

 private:
  TableScanState* state_ = nullptr;
};

class ScanIntoCall final : public Pending {
 public:
  ScanIntoCall(InFlight& in_flight, Session::ScanIntoCallback done)
      : in_flight_(in_flight), done_(std::move(done)) {}
  ~ScanIntoCall() override {
    if (state_ != nullptr) state_->Unref();
  }
  void Cancel(absl::Status status) override { state_->Cancel(std::move(status)); }
  // As TableScanImpl.
  void Hold(TableScanState* state) { state_ = state; }
  // Calls back, once, and leaves what has been entered.
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
  InFlight& in_flight_;
  Session::ScanIntoCallback done_;
  TableScanState* state_ = nullptr;
};

struct UnrefTableScan {
  void operator()(TableScanState* state) const { state->Unref(); }
};

// Memory of the engine for one key or row piece of a request, on its way.
constexpr int64_t kBytesPerKey = 8 + 8 + 1 + 20;

absl::Status CheckRows(const storage::TableLayout& layout, const RowBatch& batch, bool keys_only) {
  if (batch.rows == 0) return absl::InvalidArgumentError("a batch needs at least one row");
  if (batch.rows > kTableBatchRowsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a batch has at most ", kTableBatchRowsMax,
                                                   " rows, this one has ", batch.rows));
  }
  ERIS_RETURN_IF_ERROR(layout.Check(batch, keys_only));
  const uint64_t bytes = BytesOf(layout, batch, keys_only);
  if (bytes <= kTableBatchBytesMax) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the columns of a batch have at most ", kTableBatchBytesMax, " bytes, these have ", bytes));
}

absl::StatusOr<std::vector<uint32_t>> ColumnsOf(const storage::TableLayout& layout,
                                                absl::Span<const std::string> names) {
  std::vector<uint32_t> columns;
  if (names.empty()) {
    for (uint32_t i = 0; i < layout.columns(); ++i) columns.push_back(i);
    return columns;
  }
  if (names.size() > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a look-up answers at most ", kTableColumnsMax,
                                                   " columns, not ", names.size()));
  }
  for (const std::string& name : names) {
    const std::optional<uint32_t> column = layout.Find(name);
    if (!column) {
      return absl::InvalidArgumentError(absl::StrCat("the table has no column \"", name, "\""));
    }
    columns.push_back(*column);
  }
  return columns;
}

std::string TypeText(const ColumnSchema& column) {
  const bool scaled = column.type == ColumnType::kDecimal ||
                      (column.type == ColumnType::kInt128 && column.scale > 0);
  return absl::StrCat(storage::TypeName(column.type),
                      scaled ? absl::StrCat("(", uint32_t{column.scale}, ")") : "");
}

// "a int64, b decimal(2)"
std::string ColumnsText(const std::vector<ColumnSchema>& columns) {
  constexpr size_t kShownMax = 16;
  std::string text;
  for (size_t i = 0; i < std::min(columns.size(), kShownMax); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", columns[i].name, " ", TypeText(columns[i]));
  }
  if (columns.size() > kShownMax) text += ", ...";
  return text;
}

// Whether the rows of `result` can be written to `target`.
absl::Status CheckTarget(const Schema& result, const ObjectEntry& target) {
  if (!target.is_table()) {
    ERIS_RETURN_IF_ERROR(CheckForm(target, ColumnType::kUint64));
    ERIS_RETURN_IF_ERROR(CheckOnePart(target, "be the target of a scan"));
    if (result.columns.size() == 2 && result.columns[0].type == ColumnType::kUint64 &&
        result.columns[1].type == ColumnType::kUint64) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(
        absl::StrCat("object \"", target.name, "\" takes two columns of uint64, key and value; ",
                     "the scan hands out ", ColumnsText(result.columns)));
  }
  const storage::TableLayout& layout = *target.layout;
  if (layout.columns() != result.columns.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("table \"", target.name, "\" has ", layout.columns(), " columns, ",
                     ColumnsText(layout.schema().columns), "; the scan hands out ",
                     result.columns.size(), ", ", ColumnsText(result.columns)));
  }
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const ColumnSchema& from = result.columns[i];
    const ColumnSchema& to = layout.column(i);
    if (from.type == to.type && from.scale == to.scale) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", i + 1, " of the scan, \"", from.name, "\", is ", TypeText(from), "; column ",
        i + 1, " of table \"", target.name, "\", \"", to.name, "\", is ", TypeText(to)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Schema>> SessionImpl::SchemaOf(
    absl::string_view table) try {
  ERIS_ASSIGN_OR_RETURN(const ObjectRef entry, Resolve(table));
  ERIS_RETURN_IF_ERROR(CheckTable(*entry));
  return std::shared_ptr<const Schema>(entry->layout, &entry->layout->schema());
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<RequestPtr> SessionImpl::BeginTable(CommandType type, absl::string_view table,
                                                   const RowBatch& batch,
                                                   absl::Span<const std::string> columns,
                                                   std::shared_ptr<const void> holder) {
  const bool appends = type == CommandType::kAppendRows;
  const bool keys_only = type == CommandType::kErase || type == CommandType::kLookupRows;
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(table));
  ERIS_RETURN_IF_ERROR(CheckTable(*entry));
  ERIS_RETURN_IF_ERROR(CheckTable(*entry, appends ? ObjectKind::kHeapTable : ObjectKind::kTable));
  const storage::TableLayout& layout = *entry->layout;
  ERIS_RETURN_IF_ERROR(CheckRows(layout, batch, keys_only));
  std::vector<uint32_t> asked;
  if (type == CommandType::kLookupRows) {
    ERIS_ASSIGN_OR_RETURN(asked, ColumnsOf(layout, columns));
  }
  std::vector<uint64_t> pieces;
  if (appends) {
    try {
      pieces = storage::AppendPieces(layout, batch);
    } catch (const std::bad_alloc&) {
      return NoMemoryFor(batch.rows);
    }
  }
  const auto count = static_cast<uint32_t>(appends ? pieces.size() - 1 : batch.rows);
  const int64_t per_key =
      kBytesPerKey + TableBatch::AnswerBytesPerKey(layout, asked) + (layout.two_words() ? 16 : 0);
  const int64_t bytes = per_key * int64_t{count};
  ERIS_RETURN_IF_ERROR(TakeCredit(bytes, "batch"));
  if (!core_.in_flight.TryEnter()) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    return absl::UnavailableError("the engine is closing");
  }
  RequestPtr request;
  try {
    auto rows = std::make_unique<TableBatch>(entry->layout, batch, std::move(holder));
    appends ? rows->SetPieces(std::move(pieces)) : rows->PackKeys(keys_only);
    rows->AskFor(asked);
    request.reset(Request::Create(type, count, std::move(entry), core_.in_flight));
    request->HoldTable(std::move(rows));
  } catch (const std::bad_alloc&) {
    credit_->fetch_add(bytes, std::memory_order_relaxed);
    core_.in_flight.Leave();
    return NoMemoryFor(batch.rows);
  }
  request->HoldCredit(credit_, bytes);
  if (request->table()->answers_strings()) request->AnswerBytes(kBatchValueBytesMax);
  return request;
}

absl::Status SessionImpl::RunTable(Request& request, absl::Time deadline) {
  std::shared_ptr<SendOrder> order;
  try {
    order = OrderOf(request.object());
    SendTable(*port_, order, request, next_holder_++);
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(request.table()->rows().rows);
  }
  if (request.Await(deadline)) return absl::OkStatus();
  // The rows are the caller's: what has begun has to end before the call returns.
  order->Abandon(request);
  request.Await(absl::InfiniteFuture());
  if (request.AllExecuted()) return absl::OkStatus();
  return absl::DeadlineExceededError(
      request.type() == CommandType::kLookupRows
          ? "the deadline passed before every AEU had answered"
          : "the deadline passed before every AEU had answered: some rows may be written");
}

absl::Status SessionImpl::AppendRows(absl::string_view table, const RowBatch& batch,
                                     absl::Time deadline) try {
  ERIS_ASSIGN_OR_RETURN(RequestPtr request,
                        BeginTable(CommandType::kAppendRows, table, batch, {}, nullptr));
  absl::Status status = RunTable(*request, deadline);
  uint32_t refused = 0;
  if (status.ok()) status = AppendOutcome(*request, core_.limits, refused);
  return status;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::RunRowWrite(CommandType type, absl::string_view table,
                                      const RowBatch& batch, absl::Span<uint8_t> existed,
                                      absl::Time deadline) {
  ERIS_RETURN_IF_ERROR(CheckOutput("existed bytes", existed.size(), batch.rows));
  ERIS_ASSIGN_OR_RETURN(RequestPtr request, BeginTable(type, table, batch, {}, nullptr));
  absl::Status status = RunTable(*request, deadline);
  // Also when some rows were refused: the others took effect.
  request->CopyPresence(existed);
  uint32_t refused = 0;
  if (status.ok()) status = request->Outcome(core_.limits, refused);
  return status;
}

absl::Status SessionImpl::UpsertRows(absl::string_view table, const RowBatch& batch,
                                     absl::Span<uint8_t> existed, absl::Time deadline) try {
  return RunRowWrite(CommandType::kPutRows, table, batch, existed, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::EraseRows(absl::string_view table, const RowBatch& keys,
                                    absl::Span<uint8_t> existed, absl::Time deadline) try {
  return RunRowWrite(CommandType::kErase, table, keys, existed, deadline);
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::Status SessionImpl::LookupRows(absl::string_view table, const RowBatch& keys,
                                     absl::Span<const std::string> columns,
                                     std::vector<ColumnBuffers>& out, absl::Span<uint8_t> found,
                                     absl::Time deadline) try {
  ERIS_RETURN_IF_ERROR(CheckOutput("found bytes", found.size(), keys.rows));
  ERIS_ASSIGN_OR_RETURN(RequestPtr request,
                        BeginTable(CommandType::kLookupRows, table, keys, columns, nullptr));
  absl::Status status = RunTable(*request, deadline);
  uint32_t refused = 0;
  if (status.ok()) status = request->Outcome(core_.limits, refused);
  if (status.ok()) {
    request->CopyPresence(found);
    try {
      out = request->table()->TakeColumns();
    } catch (const std::bad_alloc&) {
      out.clear();
      status = NoMemoryFor(keys.rows);
    }
  }
  return status;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::StartTable(
    CommandType type, absl::string_view table, const RowBatch& batch,
    absl::Span<const std::string> columns, std::shared_ptr<const void> holder, RowsCallback done) {
  ERIS_ASSIGN_OR_RETURN(RequestPtr request,
                        BeginTable(type, table, batch, columns, std::move(holder)));
  std::shared_ptr<TableCall> call;
  std::shared_ptr<SendOrder> order;
  try {
    order = OrderOf(request->object());
    call = std::make_shared<TableCall>(core_, request.get(), std::move(done));
    (void)request.release();  // the call's
  } catch (const std::bad_alloc&) {
    return NoMemoryFor(batch.rows);
  }
  ERIS_RETURN_IF_ERROR(call->Start(*port_, std::move(order), next_holder_++));
  return call;
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::StartRowWrite(
    CommandType type, absl::string_view table, const RowBatch& batch,
    std::shared_ptr<const void> holder, Callback done) {
  return StartTable(
      type, table, batch, {}, std::move(holder),
      [done = std::move(done)](BatchResult result, std::vector<ColumnBuffers>) mutable {
        std::move(done)(std::move(result));
      });
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::AppendRowsAsync(
    absl::string_view table, const RowBatch& batch, std::shared_ptr<const void> holder,
    Callback done) try {
  return StartRowWrite(CommandType::kAppendRows, table, batch, std::move(holder), std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::UpsertRowsAsync(
    absl::string_view table, const RowBatch& batch, std::shared_ptr<const void> holder,
    Callback done) try {
  return StartRowWrite(CommandType::kPutRows, table, batch, std::move(holder), std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::EraseRowsAsync(
    absl::string_view table, const RowBatch& keys, std::shared_ptr<const void> holder,
    Callback done) try {
  return StartRowWrite(CommandType::kErase, table, keys, std::move(holder), std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::LookupRowsAsync(
    absl::string_view table, const RowBatch& keys, absl::Span<const std::string> columns,
    std::shared_ptr<const void> holder, RowsCallback done) try {
  return StartTable(CommandType::kLookupRows, table, keys, columns, std::move(holder),
                    std::move(done));
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<TableScanState*> SessionImpl::StartTableScan(absl::string_view table,
                                                            const Query& query,
                                                            absl::string_view target) {
  ERIS_ASSIGN_OR_RETURN(ObjectRef entry, Resolve(table));
  ERIS_RETURN_IF_ERROR(CheckTable(*entry));
  TableScanState::Request request;
  ERIS_ASSIGN_OR_RETURN(request.plan, storage::TablePlan::Create(entry->layout, query));
  if (!target.empty()) {
    ERIS_ASSIGN_OR_RETURN(request.target, Resolve(target));
    if (request.target == entry) {
      return absl::InvalidArgumentError(
          absl::StrCat("table \"", table, "\" cannot be scanned into itself"));
    }
    if (request.plan->aggregates() || query.limit > 0 || !query.resume.empty()) {
      return absl::InvalidArgumentError(
          "a scan into another object has no aggregates, no limit and no resume token");
    }
    ERIS_RETURN_IF_ERROR(CheckTarget(request.plan->result(), *request.target));
    // Ahead of the first row: the target receives rows before this call can be told of any.
    if (!request.target->CountWritten(1)) {
      return absl::NotFoundError(absl::StrCat("object \"", target, "\" has been dropped"));
    }
  }
  if (!query.resume.empty()) {
    if (query.snapshot == nullptr) {
      return absl::InvalidArgumentError("a resume token needs the snapshot it was given on");
    }
    ERIS_ASSIGN_OR_RETURN(request.resume, FromToken(query.resume));
  }
  if (core_.in_flight.closed()) return absl::UnavailableError("the engine is closing");
    // Before the partition table is read.
#ifdef ERIS_PLANTED_OWN_SNAPSHOT
  ERIS_ASSIGN_OR_RETURN(request.snapshot, SnapshotFor(core_, nullptr));
#else
  ERIS_ASSIGN_OR_RETURN(request.snapshot, SnapshotFor(core_, query.snapshot));
#endif
  entry->step_gate().Pass(request.snapshot->epoch());
  request.table = std::move(entry);
  request.limit = query.limit;
  request.fingerprint = FingerprintOf(query);
  return TableScanState::Create(core_, std::move(request));
}

absl::StatusOr<std::unique_ptr<TableScan>> SessionImpl::OpenTableScan(absl::string_view table,
                                                                      const Query& query) try {
  auto scan = std::make_unique<TableScanImpl>();
  ERIS_ASSIGN_OR_RETURN(TableScanState * state, StartTableScan(table, query, {}));
  scan->Hold(state);
  return scan;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<uint64_t> SessionImpl::ScanInto(absl::string_view table, const Query& query,
                                               absl::string_view target, absl::Time deadline) try {
  if (target.empty())
    return absl::InvalidArgumentError("a scan into another object needs its name");
  ERIS_ASSIGN_OR_RETURN(TableScanState * started, StartTableScan(table, query, target));
  const std::unique_ptr<TableScanState, UnrefTableScan> state(started);
  const absl::Status end = state->Next(deadline).status();
  if (end.ok()) return state->rows_written();
  state->Cancel(end);
  return end;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

absl::StatusOr<std::shared_ptr<Pending>> SessionImpl::ScanIntoAsync(absl::string_view table,
                                                                    const Query& query,
                                                                    absl::string_view target,
                                                                    ScanIntoCallback done) try {
  if (target.empty())
    return absl::InvalidArgumentError("a scan into another object needs its name");
  auto call = std::make_shared<ScanIntoCall>(core_.in_flight, std::move(done));
  // The call's. What it captures stands in the callback itself, which needs no memory.
  TableScanState::Callback end = [call](TableScan::NextResult result) {
    call->End(result.status());
  };
  // Left after the callback, which Close waits for.
  if (!core_.in_flight.TryEnter()) return absl::UnavailableError("the engine is closing");
  const absl::StatusOr<TableScanState*> state = base::OrNoMemory(
      "the system has no memory for a scan", [&] { return StartTableScan(table, query, target); });
  if (!state.ok()) {
    core_.in_flight.Leave();
    return state.status();
  }
  call->Hold(*state);
  (*state)->NextAsync(std::move(end));
  return call;
} catch (const std::bad_alloc&) {
  return base::NoMemory();
}

}  // namespace eris::engine
