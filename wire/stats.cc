#include "wire/stats.h"

#include "base/status_macros.h"
#include "wire/objects.h"

namespace eris::wire {
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
  response->set_heap_bytes(stats.heap_bytes);
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

namespace {

RoutingStats RoutingFrom(const v1::RoutingStats& in) {
  return {.sent = in.sent(),
          .delivered = in.delivered(),
          .answered = in.answered(),
          .forwarded = in.forwarded(),
          .redirected = in.redirected(),
          .refused = in.refused(),
          .wakes = in.wakes(),
          .writer_waits = in.writer_waits()};
}

AeuStats AeuFrom(const v1::AeuStats& in) {
  AeuStats out;
  out.id = AeuId{in.id()};
  out.numa_node = NumaNodeId{in.numa_node()};
  out.cpu = in.cpu();
  out.turns = in.turns();
  out.parks = in.parks();
  out.busy_ns = in.busy_ns();
  out.commands = in.commands();
  out.keys = in.keys();
  out.rows_scanned = in.rows_scanned();
  out.routing = RoutingFrom(in.routing());
  out.memory_bytes = in.memory_bytes();
  out.rows = in.rows();
  return out;
}

NumaNodeMemory NumaNodeFrom(const v1::NumaNodeMemory& in) {
  return {.id = NumaNodeId{in.id()},
          .bound = in.bound(),
          .reserved_bytes = in.reserved_bytes(),
          .in_use_bytes = in.in_use_bytes(),
          .buffers_bytes = in.buffers_bytes(),
          .kept_bytes = in.kept_bytes(),
          .ready_bytes = in.ready_bytes(),
          .reserved_huge_bytes = in.reserved_huge_bytes(),
          .mapped_bytes = in.mapped_bytes()};
}

ObjectMemory ObjectMemoryFrom(const v1::ObjectMemory& in) {
  ObjectMemory out{.object = in.object(),
                   .id = ObjectId{in.id()},
                   .numa_node = NumaNodeId{in.numa_node()},
                   .committed_bytes = in.committed_bytes(),
                   .used_bytes = in.used_bytes(),
                   .cached_bytes = in.cached_bytes(),
                   .spare_bytes = in.spare_bytes(),
                   .header_bytes = in.header_bytes(),
                   .extent_bytes = in.extent_bytes(),
                   .spilled_bytes = in.spilled_bytes()};
  for (const v1::SizeClassMemory& one : in.classes()) {
    out.classes.push_back({.block_bytes = one.block_bytes(),
                           .used_blocks = one.used_blocks(),
                           .cached_blocks = one.cached_blocks()});
  }
  return out;
}

NumaNodePlacement PlacementFrom(const v1::NumaNodePlacement& in) {
  NumaNodePlacement out{.id = NumaNodeId{in.id()},
                        .bound = in.bound(),
                        .os_numa_nodes = {in.os_numa_nodes().begin(), in.os_numa_nodes().end()},
                        .pages_asked = in.pages_asked(),
                        .pages_local = in.pages_local(),
                        .pages_elsewhere = in.pages_elsewhere(),
                        .pages_absent = in.pages_absent(),
                        .resident_bytes = in.resident_bytes(),
                        .anonymous_huge_bytes = in.anonymous_huge_bytes(),
                        .shared_huge_bytes = in.shared_huge_bytes(),
                        .reserved_huge_bytes = in.reserved_huge_bytes()};
  for (const v1::LocatedMemory& one : in.located()) {
    out.located.push_back({.os_numa_node = one.os_numa_node(),
                           .pages = one.pages(),
                           .local = one.local(),
                           .addresses = {one.addresses().begin(), one.addresses().end()}});
  }
  return out;
}

}  // namespace

absl::StatusOr<EngineStats> StatsFrom(const v1::GetStatsResponse& response) {
  EngineStats stats;
  for (const v1::AeuStats& aeu : response.aeus()) stats.aeus.push_back(AeuFrom(aeu));
  for (const v1::NumaNodeStats& node : response.numa_nodes()) {
    stats.numa_nodes.push_back(
        {NumaNodeId{node.id()}, node.reserved_bytes(), node.used_bytes(), node.bound()});
  }
  for (const v1::Object& object : response.objects()) {
    ERIS_ASSIGN_OR_RETURN(stats.objects.emplace_back(), ObjectFrom(object));
  }
  stats.memory_limit_bytes = response.memory_limit_bytes();
  stats.scans_open = response.scans_open();
  stats.scan_chunks_in_use = response.scan_chunks_in_use();
  stats.requests_in_flight = response.requests_in_flight();
  stats.sessions_routing = RoutingFrom(response.sessions_routing());
  return stats;
}

MemoryStats MemoryFrom(const v1::GetMemoryResponse& response) {
  const v1::MemoryPlan& plan = response.plan();
  MemoryStats stats{.plan = {.process_bytes = plan.process_bytes(),
                             .process_source = plan.process_source(),
                             .data_bytes = plan.data_bytes(),
                             .query_bytes = plan.query_bytes(),
                             .scan_bytes = plan.scan_bytes(),
                             .port_bytes = plan.port_bytes(),
                             .caller_bytes = plan.caller_bytes(),
                             .receive_bytes = plan.receive_bytes(),
                             .reserve_bytes = plan.reserve_bytes()},
                    .limit_bytes = response.limit_bytes(),
                    .reserved_bytes = response.reserved_bytes(),
                    .heap_bytes = response.heap_bytes(),
                    .superblock_bytes = response.superblock_bytes(),
                    .pages = {response.pages().begin(), response.pages().end()}};
  for (const v1::NumaNodeMemory& one : response.numa_nodes()) {
    stats.numa_nodes.push_back(NumaNodeFrom(one));
  }
  for (const v1::ObjectMemory& one : response.objects())
    stats.objects.push_back(ObjectMemoryFrom(one));
  return stats;
}

MemoryVerification VerificationFrom(const v1::VerifyMemoryResponse& response) {
  MemoryVerification verification;
  for (const v1::NumaNodePlacement& one : response.numa_nodes()) {
    verification.numa_nodes.push_back(PlacementFrom(one));
  }
  return verification;
}

}  // namespace eris::wire
