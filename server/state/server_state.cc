#include "server/state/server_state.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/state/memory_limits.h"

namespace eris::server {
namespace {

// A snapshot that a client will hold.
absl::StatusOr<std::shared_ptr<Snapshot>> TakeSnapshotFor(ServerState& server) {
  // Concurrent calls may each pass the check: the limit keeps slots free, and need not be exact.
  if (server.leases().taken() >= SnapshotLeases::kTakenMax) {
    return absl::ResourceExhaustedError(absl::StrCat("clients hold ", server.leases().taken(),
                                                     " snapshots; the limit is ",
                                                     SnapshotLeases::kTakenMax, ", release one"));
  }
  return server.engine->TakeSnapshot();
}

}  // namespace

absl::Status TooLongStatus(uint32_t call_ms_max, bool is_write) {
  return absl::DeadlineExceededError(absl::StrCat("the call took longer than server.call_ms_max, ",
                                                  call_ms_max, " ms",
                                                  is_write ? ": the outcome is unknown" : ""));
}

ByteBudget::Charge TakeBudget(ServerState& server, bool is_write, uint64_t bytes) {
  const uint64_t most = server.budget.bytes_max();
  return server.budget.TryTake(bytes, is_write ? WriteBytesMax(most) : most);
}

absl::StatusOr<uint64_t> TakeLease(ServerState& server, std::chrono::milliseconds time_to_live) {
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, TakeSnapshotFor(server));
  return server.leases().Add(std::move(snapshot), time_to_live);
}

absl::StatusOr<SnapshotLeases::Use> TakeTicketLease(ServerState& server) {
  ERIS_ASSIGN_OR_RETURN(std::shared_ptr<Snapshot> snapshot, TakeSnapshotFor(server));
  return server.leases().AddForTickets(std::move(snapshot),
                                       std::chrono::milliseconds(server.live.flight_snapshot_ms()));
}

absl::Status OverBudgetStatus(const ByteBudget& budget, uint64_t bytes) {
  const bool ever = bytes <= WriteBytesMax(budget.bytes_max());
  return absl::ResourceExhaustedError(absl::StrCat(
      "calls under way hold ", budget.used(), " bytes, this one needs ", bytes,
      " more, server.in_flight_bytes_max is ", budget.bytes_max(), " (writes: three quarters); ",
      ever ? "try again" : "send smaller batches", ", or give the process more memory"));
}

absl::Status AnswerOverBudgetStatus(uint64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the calls under way leave no room for an answer of ", bytes,
                   " bytes within server.in_flight_bytes_max; ask for fewer keys at once"));
}

}  // namespace eris::server
