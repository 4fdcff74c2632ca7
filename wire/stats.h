// The engine's counters, memory and page locations, as messages. Any thread, no state.
#ifndef ERIS_WIRE_STATS_H_
#define ERIS_WIRE_STATS_H_

#include "absl/status/statusor.h"
#include "eris/stats.h"
#include "eris/v1/admin.pb.h"

namespace eris::wire {

void FillStats(const EngineStats& stats, v1::GetStatsResponse* response);
// Errors: as ObjectFrom.
absl::StatusOr<EngineStats> StatsFrom(const v1::GetStatsResponse& response);

void FillMemory(const MemoryStats& stats, v1::GetMemoryResponse* response);
MemoryStats MemoryFrom(const v1::GetMemoryResponse& response);

void FillVerification(const MemoryVerification& verification, v1::VerifyMemoryResponse* response);
MemoryVerification VerificationFrom(const v1::VerifyMemoryResponse& response);

}  // namespace eris::wire

#endif  // ERIS_WIRE_STATS_H_
