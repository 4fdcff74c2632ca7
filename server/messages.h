// The engine's descriptions as messages. Any thread, no state.
#ifndef ERIS_SERVER_MESSAGES_H_
#define ERIS_SERVER_MESSAGES_H_

#include "eris/stats.h"
#include "eris/types.h"
#include "eris/v1/admin.pb.h"
#include "eris/v1/catalog.pb.h"

namespace eris::server {

void FillObject(const ObjectInfo& info, v1::Object* object);
void FillStats(const EngineStats& stats, v1::GetStatsResponse* response);
void FillMemory(const MemoryStats& stats, v1::GetMemoryResponse* response);
void FillVerification(const MemoryVerification& verification, v1::VerifyMemoryResponse* response);

}  // namespace eris::server

#endif  // ERIS_SERVER_MESSAGES_H_
