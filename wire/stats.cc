#include "wire/stats.h"

#include <algorithm>

#include "base/status_macros.h"
#include "wire/fields.h"
#include "wire/objects.h"

// clang-format off
#define ERIS_ROUTING_FIELDS(F) \
  F(sent) F(delivered) F(answered) F(forwarded) F(redirected) F(refused) F(wakes) F(writer_waits)
#define ERIS_AEU_FIELDS(F) \
  F(cpu) F(turns) F(parks) F(busy_ns) F(commands) F(keys) F(rows_scanned) F(bytes_brought_home) \
  F(bytes_remapped) F(homecomings) F(homecomings_refused) F(memory_bytes) F(rows)
#define ERIS_NUMA_NODE_FIELDS(F) F(reserved_bytes) F(used_bytes) F(bound)
#define ERIS_ENGINE_FIELDS(F) \
  F(memory_limit_bytes) F(scans_open) F(scan_chunks_in_use) F(requests_in_flight)
#define ERIS_PLAN_FIELDS(F) \
  F(process_bytes) F(process_source) F(data_bytes) F(query_bytes) F(scan_bytes) F(port_bytes) \
  F(caller_bytes) F(receive_bytes) F(reserve_bytes)
#define ERIS_MEMORY_FIELDS(F) F(limit_bytes) F(reserved_bytes) F(heap_bytes) F(superblock_bytes)
#define ERIS_NUMA_NODE_MEMORY_FIELDS(F) \
  F(bound) F(reserved_bytes) F(in_use_bytes) F(buffers_bytes) F(kept_bytes) F(ready_bytes) \
  F(reserved_huge_bytes) F(mapped_bytes)
#define ERIS_OBJECT_MEMORY_FIELDS(F) \
  F(object) F(committed_bytes) F(used_bytes) F(cached_bytes) F(spare_bytes) F(header_bytes) \
  F(extent_bytes) F(spilled_bytes)
#define ERIS_SIZE_CLASS_FIELDS(F) F(block_bytes) F(used_blocks) F(cached_blocks)
#define ERIS_PLACEMENT_FIELDS(F) \
  F(bound) F(pages_asked) F(pages_local) F(pages_elsewhere) F(pages_absent) F(resident_bytes) \
  F(anonymous_huge_bytes) F(shared_huge_bytes) F(reserved_huge_bytes)
#define ERIS_LOCATED_FIELDS(F) F(os_numa_node) F(pages) F(local)
#define ERIS_ROW_MEMORY_FIELDS(F) F(object) F(bytes) F(remote_bytes)
// clang-format on

namespace eris::wire {
namespace {

ERIS_SAME_FIELDS(RoutingStats, ERIS_ROUTING_FIELDS)
ERIS_SAME_FIELDS(MemoryPlan, ERIS_PLAN_FIELDS)
ERIS_SAME_FIELDS(SizeClassMemory, ERIS_SIZE_CLASS_FIELDS)

void Fill(const TaskStats& from, v1::TaskStats* to) {
  to->mutable_taken()->Add(from.taken.begin(), from.taken.end());
  to->set_far(from.far);
  to->set_wakes(from.wakes);
}
// A server may know more rules, or fewer.
void Take(const v1::TaskStats& from, TaskStats* to) {
  const size_t rules = std::min<size_t>(from.taken_size(), to->taken.size());
  std::copy_n(from.taken().begin(), rules, to->taken.begin());
  to->far = from.far();
  to->wakes = from.wakes();
}

void Fill(const AeuStats& from, v1::AeuStats* to) {
  ERIS_AEU_FIELDS(ERIS_SET_FIELD)
  to->set_id(from.id.value);
  to->set_numa_node(from.numa_node.value);
  Fill(from.routing, to->mutable_routing());
  Fill(from.tasks, to->mutable_tasks());
}
void Take(const v1::AeuStats& from, AeuStats* to) {
  ERIS_AEU_FIELDS(ERIS_TAKE_FIELD)
  to->id = AeuId{from.id()};
  to->numa_node = NumaNodeId{from.numa_node()};
  Take(from.routing(), &to->routing);
  Take(from.tasks(), &to->tasks);
}

void Fill(const NumaNodeStats& from, v1::NumaNodeStats* to) {
  ERIS_NUMA_NODE_FIELDS(ERIS_SET_FIELD)
  to->set_id(from.id.value);
  to->mutable_keys_sent_to()->Add(from.keys_sent_to.begin(), from.keys_sent_to.end());
}
void Take(const v1::NumaNodeStats& from, NumaNodeStats* to) {
  ERIS_NUMA_NODE_FIELDS(ERIS_TAKE_FIELD)
  to->id = NumaNodeId{from.id()};
  to->keys_sent_to.assign(from.keys_sent_to().begin(), from.keys_sent_to().end());
}

void Fill(const NumaNodeMemory& from, v1::NumaNodeMemory* to) {
  ERIS_NUMA_NODE_MEMORY_FIELDS(ERIS_SET_FIELD)
  to->set_id(from.id.value);
}
void Take(const v1::NumaNodeMemory& from, NumaNodeMemory* to) {
  ERIS_NUMA_NODE_MEMORY_FIELDS(ERIS_TAKE_FIELD)
  to->id = NumaNodeId{from.id()};
}

void Fill(const ObjectMemory& from, v1::ObjectMemory* to) {
  ERIS_OBJECT_MEMORY_FIELDS(ERIS_SET_FIELD)
  to->set_id(from.id.value);
  to->set_numa_node(from.numa_node.value);
  for (const SizeClassMemory& one : from.classes) Fill(one, to->add_classes());
}
void Take(const v1::ObjectMemory& from, ObjectMemory* to) {
  ERIS_OBJECT_MEMORY_FIELDS(ERIS_TAKE_FIELD)
  to->id = ObjectId{from.id()};
  to->numa_node = NumaNodeId{from.numa_node()};
  for (const v1::SizeClassMemory& one : from.classes()) Take(one, &to->classes.emplace_back());
}

void Fill(const LocatedMemory& from, v1::LocatedMemory* to) {
  ERIS_LOCATED_FIELDS(ERIS_SET_FIELD)
  to->mutable_addresses()->Add(from.addresses.begin(), from.addresses.end());
}
void Take(const v1::LocatedMemory& from, LocatedMemory* to) {
  ERIS_LOCATED_FIELDS(ERIS_TAKE_FIELD)
  to->addresses.assign(from.addresses().begin(), from.addresses().end());
}

void Fill(const NumaNodePlacement& from, v1::NumaNodePlacement* to) {
  ERIS_PLACEMENT_FIELDS(ERIS_SET_FIELD)
  to->set_id(from.id.value);
  to->mutable_os_numa_nodes()->Add(from.os_numa_nodes.begin(), from.os_numa_nodes.end());
  for (const LocatedMemory& one : from.located) Fill(one, to->add_located());
}
void Take(const v1::NumaNodePlacement& from, NumaNodePlacement* to) {
  ERIS_PLACEMENT_FIELDS(ERIS_TAKE_FIELD)
  to->id = NumaNodeId{from.id()};
  to->os_numa_nodes.assign(from.os_numa_nodes().begin(), from.os_numa_nodes().end());
  for (const v1::LocatedMemory& one : from.located()) Take(one, &to->located.emplace_back());
}

void Fill(const RowMemory& from, v1::RowMemory* to) {
  ERIS_ROW_MEMORY_FIELDS(ERIS_SET_FIELD)
  to->set_aeu(from.aeu.value);
  to->set_numa_node(from.numa_node.value);
}
void Take(const v1::RowMemory& from, RowMemory* to) {
  ERIS_ROW_MEMORY_FIELDS(ERIS_TAKE_FIELD)
  to->aeu = AeuId{from.aeu()};
  to->numa_node = NumaNodeId{from.numa_node()};
}

}  // namespace

void FillStats(const EngineStats& from, v1::GetStatsResponse* to) {
  ERIS_ENGINE_FIELDS(ERIS_SET_FIELD)
  for (const AeuStats& one : from.aeus) Fill(one, to->add_aeus());
  for (const NumaNodeStats& one : from.numa_nodes) Fill(one, to->add_numa_nodes());
  for (const ObjectInfo& info : from.objects) FillObject(info, to->add_objects());
  Fill(from.sessions_routing, to->mutable_sessions_routing());
}

absl::StatusOr<EngineStats> StatsFrom(const v1::GetStatsResponse& from) {
  EngineStats stats;
  EngineStats* const to = &stats;
  ERIS_ENGINE_FIELDS(ERIS_TAKE_FIELD)
  for (const v1::AeuStats& one : from.aeus()) Take(one, &to->aeus.emplace_back());
  for (const v1::NumaNodeStats& one : from.numa_nodes()) Take(one, &to->numa_nodes.emplace_back());
  for (const v1::Object& object : from.objects()) {
    ERIS_ASSIGN_OR_RETURN(to->objects.emplace_back(), ObjectFrom(object));
  }
  Take(from.sessions_routing(), &to->sessions_routing);
  return stats;
}

void FillMemory(const MemoryStats& from, v1::GetMemoryResponse* to) {
  ERIS_MEMORY_FIELDS(ERIS_SET_FIELD)
  Fill(from.plan, to->mutable_plan());
  for (const std::string& kind : from.pages) to->add_pages(kind);
  for (const NumaNodeMemory& one : from.numa_nodes) Fill(one, to->add_numa_nodes());
  for (const ObjectMemory& one : from.objects) Fill(one, to->add_objects());
}

MemoryStats MemoryFrom(const v1::GetMemoryResponse& from) {
  MemoryStats stats;
  MemoryStats* const to = &stats;
  ERIS_MEMORY_FIELDS(ERIS_TAKE_FIELD)
  Take(from.plan(), &to->plan);
  to->pages.assign(from.pages().begin(), from.pages().end());
  for (const v1::NumaNodeMemory& one : from.numa_nodes()) Take(one, &to->numa_nodes.emplace_back());
  for (const v1::ObjectMemory& one : from.objects()) Take(one, &to->objects.emplace_back());
  return stats;
}

void FillVerification(const MemoryVerification& from, v1::VerifyMemoryResponse* to) {
  for (const NumaNodePlacement& one : from.numa_nodes) Fill(one, to->add_numa_nodes());
  for (const RowMemory& one : from.rows) Fill(one, to->add_rows());
}

MemoryVerification VerificationFrom(const v1::VerifyMemoryResponse& from) {
  MemoryVerification verification;
  for (const v1::NumaNodePlacement& one : from.numa_nodes()) {
    Take(one, &verification.numa_nodes.emplace_back());
  }
  for (const v1::RowMemory& one : from.rows()) Take(one, &verification.rows.emplace_back());
  return verification;
}

}  // namespace eris::wire
