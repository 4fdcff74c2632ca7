#include "engine/sessions/table_call.h"

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/mutex.h"
#include "engine/core/table_batch.h"
#include "engine/sessions/batch_checks.h"
#include "routing/data_command.h"

namespace eris::engine {

using routing::CommandType;
using storage::KeyState;

namespace {

// False: no room, or no memory.
bool SendPiece(routing::Port& port, AeuId aeu, const routing::CommandHeader& header,
               const routing::AppendSegment& segment) {
  try {
    return port.SendTo(aeu, header, std::as_bytes(std::span(&segment, 1)));
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void SendPieces(SessionPort& session, Request& request, uint64_t next_holder) {
  const ObjectEntry& table = *request.object();
  const auto holders = table.holders.Pin();
  const std::vector<AeuId> aeus = holders->Owners();
  request.Expect(request.count());
  base::MutexLock lock(&session.mu);
  routing::Port& port = session.port;
  const std::vector<uint64_t>& firsts = request.table()->pieces();
  uint32_t refused = 0;
  for (uint32_t piece = 0; piece < request.count(); ++piece) {
    const routing::AppendSegment segment{
        .first = firsts[piece],
        .count = static_cast<uint32_t>(firsts[piece + 1] - firsts[piece]),
        .position = piece};
    const routing::CommandHeader header{.type = CommandType::kAppendRows,
                                        .slot = table.route.slot(),
                                        .object = table.route.object(),
                                        .table_version = holders->version(),
                                        .complete = &Request::Answered,
                                        .context = &request,
                                        .count = 1};
    if (!SendPiece(port, aeus[(next_holder + piece) % aeus.size()], header, segment)) {
      request.states[piece] = KeyState::kRefused;
      ++refused;
    }
    // A block by itself for each: an AEU ends its turn between blocks.
    if ((piece + 1) % aeus.size() == 0) port.Flush();
  }
  port.Flush();
  if (refused > 0) Request::Answered(&request, refused);
}

}  // namespace

void SendTable(SessionPort& port, std::shared_ptr<SendOrder> order, Request& request,
               uint64_t next_holder) {
  if (request.type() == CommandType::kAppendRows) return SendPieces(port, request, next_holder);
  SendOrder& sends = *order;
  request.PutIn(std::move(order), request.table()->keys());
  sends.Send(request);
}

absl::Status AppendOutcome(const Request& request, const RequestLimits& limits, uint32_t& refused) {
  const uint64_t rows = request.table()->rows().rows;
  const std::vector<uint64_t>& firsts = request.table()->pieces();
  uint64_t stored = 0;
  KeyState worst = KeyState::kAbsent;
  for (uint32_t piece = 0; piece < request.count(); ++piece) {
    if (request.states[piece] == KeyState::kAbsent) {
      stored += firsts[piece + 1] - firsts[piece];
    } else if (worst != KeyState::kNoObject) {
      worst = request.states[piece];
    }
  }
  if (stored > 0 && !request.object()->CountWritten(stored)) {
    stored = 0;
    worst = KeyState::kNoObject;
  }
  refused = static_cast<uint32_t>(rows - stored);
  switch (worst) {
    case KeyState::kAbsent:
      return absl::OkStatus();
    case KeyState::kNoObject:
      return absl::NotFoundError(
          absl::StrCat("object \"", request.object()->name, "\" has been dropped"));
    case KeyState::kNoMemory:
      return absl::ResourceExhaustedError(
          absl::StrCat(limits.MemoryLimitText(), ": ", stored, " of ", rows, " rows were stored, ",
                       refused, " were refused; drop or erase data, or allow more"));
    case KeyState::kRefused:
      return absl::ResourceExhaustedError(absl::StrCat("the AEUs gave no outgoing buffer back for ",
                                                       limits.send_wait_ms_max, " ms: ", stored,
                                                       " of ", rows, " rows were stored"));
    default:
      return absl::CancelledError(
          absl::StrCat("the request was cancelled: ", stored, " of ", rows, " rows were stored"));
  }
}

TableCall::TableCall(Core& core, Request* request, Session::RowsCallback done)
    : core_(core), request_(request), done_(std::move(done)) {}

TableCall::~TableCall() { request_->Unref(); }

absl::Status TableCall::Start(SessionPort& port, std::shared_ptr<SendOrder> order,
                              uint64_t next_holder) {
  self_ = shared_from_this();
  request_->OnAnswered(&core_.completions, this);
  try {
    SendTable(port, std::move(order), *request_, next_holder);
  } catch (const std::bad_alloc&) {
    self_.reset();
    return NoMemoryFor(request_->table()->rows().rows);
  }
  return absl::OkStatus();
}

void TableCall::Cancel(absl::Status status) {
  if (ended_.load(std::memory_order_acquire))
    return;  // pairs with Complete; nothing is owed any more
  if (cancel_asked_.exchange(true, std::memory_order_acq_rel)) return;
  request_->SetCancelled();
  cancel_.call = shared_from_this();
  cancel_.status = std::move(status);
  core_.completions.Push(&cancel_);
}

void TableCall::CancelTask::Complete() {
  const std::shared_ptr<TableCall> kept = std::move(call);
  BatchResult result;
  result.status = std::move(status);
  result.count = result.refused = static_cast<uint32_t>(kept->request_->table()->rows().rows);
  kept->RunCallback(std::move(result), {});
}

void TableCall::Complete() {
  request_->Unref();  // the AEUs' reference; this call has its own
  const std::shared_ptr<TableCall> kept = std::move(self_);
  ended_.store(true, std::memory_order_release);  // pairs with Cancel
  BatchResult result;
  std::vector<ColumnBuffers> columns;
  if (!done_called_) {
    try {
      TakeResult(result, columns);
    } catch (const std::bad_alloc&) {
      columns.clear();
      result.status = base::NoMemory(
          "the system has no memory for the answers; what was to be written has been, but for the "
          "rows that were refused");
    }
  }
  request_->FreeBytes();
  request_->table()->LetGo();
  request_->Settle();
  if (!done_called_) RunCallback(std::move(result), std::move(columns));
}

void TableCall::TakeResult(BatchResult& result, std::vector<ColumnBuffers>& columns) {
  result.count = static_cast<uint32_t>(request_->table()->rows().rows);
  if (appends()) {
    result.status = AppendOutcome(*request_, core_.limits, result.refused);
    return;
  }
  result.status = request_->Outcome(core_.limits, result.refused);
  result.present = request_->PackPresence();
  result.executed = request_->PackExecuted();
  if (request_->type() == CommandType::kLookupRows && result.status.ok()) {
    columns = request_->table()->TakeColumns();
  }
}

void TableCall::RunCallback(BatchResult result, std::vector<ColumnBuffers> columns) {
  if (std::exchange(done_called_, true)) return;
  std::move(done_)(std::move(result), std::move(columns));
  done_ = nullptr;  // what it holds is let go here, not with the last handle
}

}  // namespace eris::engine
