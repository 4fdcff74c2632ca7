#include "server/admin/admin_answers.h"

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "base/status_macros.h"
#include "server/guard/rpc_status.h"
#include "wire/stats.h"

namespace eris::server {

absl::StatusOr<wire::BoundType> FindBoundType(ServerState& server, absl::string_view object) {
  ERIS_ASSIGN_OR_RETURN(const ObjectInfo info, server.engine->Describe(object));
  return wire::BoundTypeOf(info.kind, info.schema);
}

wire::BoundTypes AllBoundTypes(ServerState& server) {
  return [&server, known = std::map<std::string, wire::BoundType, std::less<>>()](
             absl::string_view object) mutable {
    const auto [place, added] = known.try_emplace(std::string(object));
    if (added) {
      const absl::StatusOr<wire::BoundType> found = FindBoundType(server, object);
      if (found.ok()) place->second = *found;
    }
    return place->second;
  };
}

absl::Status AnswerServer(ServerState& server, const v1::GetServerRequest&,
                          v1::GetServerResponse* response) {
  const auto uptime = std::chrono::steady_clock::now() - server.started;
  response->set_version(server.config.version);
  response->set_receive_message_bytes_max(server.config.receive_message_bytes_max);
  response->set_uptime_ms(
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(uptime).count()));
  response->set_calls(server.gate.entered());
  response->set_calls_in_flight(server.gate.inside());
  response->set_in_flight_bytes(server.budget.used());
  response->set_in_flight_bytes_max(server.budget.bytes_max());
  return absl::OkStatus();
}

absl::Status AnswerStats(ServerState& server, const v1::GetStatsRequest&,
                         v1::GetStatsResponse* response) {
  wire::FillStats(server.engine->Stats(), response);
  return absl::OkStatus();
}

absl::Status AnswerMemory(ServerState& server, const v1::GetMemoryRequest&,
                          v1::GetMemoryResponse* response) {
  wire::FillMemory(server.engine->Memory(), response);
  return absl::OkStatus();
}

absl::Status AnswerBalancer(ServerState& server, const v1::GetBalancerRequest&,
                            v1::GetBalancerResponse* response) {
  wire::FillBalancer(server.engine->Balancer(), AllBoundTypes(server), response);
  return absl::OkStatus();
}

absl::Status AnswerTransfers(ServerState& server, const v1::ListTransfersRequest& request,
                             v1::ListTransfersResponse* response) {
  if (!request.object().empty()) ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  const wire::BoundTypes types = AllBoundTypes(server);
  for (const TransferRecord& record : server.engine->TransferHistory()) {
    if (!request.object().empty() && record.object != request.object()) continue;
    wire::FillTransfer(record, types, response->add_transfers());
    const auto filled = static_cast<uint32_t>(response->transfers_size());
    if (request.limit() > 0 && filled >= request.limit()) break;
  }
  return absl::OkStatus();
}

absl::Status AnswerHotRanges(ServerState& server, const v1::GetHotRangesRequest& request,
                             v1::GetHotRangesResponse* response) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  ERIS_ASSIGN_OR_RETURN(const wire::BoundType type, FindBoundType(server, request.object()));
  const uint32_t ranges_max = request.ranges_max() > 0 ? request.ranges_max() : kHotRangesDefault;
  ERIS_ASSIGN_OR_RETURN(const HotRanges ranges,
                        server.engine->FindHotRanges(request.object(), ranges_max));
  wire::FillHotRanges(ranges, type, response);
  return absl::OkStatus();
}

}  // namespace eris::server
