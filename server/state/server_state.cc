#include "server/state/server_state.h"

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "server/state/memory_limits.h"

namespace eris::server {
namespace {

// A snapshot and its part of the client's share, which is given back together with it.
struct SharedSnapshot {
  std::shared_ptr<Snapshot> snapshot;
  ClientShares::Hold hold;
};

// A snapshot that a client will hold.
absl::StatusOr<std::shared_ptr<Snapshot>> TakeSnapshotFor(ServerState& server, std::string client) {
  const size_t all = server.snapshots.held();
  const size_t own = server.snapshots.held_by(client);
  ClientShares::Hold hold = server.snapshots.TryTake(std::move(client));
  if (!hold) {
    return Error(ErrorReason::kSnapshotsHeld,
                 absl::StrCat("clients hold ", all, " snapshots, this one ", own, "; the limit is ",
                              server.snapshots.max(),
                              ", and no client gets more than are left; release one"),
                 {.value = absl::StrCat(own), .limit = absl::StrCat(server.snapshots.max())});
  }
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, server.engine->TakeSnapshot());
  // Moved into place: clang 14 initializes aggregates only with braces.
  const auto shared =
      std::make_shared<SharedSnapshot>(SharedSnapshot{std::move(snapshot), std::move(hold)});
  return std::shared_ptr<Snapshot>(shared, shared->snapshot.get());
}

}  // namespace

absl::Status TooLongStatus(uint32_t call_ms_max, bool is_write) {
  return Error(ErrorReason::kCallTooLong,
               absl::StrCat("the call took longer than server.call_ms_max, ", call_ms_max, " ms",
                            is_write ? ": the outcome is unknown" : ""),
               {.field = "server.call_ms_max", .limit = absl::StrCat(call_ms_max)});
}

IdleTrim::Hooks ServerState::TrimHooks() {
  // A server is busy if its calls hold more than this part of the budget: a trim could not free it.
  constexpr uint64_t kBusyPart = 8;
  return {
      .arm = {},
      .activity = [this] { return gate.entered() + lookups_queued.done() + writes_queued.done(); },
      .busy = [this] { return budget.used() > budget.bytes_max() / kBusyPart; },
      .trim = [] { malloc_trim(0); }};
}

ByteBudget::Charge TakeBudget(ServerState& server, bool is_write, uint64_t bytes) {
  server.trims.trim().Used();
  const uint64_t most = server.budget.bytes_max();
  return server.budget.TryTake(bytes, is_write ? WriteBytesMax(most) : most);
}

absl::StatusOr<uint64_t> TakeLease(ServerState& server, std::string client,
                                   std::chrono::milliseconds time_to_live) {
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot,
                        TakeSnapshotFor(server, std::move(client)));
  return server.leases().Add(std::move(snapshot), time_to_live);
}

absl::StatusOr<SnapshotLeases::Use> TakeTicketLease(ServerState& server, std::string client) {
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, TakeSnapshotFor(server, client));
  return server.leases().AddForTickets(std::move(client), std::move(snapshot),
                                       std::chrono::milliseconds(server.live.flight_snapshot_ms()));
}

absl::StatusOr<ClientShares::Hold> TakeAnswerShare(ServerState& server, std::string client,
                                                   uint64_t bytes) {
  const size_t most = server.answers.max();
  const size_t all = server.answers.held();
  const size_t own = server.answers.held_by(client);
  ClientShares::Hold share =
      server.answers.TryTake(std::move(client), std::clamp<size_t>(bytes, 1, most / 2));
  if (share) return share;
  return Error(ErrorReason::kInFlightBytes,
               absl::StrCat("unread and unfinished answers of all clients hold ", all,
                            " bytes, those of this client ", own, ", this one needs ", bytes,
                            "; server.in_flight_bytes_max allows ", most,
                            ", and no client gets more than are left: read some, or try again"),
               {.field = "server.in_flight_bytes_max",
                .value = absl::StrCat(own + bytes),
                .limit = absl::StrCat(most)});
}

bool GrowAnswerShare(const ServerState& server, uint64_t more, ClientShares::Hold& share) {
  const size_t most = server.answers.max() / 2;
  const size_t counted = std::min<size_t>(more, most - std::min(share.held(), most));
  return counted == 0 || share.TryGrow(counted);
}

absl::Status QueueTooLongStatus(const QueueGate& gate) {
  const auto limit = absl::StrCat(gate.wait_max().count());
  return Error(ErrorReason::kQueueTooLong,
               absl::StrCat("accepted calls wait longer than server.queue_ms_max, ", limit,
                            " ms: nothing was done, try again later"),
               {.field = "server.queue_ms_max", .limit = limit});
}

absl::Status OverBudgetStatus(const ByteBudget& budget, uint64_t bytes, bool is_write) {
  const uint64_t most = is_write ? WriteBytesMax(budget.bytes_max()) : budget.bytes_max();
  const ErrorDetails details{.field = "server.in_flight_bytes_max",
                             .value = absl::StrCat(bytes),
                             .limit = absl::StrCat(most)};
  if (bytes > most) {
    return Error(
        ErrorReason::kRequestTooLarge,
        absl::StrCat(
            "the call needs ", bytes, " bytes, server.in_flight_bytes_max is ", budget.bytes_max(),
            " for all calls (writes: three quarters); send smaller batches or ask for less, or "
            "give the process more memory"),
        details);
  }
  return Error(ErrorReason::kInFlightBytes,
               absl::StrCat("calls under way hold ", budget.used(), " bytes, this one needs ",
                            bytes, ", server.in_flight_bytes_max is ", budget.bytes_max(),
                            " (writes: three quarters); try again, or give the process more "
                            "memory"),
               details);
}

absl::Status AnswerOverBudgetStatus(uint64_t bytes) {
  return Error(ErrorReason::kAnswerBytes,
               absl::StrCat("the calls under way leave no room for an answer of ", bytes,
                            " bytes within server.in_flight_bytes_max; ask for less at once"),
               {.field = "server.in_flight_bytes_max", .value = absl::StrCat(bytes)});
}

}  // namespace eris::server
