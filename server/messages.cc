#include "server/messages.h"

namespace eris::server {

void FillObject(const ObjectInfo& info, v1::Object* object) {
  object->set_name(info.name);
  object->set_id(info.id.value);
  object->set_kind(v1::OBJECT_KIND_INDEX);
  object->set_keys(info.keys);
  object->set_memory_bytes(info.memory_bytes);
  for (size_t i = 0; i < info.partition_starts.size(); ++i) {
    v1::Partition* partition = object->add_partitions();
    partition->mutable_range()->set_lo(info.partition_starts[i]);
    if (i + 1 < info.partition_starts.size()) {
      partition->mutable_range()->set_hi(info.partition_starts[i + 1]);
    }
    if (i < info.partition_owners.size()) partition->set_aeu(info.partition_owners[i].value);
  }
}

namespace {

void FillRouting(const RoutingStats& from, v1::RoutingStats* to) {
  to->set_sent(from.sent);
  to->set_delivered(from.delivered);
  to->set_answered(from.answered);
  to->set_forwarded(from.forwarded);
  to->set_redirected(from.redirected);
  to->set_refused(from.refused);
  to->set_wakes(from.wakes);
  to->set_writer_waits(from.writer_waits);
}

}  // namespace

void FillStats(const EngineStats& stats, v1::GetStatsResponse* response) {
  for (const AeuStats& from : stats.aeus) {
    v1::AeuStats* to = response->add_aeus();
    to->set_id(from.id.value);
    to->set_numa_node(from.numa_node.value);
    to->set_cpu(from.cpu);
    to->set_turns(from.turns);
    to->set_parks(from.parks);
    to->set_busy_ns(from.busy_ns);
    to->set_commands(from.commands);
    to->set_keys(from.keys);
    to->set_rows_scanned(from.rows_scanned);
    FillRouting(from.routing, to->mutable_routing());
    to->set_memory_bytes(from.memory_bytes);
    to->set_rows(from.rows);
  }
  for (const NumaNodeStats& from : stats.numa_nodes) {
    v1::NumaNodeStats* to = response->add_numa_nodes();
    to->set_id(from.id.value);
    to->set_reserved_bytes(from.reserved_bytes);
    to->set_used_bytes(from.used_bytes);
    to->set_bound(from.bound);
  }
  for (const ObjectInfo& info : stats.objects) FillObject(info, response->add_objects());
  response->set_memory_limit_bytes(stats.memory_limit_bytes);
  response->set_scans_open(stats.scans_open);
  response->set_scan_chunks_in_use(stats.scan_chunks_in_use);
  response->set_requests_in_flight(stats.requests_in_flight);
  FillRouting(stats.sessions_routing, response->mutable_sessions_routing());
}

}  // namespace eris::server
