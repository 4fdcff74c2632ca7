// The engine's counters and its memory as messages. Any thread, no state.
#ifndef ERIS_SERVER_ADMIN_STATS_MESSAGES_H_
#define ERIS_SERVER_ADMIN_STATS_MESSAGES_H_

#include "eris/stats.h"
#include "eris/v1/admin.pb.h"

namespace eris::server {

void FillStats(const EngineStats& stats, v1::GetStatsResponse* response);
void FillMemory(const MemoryStats& stats, v1::GetMemoryResponse* response);
void FillVerification(const MemoryVerification& verification, v1::VerifyMemoryResponse* response);

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_STATS_MESSAGES_H_
