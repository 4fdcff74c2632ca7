#include "engine/sessions/batch_call.h"

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/lean_status.h"
#include "base/mutex.h"
#include "engine/core/table_batch.h"
#include "eris/errors.h"
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
    // Each gets its own block: an AEU ends its turn between blocks.
    if ((piece + 1) % aeus.size() == 0) port.Flush();
  }
  port.Flush();
  if (refused > 0) Request::Answered(&request, refused);
}

// The result of an append's states. `refused` counts rows.
absl::Status AppendOutcome(const Request& request, const RequestLimits& limits, uint32_t& refused) {
  const uint64_t rows = RowCountOf(request);
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
      return Error(ErrorReason::kObjectDropped,
                   absl::StrCat("object \"", request.object()->name, "\" has been dropped"));
    case KeyState::kNoMemory:
      return Error(
          ErrorReason::kMemoryLimit,
          absl::StrCat(limits.MemoryLimitText(), ": ", stored, " of ", rows, " rows were stored, ",
                       refused, " were refused; drop or erase data, or allow more"));
    case KeyState::kRefused:
      return Error(ErrorReason::kBufferFull,
                   absl::StrCat("no outgoing buffer came back for ", limits.send_wait_ms_max,
                                " ms: ", stored, " of ", rows, " rows were stored"));
    default:
      return absl::CancelledError(
          absl::StrCat("the request was cancelled: ", stored, " of ", rows, " rows were stored"));
  }
}

// Throws std::bad_alloc.
void TakeResult(Request& request, const RequestLimits& limits, BatchResult& result) {
  const CommandType type = request.type();
  if (type == CommandType::kAppendRows) {
    result.status = AppendOutcome(request, limits, result.refused);
    return;
  }
  result.status = request.Outcome(limits, result.refused);
  result.existed = request.PackPresence();
  if (storage::IsConditional(routing::OperationOf(type))) result.applied = request.PackApplied();
  if (result.refused > 0) result.executed = request.PackExecuted();
  if (routing::AnswersValues(type) || type == CommandType::kLookupRows) {
    result.columns = request.TakeColumns();
  }
}

}  // namespace

BatchResult Refused(absl::Status status, uint64_t rows) {
  BatchResult result;
  result.status = std::move(status);
  result.count = result.refused =
      static_cast<uint32_t>(std::min<uint64_t>(rows, std::numeric_limits<uint32_t>::max()));
  return result;
}

absl::Status NoMemoryFor(uint64_t rows) noexcept {
  try {
    return Error(ErrorReason::kSystemMemory,
                 absl::StrCat("the system has no memory for a batch of ", rows, " rows"));
  } catch (const std::bad_alloc&) {
    return base::NoMemory("");
  }
}

uint32_t RowCountOf(const Request& request) {
  return request.table() == nullptr ? request.count()
                                    : static_cast<uint32_t>(request.table()->rows().rows);
}

void Send(SessionPort& port, std::shared_ptr<SendOrder> order, Request& request,
          uint64_t next_holder) {
  if (request.type() == CommandType::kAppendRows) return SendPieces(port, request, next_holder);
  SendOrder& sends = *order;
  request.PutIn(std::move(order), request.in_order().columns);
  sends.Send(request);
}

BatchResult ResultOf(Request& request, const RequestLimits& limits) {
  BatchResult result;
  try {
    TakeResult(request, limits, result);
  } catch (const std::bad_alloc&) {
    const bool writes = routing::Writes(request.type());
    // For a lookup no row counts.
    const uint32_t refused = writes ? result.refused : RowCountOf(request);
    result = BatchResult();
    result.status = base::NoMemory(
        writes ? "the system has no memory for the answers; what was to be written has been, but "
                 "for the rows that were refused"
               : "the system has no memory for the answers");
    result.refused = refused;
  }
  result.count = RowCountOf(request);
  return result;
}

BatchCall::BatchCall(Core& core, SessionNode& node, RequestPtr request, Callback done)
    : Call(node.completions, std::move(done)), core_(core), request_(std::move(request)) {}

void BatchCall::Start(SessionPort& port, std::shared_ptr<SendOrder> order, uint64_t next_holder) {
  request_->OnAnswered(&completions(), this);
  Begin();
  try {
    Send(port, std::move(order), *request_, next_holder);
  } catch (const std::bad_alloc&) {
    TakeBack();
    throw;
  }
}

void BatchCall::Complete() {
  request_->Unref();  // the AEUs' reference; this call has its own
  const std::shared_ptr<Call> kept = End();
  BatchResult result;
  if (!answered()) result = ResultOf(*request_, core_.limits);
  request_->FreeBytes();
  request_->Settle();
  Answer(std::move(result));
  request_->HoldColumns(nullptr);  // the callback may have used them
}

BatchResult BatchCall::CancelledResult(absl::Status status) const {
  return Refused(std::move(status), RowCountOf(*request_));
}

}  // namespace eris::engine
