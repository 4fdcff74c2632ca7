// Reasons of errors. A status tells a person what was refused; the reason tells a program. It
// travels with the status, as a payload, from the place that makes the error to the client, where
// it becomes a google.rpc.ErrorInfo. One table has all reasons: the code of each, what it means and
// what helps. The program's texts and docs/guide/errors.md come from it. Any thread, no state.
//
//   return Error(ErrorReason::kRequestTooLarge, "...",
//                {.field = "keys", .value = "9", .limit = "8"});
//
// A status without a reason has that of its code: ReasonOf never fails.
#ifndef ERIS_ERRORS_H_
#define ERIS_ERRORS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace eris {

// Names never change once released; new ones are added at the end of their group. The table below
// has the same order.
enum class ErrorReason : uint8_t {
  // Codes alone: for a status without a reason of its own.
  kCallCancelled,
  kUnknown,
  kRequestInvalid,
  kDeadlinePassed,
  kNotFound,
  kAlreadyExists,
  kPermissionDenied,
  kLimitReached,
  kNotPossible,
  kAborted,
  kOutOfRange,
  kNotImplemented,
  kInternal,
  kUnavailable,
  kDataLoss,
  kNotAuthenticated,
  // The request as bytes.
  kRequestMalformed,
  kRequestTooDeep,
  kRequestTooLarge,
  // What it names.
  kObjectNameInvalid,
  kObjectUnknown,
  kObjectDropped,
  kObjectExists,
  kTooManyObjects,
  kColumnUnknown,
  kColumnInvalid,
  kBatchSizeInvalid,
  kWriteModeInvalid,
  kObjectHasNoKey,
  kModeNotForObject,
  kSnapshotUnknown,
  kSnapshotGone,
  kSnapshotGivenUp,
  kTimeToLiveInvalid,
  kResumeTokenInvalid,
  kQueryUnknown,
  // Overload and limits.
  kQueueTooLong,
  kInFlightBytes,
  kAnswerBytes,
  kAnswerUnread,
  kScanChunks,
  kSnapshotsHeld,
  kQueriesRunning,
  kControlQueueFull,
  kSessionBytes,
  kBufferFull,
  kMemoryLimit,
  kSystemMemory,
  // Ends of calls.
  kCallTooLong,
  kCallerDeadline,
  kCallerGone,
  kQueryCancelled,
  kKeysMoving,
  kServerStopping,
  kEngineClosing,
};

struct ErrorKind {
  ErrorReason reason;
  absl::StatusCode code;
  absl::string_view name;     // as clients see it: UPPER_SNAKE
  absl::string_view meaning;  // a sentence
  absl::string_view helps;    // a sentence: what the client or the operator can do
  // The usual time after which the call may succeed; then nothing of the refused call was done. 0:
  // unknown.
  uint32_t retry_ms = 0;
};

namespace errors_internal {
using C = absl::StatusCode;
using R = ErrorReason;

inline constexpr ErrorKind kKinds[] = {
    {R::kCallCancelled, C::kCancelled, "CALL_CANCELLED", "The call was cancelled.",
     "Nothing, if you cancelled it; otherwise call again."},
    {R::kUnknown, C::kUnknown, "UNKNOWN", "An error without a known cause.",
     "Report it, with the text and the server's log."},
    {R::kRequestInvalid, C::kInvalidArgument, "REQUEST_INVALID",
     "A part of the request is not allowed; the text names it and what is allowed.",
     "Correct the request. The same request fails again."},
    {R::kDeadlinePassed, C::kDeadlineExceeded, "DEADLINE_PASSED",
     "The call's deadline passed before its end. The outcome of a write is unknown.",
     "Allow more time, or send smaller requests."},
    {R::kNotFound, C::kNotFound, "NOT_FOUND", "What the request names does not exist.",
     "Check the name, or create it first."},
    {R::kAlreadyExists, C::kAlreadyExists, "ALREADY_EXISTS",
     "What the request would create exists already.", "Take another name, or drop the old one."},
    {R::kPermissionDenied, C::kPermissionDenied, "PERMISSION_DENIED",
     "The caller is known, but may not do this.",
     "Use a token or certificate with the role, or ask an administrator for it."},
    {R::kLimitReached, C::kResourceExhausted, "LIMIT_REACHED",
     "A limit is reached; the text names it.",
     "Ask for less, try again later, or raise the limit."},
    {R::kNotPossible, C::kFailedPrecondition, "NOT_POSSIBLE",
     "The object, or the server's state, does not allow the call.",
     "Use the call that fits this kind of object; the text names it."},
    {R::kAborted, C::kAborted, "ABORTED", "The server gave the work up.", "Call again."},
    {R::kOutOfRange, C::kOutOfRange, "OUT_OF_RANGE",
     "A computed value does not fit its type, or a result has too many groups.",
     "Use a larger type, or a filter that leaves fewer rows."},
    {R::kNotImplemented, C::kUnimplemented, "NOT_IMPLEMENTED",
     "This server does not have what the request asks for.",
     "Compare the versions of client and server."},
    {R::kInternal, C::kInternal, "INTERNAL", "The server contradicts itself.",
     "Report it, with the text and the server's log."},
    {R::kUnavailable, C::kUnavailable, "UNAVAILABLE", "The server cannot serve the call now.",
     "Call again after some time."},
    {R::kDataLoss, C::kDataLoss, "DATA_LOSS", "Data is damaged.",
     "Report it, with the text and the server's log."},
    {R::kNotAuthenticated, C::kUnauthenticated, "NOT_AUTHENTICATED",
     "The caller has no valid token or certificate.",
     "Pass a token or certificate that is known, and not expired or revoked."},

    {R::kRequestMalformed, C::kInvalidArgument, "REQUEST_MALFORMED",
     "The request's bytes are not a message of its type. `value` is the offset of the field at "
     "which reading failed.",
     "Use the messages of proto/eris/v1 of this server's version."},
    {R::kRequestTooDeep, C::kInvalidArgument, "REQUEST_TOO_DEEP",
     "Messages are nested too deeply. `value` is the offset of the field that goes too deep.",
     "Simplify the expression; for example, make a chain of `and` one list."},
    {R::kRequestTooLarge, C::kInvalidArgument, "REQUEST_TOO_LARGE",
     "The request alone needs more memory than all calls together may hold.",
     "Send smaller batches, or raise server.in_flight_bytes_max. The same request fails again."},

    {R::kObjectNameInvalid, C::kInvalidArgument, "OBJECT_NAME_INVALID",
     "An object's name is empty, too long, or has control characters.", "Take another name."},
    {R::kObjectUnknown, C::kNotFound, "OBJECT_UNKNOWN", "There is no object of this name.",
     "List the objects, or create it first."},
    {R::kObjectDropped, C::kNotFound, "OBJECT_DROPPED",
     "The object was dropped while the call used it.", "Open it again, if there is a new one."},
    {R::kObjectExists, C::kAlreadyExists, "OBJECT_EXISTS", "An object has this name already.",
     "Take another name, or drop the old one."},
    {R::kTooManyObjects, C::kResourceExhausted, "TOO_MANY_OBJECTS",
     "The engine holds as many objects as it can.", "Drop objects that are not needed."},
    {R::kColumnUnknown, C::kInvalidArgument, "COLUMN_UNKNOWN",
     "The object has no column of this name.", "Look at the object's schema."},
    {R::kColumnInvalid, C::kInvalidArgument, "COLUMN_INVALID",
     "Columns do not fit the object's schema: their number, type, length, nulls or offsets.",
     "Send the columns as column.proto describes them."},
    {R::kBatchSizeInvalid, C::kInvalidArgument, "BATCH_SIZE_INVALID",
     "A batch has no rows, too many rows, or too many bytes.", "Send smaller batches."},
    {R::kWriteModeInvalid, C::kInvalidArgument, "WRITE_MODE_INVALID",
     "The write mode is unknown or not set.", "Set one of the modes of data.proto."},
    {R::kObjectHasNoKey, C::kFailedPrecondition, "OBJECT_HAS_NO_KEY",
     "The object is a heap table: its rows have no key.",
     "Scan it; for lookups create a clustered table."},
    {R::kModeNotForObject, C::kFailedPrecondition, "MODE_NOT_FOR_OBJECT",
     "This kind of object does not take this write mode.",
     "Use a mode that the text names, or another kind of object."},
    {R::kSnapshotUnknown, C::kNotFound, "SNAPSHOT_UNKNOWN", "There is no snapshot of this number.",
     "Nothing, if it was released before."},
    {R::kSnapshotGone, C::kFailedPrecondition, "SNAPSHOT_GONE",
     "The snapshot was released, or not used for its time to live.",
     "Take a new one. For a scan: start it again."},
    {R::kSnapshotGivenUp, C::kAborted, "SNAPSHOT_GIVEN_UP",
     "The server gave the snapshot up: it grew too old, or its old rows took too much memory.",
     "Scan again, in less time; or raise engine.snapshot_age_ms_max or engine.version_bytes_max."},
    {R::kTimeToLiveInvalid, C::kInvalidArgument, "TIME_TO_LIVE_INVALID",
     "The time to live is too long.", "Ask for less, and use the snapshot from time to time."},
    {R::kResumeTokenInvalid, C::kInvalidArgument, "RESUME_TOKEN_INVALID",
     "The token is damaged, or of another server, object or query.",
     "Start the scan again, without a token."},
    {R::kQueryUnknown, C::kNotFound, "QUERY_UNKNOWN", "No query of this number is running.",
     "Nothing: it has ended."},

    {R::kQueueTooLong, C::kResourceExhausted, "QUEUE_TOO_LONG",
     "Accepted calls wait longer than server.queue_ms_max. Nothing was done.",
     "Wait as long as RetryInfo says, then try again; send less, or larger batches.", 20},
    {R::kInFlightBytes, C::kResourceExhausted, "IN_FLIGHT_BYTES",
     "The calls under way hold nearly all of server.in_flight_bytes_max, or this client has too "
     "many streams, or as many bytes of unread answers as are left. Nothing was done.",
     "Wait as long as RetryInfo says, then try again; or raise the limit.", 50},
    {R::kAnswerBytes, C::kResourceExhausted, "ANSWER_BYTES",
     "The answer has no room: in server.in_flight_bytes_max, or in the limit of one answer.",
     "Ask for fewer keys or rows at once."},
    {R::kAnswerUnread, C::kResourceExhausted, "ANSWER_UNREAD",
     "The client did not read its answer for server.stall_ms_max.",
     "Read answers as they arrive, or ask for less."},
    {R::kScanChunks, C::kResourceExhausted, "SCAN_CHUNKS",
     "Open scans use all memory for scans' answers, or this client leaves too many unread.",
     "Wait as long as RetryInfo says, then try again; or raise engine.scan_chunks_max.", 200},
    {R::kSnapshotsHeld, C::kResourceExhausted, "SNAPSHOTS_HELD",
     "Clients, or this client, hold as many snapshots as they may.",
     "Release some, or give them a shorter time to live."},
    {R::kQueriesRunning, C::kResourceExhausted, "QUERIES_RUNNING",
     "As many queries run as may, of all clients or of this one.",
     "Wait as long as RetryInfo says, then try again.", 200},
    {R::kControlQueueFull, C::kResourceExhausted, "CONTROL_QUEUE_FULL",
     "Too many calls of the catalogue or of operators wait, of all clients or of this one.",
     "Wait as long as RetryInfo says, then try again.", 200},
    {R::kSessionBytes, C::kResourceExhausted, "SESSION_BYTES",
     "One session has more in flight than engine.session_in_flight_bytes_max.",
     "Wait for answers before you send more, or raise the limit."},
    {R::kBufferFull, C::kResourceExhausted, "BUFFER_FULL",
     "An AEU did not take commands for engine.send_wait_ms_max. Of a scan into another object, "
     "some rows may have been written.",
     "Try again later, with fewer requests at once."},
    {R::kMemoryLimit, C::kResourceExhausted, "MEMORY_LIMIT",
     "The memory for data is used up. Rows that were refused changed nothing.",
     "Erase rows, drop objects, or raise engine.memory_limit_bytes."},
    {R::kSystemMemory, C::kResourceExhausted, "SYSTEM_MEMORY",
     "The system gave the process no memory.", "Give the process or its cgroup more memory."},

    {R::kCallTooLong, C::kDeadlineExceeded, "CALL_TOO_LONG",
     "The call took longer than server.call_ms_max. The outcome of a write is unknown.",
     "Send smaller requests, or raise the limit."},
    {R::kCallerDeadline, C::kDeadlineExceeded, "CALLER_DEADLINE",
     "The client's own deadline passed. The outcome of a write is unknown.",
     "Allow more time, or send smaller requests."},
    {R::kCallerGone, C::kCancelled, "CALLER_GONE",
     "The client cancelled the call or closed its connection.", "Nothing."},
    {R::kQueryCancelled, C::kCancelled, "QUERY_CANCELLED", "Another client cancelled the query.",
     "Ask the operator why, or run it again."},
    {R::kKeysMoving, C::kUnavailable, "KEYS_MOVING",
     "Keys moved between AEUs again and again while the call ran.", "Call again."},
    {R::kServerStopping, C::kUnavailable, "SERVER_STOPPING", "The server is stopping.",
     "Call another server, or again after the restart."},
    {R::kEngineClosing, C::kUnavailable, "ENGINE_CLOSING", "The engine is closing.",
     "Open it again."},
};

// KindOf and ReasonOfCode count on it. The last reason has a row, so all have.
constexpr bool InOrder() {
  size_t at = 0;
  for (const ErrorKind& kind : kKinds) {
    if (static_cast<size_t>(kind.reason) != at++) return false;
    if (at <= 16 && static_cast<size_t>(kind.code) != at) return false;
  }
  return at == static_cast<size_t>(R::kEngineClosing) + 1;
}
static_assert(InOrder());

inline constexpr absl::string_view kPayload = "eris/error";
inline constexpr char kBreak = '\n';
}  // namespace errors_internal

inline constexpr absl::string_view kErrorDomain = "eris";
inline constexpr const auto& kErrorKinds = errors_internal::kKinds;

inline const ErrorKind& KindOf(ErrorReason reason) {
  return errors_internal::kKinds[static_cast<size_t>(reason)];
}
// nullptr: a name of a newer server.
inline const ErrorKind* FindErrorKind(absl::string_view name) {
  for (const ErrorKind& kind : kErrorKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}
// The reason of a status that has none of its own. REQUIRES: a code of absl's, not OK.
inline ErrorReason ReasonOfCode(absl::StatusCode code) {
  const int number = static_cast<int>(code);
  return number >= 1 && number <= 16 ? static_cast<ErrorReason>(number - 1) : ErrorReason::kUnknown;
}

// What a status says besides its code and text. Empty texts: not given.
struct ErrorDetails {
  std::string reason{};   // the name
  std::string field{};    // of the request, or the option
  std::string value{};    // its value, or as much as is needed
  std::string limit{};    // the limit or what is allowed
  uint32_t retry_ms = 0;  // the call may succeed after this time; 0: unknown
};

// Adds details to a status, or replaces them. `details.reason` may be a name of a newer server. A
// line break in a text becomes a space. Throws std::bad_alloc.
inline void SetErrorDetails(const ErrorDetails& details, absl::Status* status) {
  std::string bytes = details.reason;
  for (const std::string* text : {&details.field, &details.value, &details.limit}) {
    bytes += errors_internal::kBreak;
    for (const char c : *text) bytes += c == errors_internal::kBreak ? ' ' : c;
  }
  absl::StrAppend(&bytes, absl::string_view(&errors_internal::kBreak, 1), details.retry_ms);
  status->SetPayload(errors_internal::kPayload, absl::Cord(bytes));
}

// A status with the reason's code.
inline absl::Status Error(ErrorReason reason, absl::string_view message,
                          ErrorDetails details = {}) {
  const ErrorKind& kind = KindOf(reason);
  absl::Status status(kind.code, message);
  details.reason = std::string(kind.name);
  if (details.retry_ms == 0) details.retry_ms = kind.retry_ms;
  SetErrorDetails(details, &status);
  return status;
}

// The details of a status, at least a reason. REQUIRES: not OK.
inline ErrorDetails ErrorDetailsOf(const absl::Status& status) {
  ErrorDetails details;
  const absl::optional<absl::Cord> payload = status.GetPayload(errors_internal::kPayload);
  if (!payload) {
    details.reason = std::string(KindOf(ReasonOfCode(status.code())).name);
    return details;
  }
  const std::string bytes(*payload);
  absl::string_view rest = bytes;
  const auto next = [&rest] {
    const size_t end = rest.find(errors_internal::kBreak);
    const absl::string_view text = rest.substr(0, end);
    rest = end == rest.npos ? absl::string_view() : rest.substr(end + 1);
    return std::string(text);
  };
  for (std::string* text : {&details.reason, &details.field, &details.value, &details.limit}) {
    *text = next();
  }
  static_cast<void>(absl::SimpleAtoi(rest, &details.retry_ms));
  return details;
}

// The same status with another text.
inline absl::Status WithText(const absl::Status& status, absl::string_view message) {
  absl::Status other(status.code(), message);
  status.ForEachPayload([&other](absl::string_view type, const absl::Cord& payload) {
    other.SetPayload(type, payload);
  });
  return other;
}

}  // namespace eris

#endif  // ERIS_ERRORS_H_
