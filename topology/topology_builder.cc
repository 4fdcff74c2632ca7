#include "topology/topology_builder.h"

#include <hwloc.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "topology/process_limits.h"

namespace eris::topology {
namespace {

constexpr uint32_t kLocalDistance = 10;
constexpr uint32_t kDistanceStep = 10;

bool Usable(const std::vector<uint32_t>* usable_cpus, uint32_t cpu) {
  return usable_cpus == nullptr ||
         std::binary_search(usable_cpus->begin(), usable_cpus->end(), cpu);
}

// The largest cache above a core; nullptr if hwloc shows none.
hwloc_obj_t LastLevelCache(hwloc_obj_t core) {
  hwloc_obj_t last = nullptr;
  for (hwloc_obj_t up = core->parent; up != nullptr; up = up->parent) {
    if (hwloc_obj_type_is_dcache(up->type)) last = up;
  }
  return last;
}

// Adds the caches above a core, each by its number plus 1.
void AddCaches(hwloc_obj_t object, Core& core) {
  for (hwloc_obj_t up = object->parent; up != nullptr; up = up->parent) {
    if (!hwloc_obj_type_is_dcache(up->type)) continue;
    const uint32_t level = up->attr->cache.depth - 1;
    if (level < core.caches.size()) core.caches[level] = up->logical_index + 1;
  }
}

// The first ancestor that is not part of the memory hierarchy.
hwloc_obj_t CpuSideParent(hwloc_obj_t numa_node) {
  hwloc_obj_t up = numa_node->parent;
  while (up != nullptr && hwloc_obj_type_is_memory(up->type)) up = up->parent;
  return up;
}

}  // namespace

RealMachine TopologyBuilder::ReadRealMachine() {
  RealMachine real;
  // The kernel refuses a set smaller than its own, whose size is unknown: grow until it fits.
  for (int cpus = 1024; cpus <= (1 << 16); cpus *= 2) {
    const size_t bytes = CPU_ALLOC_SIZE(cpus);
    std::vector<__cpu_mask> words(bytes / sizeof(__cpu_mask));
    auto* const set = reinterpret_cast<cpu_set_t*>(words.data());
    const bool fits = sched_getaffinity(0, bytes, set) == 0;
    const bool too_small = !fits && errno == EINVAL;
    for (int cpu = 0; fits && cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) real.allowed_cpus.push_back(cpu);
    }
    if (!too_small) break;
  }
  if (real.allowed_cpus.empty()) real.allowed_cpus.push_back(0);
  real.limits = ReadProcessLimits();
  return real;
}

TopologyBuilder::TopologyBuilder(hwloc_topology* loaded, bool synthetic, const RealMachine& real)
    : loaded_(loaded), real_memory_bytes_(real.limits.memory_bytes) {
  result_.synthetic_ = synthetic;
  result_.allowed_cpus_ = real.allowed_cpus;
  result_.limits_ = real.limits;
}

absl::StatusOr<Topology> TopologyBuilder::FromHwloc(hwloc_topology* loaded, bool synthetic,
                                                    const std::vector<uint32_t>* usable_cpus,
                                                    const RealMachine& real) {
  TopologyBuilder builder(loaded, synthetic, real);
  builder.AddNumaNodes();
  builder.AddCores(usable_cpus);
  if (usable_cpus != nullptr && !synthetic) builder.AddUnknownCpus(*usable_cpus);
  if (builder.result_.cores_.empty()) {
    return absl::InvalidArgumentError("no core inside the usable cpus");
  }
  builder.DropUseless();
  builder.AddDistances();
  builder.AddMemoryOwners();
  builder.OrderCores();
  return std::move(builder.result_);
}

absl::StatusOr<Topology> TopologyBuilder::FromXml(const std::string& xml,
                                                  const std::vector<uint32_t>* usable_cpus,
                                                  const RealMachine& real) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return absl::InternalError("hwloc cannot start");
  const std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)> loaded(
      raw, [](hwloc_topology_t topology) { hwloc_topology_destroy(topology); });
  if (hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) != 0 ||
      hwloc_topology_set_xmlbuffer(raw, xml.c_str(), static_cast<int>(xml.size() + 1)) != 0 ||
      hwloc_topology_load(raw) != 0) {
    return absl::InvalidArgumentError("not an hwloc XML topology");
  }
  return FromHwloc(raw, /*synthetic=*/true, usable_cpus, real);
}

void TopologyBuilder::AddNumaNodes() {
  hwloc_const_bitmap_t allowed = hwloc_topology_get_allowed_nodeset(loaded_);
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(loaded_, HWLOC_OBJ_NUMANODE, object)) != nullptr;) {
    NumaNode numa_node;
    numa_node.id = NumaNodeId{static_cast<uint32_t>(result_.numa_nodes_.size())};
    numa_node.os_index = object->os_index;
    // Memory that the cpuset forbids counts as none.
    if (hwloc_bitmap_isset(allowed, object->os_index)) {
      numa_node.memory_bytes = object->attr->numanode.local_memory;
    }
    hwloc_index_.push_back(object->logical_index);
    result_.numa_nodes_.push_back(numa_node);
  }
  if (result_.numa_nodes_.empty()) {
    result_.numa_nodes_.push_back({.id = NumaNodeId{0}, .memory_bytes = real_memory_bytes_});
    hwloc_index_.push_back(0);
  }
}

void TopologyBuilder::AddCores(const std::vector<uint32_t>* usable_cpus) {
  // Some machines (and guests) show hardware threads without cores: then each counts as a core.
  const bool has_cores = hwloc_get_nbobjs_by_type(loaded_, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;

  std::vector<int> numa_node_cpus;  // by NumaNodeId
  for (const uint32_t index : hwloc_index_) {
    hwloc_obj_t object = hwloc_get_obj_by_type(loaded_, HWLOC_OBJ_NUMANODE, index);
    numa_node_cpus.push_back(object == nullptr ? 0 : hwloc_bitmap_weight(object->cpuset));
  }
  // A core may see several NumaNodes (a CXL device is listed next to the socket's own memory). Its
  // home is the one with the fewest cpus, then the lowest system number.
  const auto home_of = [&](hwloc_obj_t core) {
    NumaNodeId home{0};
    std::tuple<int, uint32_t> best{INT32_MAX, 0};
    for (const NumaNode& numa_node : result_.numa_nodes_) {
      if (core->nodeset == nullptr || !hwloc_bitmap_isset(core->nodeset, numa_node.os_index)) {
        continue;
      }
      const std::tuple<int, uint32_t> rank{numa_node_cpus[numa_node.id.value], numa_node.os_index};
      if (rank < best) {
        best = rank;
        home = numa_node.id;
      }
    }
    return home;
  };

  // by cache; without a cache by NumaNode
  std::map<std::pair<hwloc_obj_t, uint32_t>, uint32_t> groups;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(loaded_, type, object)) != nullptr;) {
    Core core;
    for (int cpu = hwloc_bitmap_first(object->cpuset); cpu >= 0;
         cpu = hwloc_bitmap_next(object->cpuset, cpu)) {
      if (Usable(usable_cpus, static_cast<uint32_t>(cpu))) core.cpus.push_back(cpu);
    }
    if (core.cpus.empty()) continue;
    core.home_numa_node = home_of(object);
    AddCaches(object, core);
    hwloc_obj_t cache = LastLevelCache(object);
    const std::pair key{cache, cache == nullptr ? core.home_numa_node.value : 0};
    core.cache_group = groups.try_emplace(key, static_cast<uint32_t>(groups.size())).first->second;
    ++result_.numa_nodes_[core.home_numa_node.value].core_count;
    result_.cores_.push_back(std::move(core));
  }
}

// Cpus that the system lets us use but hwloc does not show (a container with an incomplete /sys).
void TopologyBuilder::AddUnknownCpus(const std::vector<uint32_t>& usable_cpus) {
  std::set<uint32_t> known;
  uint32_t next_group = 0;
  for (const Core& core : result_.cores_) {
    known.insert(core.cpus.begin(), core.cpus.end());
    next_group = std::max(next_group, core.cache_group + 1);
  }
  for (const uint32_t cpu : usable_cpus) {
    if (known.contains(cpu)) continue;
    Core core;
    core.cache_group = next_group;
    core.cpus = {cpu};
    ++result_.numa_nodes_[0].core_count;
    result_.cores_.push_back(std::move(core));
  }
}

// NumaNodes with neither memory nor cores for us (the rest of the machine around a small cpuset).
void TopologyBuilder::DropUseless() {
  std::vector<NumaNode> kept;
  std::vector<uint32_t> kept_index;
  std::vector<NumaNodeId> renamed(result_.numa_nodes_.size());
  for (const NumaNode& numa_node : result_.numa_nodes_) {
    if (numa_node.memory_bytes == 0 && numa_node.core_count == 0) continue;
    renamed[numa_node.id.value] = NumaNodeId{static_cast<uint32_t>(kept.size())};
    kept_index.push_back(hwloc_index_[numa_node.id.value]);
    kept.push_back(numa_node);
    kept.back().id = renamed[numa_node.id.value];
  }
  for (Core& core : result_.cores_) core.home_numa_node = renamed[core.home_numa_node.value];
  result_.numa_nodes_ = std::move(kept);
  hwloc_index_ = std::move(kept_index);
}

// Without a matrix from the system, distance is how far up the tree two NumaNodes meet: one step
// per level at which any two NumaNodes of this machine meet.
void TopologyBuilder::AddDistances() {
  const size_t count = result_.numa_nodes_.size();
  result_.distances_.assign(count * count, kLocalDistance);
  if (count == 1) return;
  std::vector<hwloc_obj_t> parents;
  for (const uint32_t index : hwloc_index_) {
    parents.push_back(CpuSideParent(hwloc_get_obj_by_type(loaded_, HWLOC_OBJ_NUMANODE, index)));
  }
  std::vector<int> meeting_depth(count * count, 0);
  std::set<int, std::greater<>> depths;  // deepest, that is nearest, first
  for (size_t from = 0; from < count; ++from) {
    for (size_t to = 0; to < count; ++to) {
      if (from == to) continue;
      const int depth = hwloc_get_common_ancestor_obj(loaded_, parents[from], parents[to])->depth;
      meeting_depth[from * count + to] = depth;
      depths.insert(depth);
    }
  }
  for (size_t from = 0; from < count; ++from) {
    for (size_t to = 0; to < count; ++to) {
      if (from == to) continue;
      const auto rank =
          std::distance(depths.begin(), depths.find(meeting_depth[from * count + to]));
      result_.distances_[from * count + to] =
          kLocalDistance + kDistanceStep * (static_cast<uint32_t>(rank) + 1);
    }
  }
  ReadDistances();
}

// Distances from the firmware take precedence over those derived from the tree.
void TopologyBuilder::ReadDistances() {
  unsigned matrices = 1;
  hwloc_distances_s* matrix = nullptr;
  if (hwloc_distances_get_by_type(loaded_, HWLOC_OBJ_NUMANODE, &matrices, &matrix,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) != 0 ||
      matrices == 0 || matrix == nullptr) {
    return;
  }
  const size_t count = result_.numa_nodes_.size();
  std::map<uint32_t, size_t> id_of;  // hwloc's logical index -> NumaNodeId
  for (size_t id = 0; id < count; ++id) id_of[hwloc_index_[id]] = id;
  for (unsigned from = 0; from < matrix->nbobjs; ++from) {
    for (unsigned to = 0; to < matrix->nbobjs; ++to) {
      if (matrix->objs[from] == nullptr || matrix->objs[to] == nullptr) continue;
      const auto from_id = id_of.find(matrix->objs[from]->logical_index);
      const auto to_id = id_of.find(matrix->objs[to]->logical_index);
      const uint64_t value = matrix->values[size_t{from} * matrix->nbobjs + to];
      if (from_id == id_of.end() || to_id == id_of.end() || value == 0) continue;
      result_.distances_[from_id->second * count + to_id->second] =
          static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
    }
  }
  hwloc_distances_release(loaded_, matrix);
}

void TopologyBuilder::AddMemoryOwners() {
  auto& numa_nodes = result_.numa_nodes_;
  const auto has_memory = [](const NumaNode& numa_node) { return numa_node.memory_bytes > 0; };
  if (std::none_of(numa_nodes.begin(), numa_nodes.end(), has_memory)) {
    // No source says how much each has. In a description every NumaNode gets an even share. On a
    // real machine the shares are unknown, so the first NumaNode gets all memory.
    const uint64_t share_bytes =
        std::max<uint64_t>(real_memory_bytes_ / (result_.synthetic_ ? numa_nodes.size() : 1), 1);
    for (NumaNode& numa_node : numa_nodes) {
      numa_node.memory_bytes = share_bytes;
      if (!result_.synthetic_) break;
    }
  }
  // A single NumaNode has all memory that the process may use: its own figure does not include
  // memory that was plugged in while the system ran.
  if (!result_.synthetic_ && numa_nodes.size() == 1)
    numa_nodes[0].memory_bytes = real_memory_bytes_;
  uint64_t sum_bytes = 0;
  for (const NumaNode& numa_node : numa_nodes) sum_bytes += numa_node.memory_bytes;
  result_.memory_bytes_ =
      result_.synthetic_ ? real_memory_bytes_ : std::min(real_memory_bytes_, sum_bytes);
  for (Core& core : result_.cores_) {
    core.numa_node = result_.NearestWithMemory(core.home_numa_node);
  }
}

void TopologyBuilder::OrderCores() {
  std::stable_sort(result_.cores_.begin(), result_.cores_.end(), [](const Core& a, const Core& b) {
    return std::tie(a.numa_node, a.home_numa_node) < std::tie(b.numa_node, b.home_numa_node);
  });
}

}  // namespace eris::topology
