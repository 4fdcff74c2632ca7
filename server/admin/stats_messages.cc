#include "server/admin/stats_messages.h"

#include "server/data/object_message.h"

namespace eris::server {
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

void FillMemory(const MemoryStats& stats, v1::GetMemoryResponse* response) {
  v1::MemoryPlan* plan = response->mutable_plan();
  plan->set_process_bytes(stats.plan.process_bytes);
  plan->set_process_source(stats.plan.process_source);
  plan->set_data_bytes(stats.plan.data_bytes);
  plan->set_query_bytes(stats.plan.query_bytes);
  plan->set_scan_bytes(stats.plan.scan_bytes);
  plan->set_port_bytes(stats.plan.port_bytes);
  plan->set_caller_bytes(stats.plan.caller_bytes);
  plan->set_receive_bytes(stats.plan.receive_bytes);
  plan->set_reserve_bytes(stats.plan.reserve_bytes);
  response->set_limit_bytes(stats.limit_bytes);
  response->set_reserved_bytes(stats.reserved_bytes);
  response->set_superblock_bytes(stats.superblock_bytes);
  for (const std::string& kind : stats.pages) response->add_pages(kind);
  for (const NumaNodeMemory& from : stats.numa_nodes) {
    v1::NumaNodeMemory* to = response->add_numa_nodes();
    to->set_id(from.id.value);
    to->set_bound(from.bound);
    to->set_reserved_bytes(from.reserved_bytes);
    to->set_in_use_bytes(from.in_use_bytes);
    to->set_buffers_bytes(from.buffers_bytes);
    to->set_kept_bytes(from.kept_bytes);
    to->set_ready_bytes(from.ready_bytes);
    to->set_reserved_huge_bytes(from.reserved_huge_bytes);
    to->set_mapped_bytes(from.mapped_bytes);
  }
  for (const ObjectMemory& from : stats.objects) {
    v1::ObjectMemory* to = response->add_objects();
    to->set_object(from.object);
    to->set_id(from.id.value);
    to->set_numa_node(from.numa_node.value);
    to->set_committed_bytes(from.committed_bytes);
    to->set_used_bytes(from.used_bytes);
    to->set_cached_bytes(from.cached_bytes);
    to->set_spare_bytes(from.spare_bytes);
    to->set_header_bytes(from.header_bytes);
    to->set_extent_bytes(from.extent_bytes);
    to->set_spilled_bytes(from.spilled_bytes);
    for (const SizeClassMemory& one : from.classes) {
      v1::SizeClassMemory* size_class = to->add_classes();
      size_class->set_block_bytes(one.block_bytes);
      size_class->set_used_blocks(one.used_blocks);
      size_class->set_cached_blocks(one.cached_blocks);
    }
  }
}

void FillVerification(const MemoryVerification& verification, v1::VerifyMemoryResponse* response) {
  for (const NumaNodePlacement& from : verification.numa_nodes) {
    v1::NumaNodePlacement* to = response->add_numa_nodes();
    to->set_id(from.id.value);
    to->set_bound(from.bound);
    for (const uint32_t number : from.os_numa_nodes) to->add_os_numa_nodes(number);
    to->set_pages_asked(from.pages_asked);
    to->set_pages_local(from.pages_local);
    to->set_pages_elsewhere(from.pages_elsewhere);
    to->set_pages_absent(from.pages_absent);
    for (const LocatedMemory& one : from.located) {
      v1::LocatedMemory* located = to->add_located();
      located->set_os_numa_node(one.os_numa_node);
      located->set_pages(one.pages);
      located->set_local(one.local);
      for (const uint64_t address : one.addresses) located->add_addresses(address);
    }
    to->set_resident_bytes(from.resident_bytes);
    to->set_anonymous_huge_bytes(from.anonymous_huge_bytes);
    to->set_shared_huge_bytes(from.shared_huge_bytes);
    to->set_reserved_huge_bytes(from.reserved_huge_bytes);
  }
}

}  // namespace eris::server
