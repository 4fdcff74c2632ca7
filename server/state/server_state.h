// The state that all calls of one server share. Built before the first call and destroyed after the
// last.
#ifndef ERIS_SERVER_STATE_SERVER_STATE_H_
#define ERIS_SERVER_STATE_SERVER_STATE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "server/access/access.h"
#include "server/guard/arrival_gate.h"
#include "server/guard/byte_budget.h"
#include "server/guard/drain_gate.h"
#include "server/guard/running_queries.h"
#include "server/guard/session_pool.h"
#include "server/guard/sweep_timer.h"
#include "server/metrics/figures.h"
#include "server/metrics/slow_log.h"
#include "server/overload/client_shares.h"
#include "server/overload/queue_gate.h"
#include "server/state/config.h"
#include "server/state/control_executor.h"
#include "server/state/live_options.h"
#include "server/state/memory_limits.h"
#include "server/state/resume_token.h"
#include "server/state/token_seal.h"

namespace eris::server {

// Calls with one request arrive in separate groups: reads and scans do not wait for a slowly
// arriving write, and an operator's calls wait for neither. Writes get a smaller part of the byte
// budget.
enum class CallWay { kRead, kWrite, kControl };

struct ServerState {
  // `io` runs the timers: one thread runs it, and it outlives the state.
  ServerState(const ServerConfig& config_in, Engine* engine_in, boost::asio::io_context* io,
              uint64_t token_seed, ArrivalPlaces arriving = {})
      : config(config_in),
        live(config_in),
        engine(engine_in),
        access(config_in.security, io),
        budget(config_in.in_flight_bytes_max),
        reads_arriving(arriving.reads),
        writes_arriving(arriving.writes),
        control_arriving(arriving.control),
        sessions(engine_in),
        tokens(token_seed),
        seal(token_seed),
        lease_timer(io),
        calls(io, std::chrono::milliseconds(config_in.call_ms_max)),
        stalls(io, std::chrono::milliseconds(config_in.stall_ms_max)),
        parks(io, kParkAfter),
        lookups_queued(std::chrono::milliseconds(config_in.queue_ms_max)),
        writes_queued(std::chrono::milliseconds(config_in.queue_ms_max)),
        unread_groups(UnreadGroupsMax(engine_in->Memory().plan)),
        streams(StreamsMax(config_in.in_flight_bytes_max)),
        answers(WriteBytesMax(config_in.in_flight_bytes_max)),
        trims(io, TrimHooks()) {}

  // A scan whose chunk has not been read for this long gives its other chunks back (scan_park.h).
  static constexpr std::chrono::milliseconds kParkAfter{250};
  // Open calls of Health/Watch, each of some KiB in gRPC.
  static constexpr size_t kHealthWatchesMax = 4096;

  const ServerConfig config;  // of the start; options that can change are in `live`
  LiveOptions live;
  const std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
  Engine* const engine;
  Access access;
  // Requests hold it too: the engine may answer one after the last call has ended.
  const std::shared_ptr<CallWatch> kept_watch = std::make_shared<CallWatch>(config.slow_call_ms);
  CallWatch& watch = *kept_watch;
  // Counts the server's connections; any thread. Empty: nothing does. Set before the first reader.
  std::function<ConnectionFigures()> connections{};
  DrainGate gate;
  ByteBudget budget;
  ArrivalGate reads_arriving;
  ArrivalGate writes_arriving;
  ArrivalGate control_arriving;
  SessionPool sessions;
  RunningQueries queries;
  ResumeTokenCodec tokens;
  TokenSeal seal;          // of other tokens
  LeaseTimer lease_timer;  // for snapshots that clients hold
  SweepTimer calls;        // unary calls and requests of streams, from their start to their answer
  SweepTimer stalls;       // writes that wait for the client
  SweepTimer parks;        // the same, of scans
  QueueGate lookups_queued;
  QueueGate writes_queued;
  ClientShares beyond_queues{QueueGate::kCallsMin};   // calls inside although a queue was full
  ClientShares snapshots{SnapshotLeases::kTakenMax};  // that clients hold
  ClientShares unread_groups;                         // scans of groups that are kept unread
  ClientShares streams;                               // of batches
  ClientShares answers;                               // bytes of scans and of large calls
  ClientShares health_watches{kHealthWatchesMax};     // by address
  TrimTimer trims;
  ControlExecutor control{1};
  ControlExecutor moves{ControlExecutor::kMovesAtOnce};  // calls that move ranges
  ControlExecutor flights{ControlExecutor::kFlightsAtOnce};

  // When to give memory back, and how.
  IdleTrim::Hooks TrimHooks();
  ArrivalGate& arrivals(CallWay way) {
    return way == CallWay::kWrite  ? writes_arriving
           : way == CallWay::kRead ? reads_arriving
                                   : control_arriving;
  }
  QueueGate& queued(bool is_write) { return is_write ? writes_queued : lookups_queued; }
  SnapshotLeases& leases() { return lease_timer.leases(); }
};

// The status of a call, or a stream's request, that has taken longer than server.call_ms_max.
absl::Status TooLongStatus(uint32_t call_ms_max, bool is_write);

// Takes `bytes` of the budget. Writes together get only their part. Empty: there is no room.
ByteBudget::Charge TakeBudget(ServerState& server, bool is_write, uint64_t bytes);

// Takes a snapshot for a client and returns its lease. Errors: ResourceExhausted (the client holds
// its share of SnapshotLeases::kTakenMax, or the engine has no more), Unavailable.
absl::StatusOr<uint64_t> TakeLease(ServerState& server, std::string client,
                                   std::chrono::milliseconds time_to_live);
// The same for the tickets of Arrow Flight, kept for server.flight_snapshot_ms after its last use.
// Errors: as above.
absl::StatusOr<SnapshotLeases::Use> TakeTicketLease(ServerState& server, std::string client);

// The client's part of three quarters of the budget, which large answers may take while they are
// made and until they are read; `bytes` are also charged to the budget. A single answer counts as
// at most half of that, so that there is room for it when nobody else has any. Errors:
// ResourceExhausted (the client holds as much as is left).
absl::StatusOr<ClientShares::Hold> TakeAnswerShare(ServerState& server, std::string client,
                                                   uint64_t bytes);
// The same for `more` bytes of an answer that has a share. False: there is no room.
bool GrowAnswerShare(const ServerState& server, uint64_t more, ClientShares::Hold& share);

// The status of a lookup or write that came while accepted ones wait too long. Nothing was done.
absl::Status QueueTooLongStatus(const QueueGate& gate);

// The status of a call for which the budget has no room: InvalidArgument if it never has, otherwise
// ResourceExhausted. Nothing of the call was done. `bytes`: all that the call needs, with what it
// holds already.
absl::Status OverBudgetStatus(const ByteBudget& budget, uint64_t bytes, bool is_write = false);

// The same for the byte strings of an answer.
absl::Status AnswerOverBudgetStatus(uint64_t bytes);

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_SERVER_STATE_H_
