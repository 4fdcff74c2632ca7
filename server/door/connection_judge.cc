#include "server/door/connection_judge.h"

#include <algorithm>

namespace eris::server {
namespace {

// What a client sends with a call that nobody reads: a window of gRPC, some hundred KiB.
constexpr uint64_t kRefusedCallBytes = 1 << 20;
// What clients send in one message without asking how much this server takes: the largest batch. It
// comes completely before it is refused.
constexpr uint64_t kOrdinaryMessageBytes = 40 << 20;
// A call whose headers have come may wait for a thread: so long, and with so much of its message in
// a window, it is not yet served.
constexpr std::chrono::seconds kBeginMax{1};
constexpr uint64_t kWindowBytes = 16 << 20;

}  // namespace

std::optional<DoorCause> ConnectionJudge::Judge(const JudgeLimits& limits, Clock::time_point now,
                                                const ConnectionCounts& counts,
                                                absl::FunctionRef<uint64_t()> served_calls) {
  if (CancelsCalls(limits, now, counts)) return DoorCause::kCancelledCalls;
  if (counts.messages != at_message_.messages) {
    at_message_ = counts;
    served_max_ = 0;
    too_many_since_.reset();
  }
  if (SendsUnusedBytes(limits, now, counts, served_calls)) return DoorCause::kUnusedBytes;
  return std::nullopt;
}

bool ConnectionJudge::SendsUnusedBytes(const JudgeLimits& limits, Clock::time_point now,
                                       const ConnectionCounts& counts,
                                       absl::FunctionRef<uint64_t()> served_calls) {
  if (limits.unused_bytes_max == 0) return false;
  const uint64_t bytes = counts.received_bytes - at_message_.received_bytes;
  const uint64_t always =
      limits.unused_bytes_max + (counts.sent_bytes - at_message_.sent_bytes) / 16;
  if (bytes <= always) return false;
  // Also of a call that has ended: its time was up, and its last bytes are still on their way.
  served_max_ = std::max(served_max_, served_calls());
  // A call that the server has refused at its beginning was never served, and its request comes
  // nevertheless.
  const uint64_t ended = counts.calls_succeeded + counts.calls_failed -
                         at_message_.calls_succeeded - at_message_.calls_failed;
  const uint64_t of_call = std::max(2 * limits.message_bytes_max, kOrdinaryMessageBytes);
  uint64_t of_calls = served_max_ * of_call + ended * kRefusedCallBytes;
  if (limits.arriving_bytes_max > 0) of_calls = std::min(of_calls, limits.arriving_bytes_max);
  if (bytes <= always + of_calls) {
    too_many_since_.reset();
    return false;
  }
  if (!too_many_since_) too_many_since_ = now;
  return bytes > always + of_calls + kWindowBytes || now - *too_many_since_ >= kBeginMax;
}

bool ConnectionJudge::CancelsCalls(const JudgeLimits& limits, Clock::time_point now,
                                   const ConnectionCounts& counts) {
  if (limits.cancelled_calls_max == 0) return false;
  // A client may cancel all of its calls at once, and begin anew.
  const uint64_t failed_max = limits.cancelled_calls_max + limits.calls_max;
  const uint64_t failed = counts.calls_failed - at_second_.calls_failed;
  const uint64_t succeeded = counts.calls_succeeded - at_second_.calls_succeeded;
  // Calls that have been reset before the server's threads came to them are not yet counted as
  // failed. No client that keeps to the server's settings has this many.
  // The counts are read one after the other, while calls go on: more may have ended than begun.
  const uint64_t ended = counts.calls_failed + counts.calls_succeeded;
  const uint64_t open = counts.calls_started - std::min(counts.calls_started, ended);
  const bool cancels = (failed > failed_max && failed / 9 >= succeeded) ||
                       open > limits.cancelled_calls_max + 2 * limits.calls_max;
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    at_second_ = counts;
  }
  return cancels;
}

}  // namespace eris::server
