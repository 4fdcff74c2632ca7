#include "engine/moving/plan_world.h"

#include <cstdint>

#include "storage/table/rows/segment_view.h"

namespace eris::engine {
namespace {

// About the size of a row in a chunk. Strings have any length; this one is a guess.
constexpr uint64_t kStringBytes = 32;

uint64_t RowBytes(const ObjectEntry& object) {
  uint64_t bytes = 0;
  for (const ColumnSchema& column : object.schema.columns) {
    const uint32_t width = ColumnValueBytes(column.type);
    // The keys of an index or a hash are words.
    bytes += width == 0 ? kStringBytes : object.is_table() ? width : sizeof(uint64_t);
  }
  return bytes;
}

}  // namespace

balancer::PlanWorld MakePlanWorld(const ResolvedOptions& resolved) {
  balancer::PlanWorld world;
  bool several = false;
  for (const topology::AeuPlace& place : resolved.plan.aeus) {
    world.numa_nodes.push_back(place.numa_node);
    several |= place.numa_node != world.numa_nodes.front();
  }
  if (!several) return world;
  for (const NumaNodeId from : world.numa_nodes) {
    std::vector<uint32_t>& row = world.distances.emplace_back();
    for (const NumaNodeId to : world.numa_nodes) {
      row.push_back(resolved.topology.Distance(from, to));
    }
  }
  return world;
}

balancer::PlanWorld ForObject(const balancer::PlanWorld& machine, const ObjectEntry& object) {
  balancer::PlanWorld world = machine;
  static_assert(balancer::PlanWorld::kSegmentRows == storage::kSegmentRows);
  world.cuts_inside = object.kind == ObjectKind::kIndex;
  world.by_size = object.kind == ObjectKind::kHeapTable;
  world.relinks = world.cuts_inside || world.by_size;
  world.row_bytes = RowBytes(object);
  return world;
}

}  // namespace eris::engine
