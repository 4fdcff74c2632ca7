#include "server/state/server_state.h"

#include <malloc.h>

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "server/state/memory_limits.h"

namespace eris::server {
namespace {

// A snapshot with its part of the client's share, which lasts as long as it.
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
  const auto shared = std::make_shared<SharedSnapshot>(
      SharedSnapshot{std::move(snapshot), std::move(hold)});  // clang 14 has no other way
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
  // A server that holds this much is not quiet, and what it holds cannot be given back.
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
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot,
                        TakeSnapshotFor(server, std::move(client)));
  return server.leases().AddForTickets(std::move(snapshot),
                                       std::chrono::milliseconds(server.live.flight_snapshot_ms()));
}

absl::Status QueueTooLongStatus(const QueueGate& gate) {
  const auto limit = absl::StrCat(gate.wait_max().count());
  return Error(ErrorReason::kQueueTooLong,
               absl::StrCat("accepted calls wait longer than server.queue_ms_max, ", limit,
                            " ms: nothing was done, try again later"),
               {.field = "server.queue_ms_max", .limit = limit});
}

absl::Status OverBudgetStatus(const ByteBudget& budget, uint64_t bytes, bool is_write) {
  const ErrorDetails details{.field = "server.in_flight_bytes_max",
                             .value = absl::StrCat(bytes),
                             .limit = absl::StrCat(budget.bytes_max())};
  if (bytes > (is_write ? WriteBytesMax(budget.bytes_max()) : budget.bytes_max())) {
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
                            bytes, " more, server.in_flight_bytes_max is ", budget.bytes_max(),
                            " (writes: three quarters); try again, or give the process more "
                            "memory"),
               details);
}

absl::Status AnswerOverBudgetStatus(uint64_t bytes) {
  return Error(ErrorReason::kAnswerBytes,
               absl::StrCat("the calls under way leave no room for an answer of ", bytes,
                            " bytes within server.in_flight_bytes_max; ask for fewer keys at once"),
               {.field = "server.in_flight_bytes_max", .value = absl::StrCat(bytes)});
}

}  // namespace eris::server
