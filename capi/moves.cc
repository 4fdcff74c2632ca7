// Moves of ranges: asked for, planned, done.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/status_macros.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "eris/c/admin.h"
#include "eris/move_stop.h"

struct eris_move_stop {
  eris::MoveStop stop;
};

struct eris_transfers {
  std::vector<eris::TransferRecord> records;
  double imbalance_before = 0;
  double imbalance_after = 0;
  std::string reason;
};

namespace eris::capi {
namespace {

std::unique_ptr<eris_transfers> TransfersOf(BalancePlan plan) {
  auto out = std::make_unique<eris_transfers>();
  out->imbalance_before = plan.imbalance_before;
  out->imbalance_after = plan.imbalance_after;
  out->reason = std::move(plan.reason);
  for (PlannedTransfer& planned : plan.transfers) {
    TransferRecord record;
    record.object = std::move(planned.object);
    record.kind = planned.kind;
    record.range = planned.range;
    record.from = planned.from;
    record.to = planned.to;
    record.rows = planned.rows;
    record.bytes = planned.bytes;
    record.started = absl::UnixEpoch();
    out->records.push_back(std::move(record));
  }
  return out;
}

absl::StatusOr<std::optional<TransferKind>> KindFrom(int32_t kind) {
  ERIS_RETURN_IF_ERROR(CheckNumber("kind", kind, 0, ERIS_TRANSFER_LEAP));
  if (kind == 0) return std::optional<TransferKind>();
  return std::optional(static_cast<TransferKind>(kind));
}

MoveStop* StopOf(eris_move_stop* stop) { return stop == nullptr ? nullptr : &stop->stop; }

}  // namespace
}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_transfer_history(eris_engine* engine, eris_transfers** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    auto transfers = std::make_unique<eris_transfers>();
    transfers->records = engine->engine->TransferHistory();
    *out = transfers.release();
    return absl::OkStatus();
  });
}

eris_code eris_plan_balance(eris_engine* engine, const char* name, eris_transfers** out,
                            eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}, {"out", out}}));
    ERIS_ASSIGN_OR_RETURN(eris::BalancePlan plan, engine->engine->PlanBalance(name));
    *out = eris::capi::TransfersOf(std::move(plan)).release();
    return absl::OkStatus();
  });
}

size_t eris_transfers_count(const eris_transfers* transfers) {
  return transfers == nullptr ? 0 : transfers->records.size();
}

eris_code eris_transfers_get(const eris_transfers* transfers, size_t i, eris_transfer* out,
                             eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"transfers", transfers}, {"out", out}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, transfers->records.size()));
    const eris::TransferRecord& its = transfers->records[i];
    return eris::capi::WriteSized("out",
                                  eris_transfer{.struct_size = 0,
                                                .object = its.object.c_str(),
                                                .range = eris::capi::RangeOut(its.range),
                                                .from = its.from.value,
                                                .to = its.to.value,
                                                .kind = static_cast<int32_t>(its.kind),
                                                .outcome = static_cast<int32_t>(its.outcome),
                                                .rows = its.rows,
                                                .bytes = its.bytes,
                                                .started_unix_us = absl::ToUnixMicros(its.started),
                                                .duration_us = its.duration_us,
                                                .reason = its.reason.c_str()},
                                  out);
  });
}

double eris_transfers_imbalance_before(const eris_transfers* transfers) {
  return transfers == nullptr ? 0 : transfers->imbalance_before;
}
double eris_transfers_imbalance_after(const eris_transfers* transfers) {
  return transfers == nullptr ? 0 : transfers->imbalance_after;
}
const char* eris_transfers_reason(const eris_transfers* transfers) {
  return transfers == nullptr ? "" : transfers->reason.c_str();
}
void eris_transfers_free(eris_transfers* transfers) { delete transfers; }

eris_code eris_move_stop_new(eris_move_stop** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"out", out}}));
    *out = new eris_move_stop;
    return absl::OkStatus();
  });
}

void eris_move_stop_now(eris_move_stop* stop) {
  if (stop == nullptr) return;
  Guard(nullptr, [&] {
    stop->stop.Stop(absl::CancelledError("stopped by the caller"));
    return absl::OkStatus();
  });
}
void eris_move_stop_free(eris_move_stop* stop) { delete stop; }

eris_code eris_rebalance(eris_engine* engine, const char* name, int64_t timeout_us,
                         eris_move_stop* stop, eris_transfers** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}}));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    ERIS_ASSIGN_OR_RETURN(eris::BalancePlan plan,
                          engine->engine->Rebalance(name, deadline, eris::capi::StopOf(stop)));
    if (out != nullptr) *out = eris::capi::TransfersOf(std::move(plan)).release();
    return absl::OkStatus();
  });
}

eris_code eris_presplit(eris_engine* engine, const char* name, const eris_range* range,
                        uint32_t parts, int64_t timeout_us, eris_move_stop* stop,
                        eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}, {"range", range}}));
    ERIS_ASSIGN_OR_RETURN(const eris::KeyRange its_range, eris::capi::RangeFrom(*range));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    return engine->engine->Presplit(name, its_range, parts, deadline, eris::capi::StopOf(stop));
  });
}

eris_code eris_move_range(eris_engine* engine, const char* name, const eris_range* range,
                          uint32_t to_aeu, int32_t kind, int64_t timeout_us, eris_move_stop* stop,
                          eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}, {"range", range}}));
    ERIS_ASSIGN_OR_RETURN(const eris::KeyRange its_range, eris::capi::RangeFrom(*range));
    ERIS_ASSIGN_OR_RETURN(const std::optional<eris::TransferKind> its_kind,
                          eris::capi::KindFrom(kind));
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    return engine->engine->MoveRange(name, its_range, eris::AeuId{to_aeu}, its_kind, deadline,
                                     eris::capi::StopOf(stop));
  });
}
