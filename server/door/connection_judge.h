// Decides by a connection's counts whether what it sends is of use. gRPC 1.51 limits neither the
// headers of a call that it has not taken nor calls that are opened and reset; a connection
// that does such things is closed. Owned by one thread; no clock and no gRPC of its own.
//
// Two rules. Honest clients stay far from both, however slow they are: no rule has a time in it
// that a slow client could exceed.
// 1. Bytes that become no message. Bytes that have been received since the last complete message
//    may be: server.unused_bytes_max, for headers and frames of control; for each call that the
//    server has served on this connection meanwhile, at its most, twice the largest message, or
//    40 MiB (one that is too large is refused with an error that says so, after it has come); for
//    each call that has ended meanwhile 1 MiB, which nobody has read; and a 16th of the bytes sent,
//    for what a reader of much acknowledges. A call with endless headers is never served. As calls
//    may have to wait for a thread, up to 16 MiB more may be there for a second.
// 2. Calls that end cancelled. server.cancelled_calls_max of them within a second, if they are nine
//    tenths of the calls that have ended.
#ifndef ERIS_SERVER_DOOR_CONNECTION_JUDGE_H_
#define ERIS_SERVER_DOOR_CONNECTION_JUDGE_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "server/door/door_stats.h"

namespace eris::server {

struct ConnectionCounts {
  uint64_t received_bytes = 0;  // 0 on a Unix socket, where the system does not count
  uint64_t sent_bytes = 0;
  uint64_t calls_started = 0;
  uint64_t calls_succeeded = 0;
  uint64_t calls_failed = 0;
  uint64_t messages = 0;
};

struct JudgeLimits {
  uint64_t unused_bytes_max = 0;     // 0: rule 1 is off
  uint64_t cancelled_calls_max = 0;  // 0: rule 2 is off
  uint64_t message_bytes_max = 0;    // the largest request
  uint64_t arriving_bytes_max = 0;   // what all requests that arrive may hold; 0: no limit
  uint64_t calls_max = 0;            // at once on a connection
};

class ConnectionJudge {
 public:
  using Clock = std::chrono::steady_clock;

  // `served_calls` tells how many calls of this connection the server serves now; it is asked only
  // if there is a suspicion, because it takes long. nullopt: good so far.
  std::optional<DoorCause> Judge(const JudgeLimits& limits, Clock::time_point now,
                                 const ConnectionCounts& counts,
                                 absl::FunctionRef<uint64_t()> served_calls);

  // What has been received since the last complete message, by counts that were judged.
  uint64_t Unfinished(const ConnectionCounts& counts) const {
    return counts.received_bytes - at_message_.received_bytes;
  }

 private:
  bool SendsUnusedBytes(const JudgeLimits& limits, Clock::time_point now,
                        const ConnectionCounts& counts, absl::FunctionRef<uint64_t()> served_calls);
  bool CancelsCalls(const JudgeLimits& limits, Clock::time_point now,
                    const ConnectionCounts& counts);

  ConnectionCounts at_message_;  // when the last complete message was first seen
  uint64_t served_max_ = 0;      // calls at once since then, as far as they were asked for
  // Since when there are more bytes than may be.
  std::optional<Clock::time_point> too_many_since_;
  ConnectionCounts at_second_;  // when the current second began
  Clock::time_point second_{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_CONNECTION_JUDGE_H_
