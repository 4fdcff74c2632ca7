#include "topology/placement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace eris::topology {
namespace {

// A place for one AEU: a hardware thread of the topology.
struct Slot {
  NumaNodeId numa_node;
  uint32_t cpu = 0;
};

// Cores left to AEUs and cores kept for the network, both as indexes into topology.cores().
struct CoreSplit {
  std::vector<size_t> aeu_cores;
  std::vector<size_t> network_cores;
};

CoreSplit KeepNetworkCores(const Topology& topology, uint32_t wanted, PlacementPlan& plan) {
  std::map<NumaNodeId, std::vector<size_t>> left;  // per NumaNode, ascending
  const size_t cores = topology.cores().size();
  for (size_t core = 0; core < cores; ++core)
    left[topology.cores()[core].numa_node].push_back(core);
  const size_t kept = std::min<size_t>(wanted, cores - 1);
  if (kept < wanted) {
    plan.notes.push_back(absl::StrCat(wanted, " cores were asked for the network, ", kept, " of ",
                                      cores, cores == 1 ? " is" : " are",
                                      " kept: at least one stays for AEUs."));
  }
  CoreSplit split;
  for (size_t i = 0; i < kept; ++i) {
    auto fullest = left.begin();
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (it->second.size() >= fullest->second.size()) fullest = it;
    }
    split.network_cores.push_back(fullest->second.back());
    fullest->second.pop_back();
  }
  for (const auto& [numa_node, indexes] : left) {
    split.aeu_cores.insert(split.aeu_cores.end(), indexes.begin(), indexes.end());
  }
  return split;
}

std::vector<Slot> DenseSlots(const Topology& topology, const std::vector<size_t>& cores,
                             bool per_hardware_thread) {
  std::vector<Slot> slots;
  for (const size_t index : cores) {
    const Core& core = topology.cores()[index];
    const size_t threads = per_hardware_thread ? core.cpus.size() : 1;
    for (size_t i = 0; i < threads; ++i) slots.push_back({core.numa_node, core.cpus[i]});
  }
  return slots;
}

// One NumaNode after the other; within each, every core's first hardware thread before any second.
std::vector<Slot> SparseSlots(const Topology& topology, const std::vector<size_t>& cores,
                              bool per_hardware_thread) {
  std::map<NumaNodeId, std::vector<Slot>> by_numa_node;
  size_t threads_max = 1;
  for (const size_t index : cores) {
    threads_max = std::max(threads_max, topology.cores()[index].cpus.size());
  }
  for (size_t thread = 0; thread < (per_hardware_thread ? threads_max : 1); ++thread) {
    for (const size_t index : cores) {
      const Core& core = topology.cores()[index];
      if (thread < core.cpus.size()) {
        by_numa_node[core.numa_node].push_back({core.numa_node, core.cpus[thread]});
      }
    }
  }
  std::vector<Slot> slots;
  for (size_t turn = 0, before = 1; before != slots.size(); ++turn) {
    before = slots.size();
    for (const auto& [numa_node, own] : by_numa_node) {
      if (turn < own.size()) slots.push_back(own[turn]);
    }
  }
  return slots;
}

absl::StatusOr<std::vector<Slot>> ExplicitSlots(const Topology& topology,
                                                const std::vector<uint32_t>& cpus) {
  std::map<uint32_t, NumaNodeId> numa_node_of;
  for (const Core& core : topology.cores()) {
    for (const uint32_t cpu : core.cpus) numa_node_of[cpu] = core.numa_node;
  }
  std::vector<Slot> slots;
  std::set<uint32_t> seen;
  for (const uint32_t cpu : cpus) {
    const auto found = numa_node_of.find(cpu);
    if (found == numa_node_of.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("aeu_cpus: cpu ", cpu, " is unknown or not allowed to this process"));
    }
    if (!seen.insert(cpu).second) {
      return absl::InvalidArgumentError(absl::StrCat("aeu_cpus: cpu ", cpu, " is given twice"));
    }
    slots.push_back({found->second, cpu});
  }
  return slots;
}

// The cpus of the real machine that replace a synthetic topology's cores. As many as requested (and
// available) go to the network.
std::vector<uint32_t> StandInCpus(const Topology& topology, size_t network_cores,
                                  PlacementPlan& plan) {
  std::vector<uint32_t> cpus = topology.allowed_cpus();
  const size_t kept = std::min(network_cores, cpus.size() - 1);
  plan.network_cpus.assign(cpus.end() - static_cast<ptrdiff_t>(kept), cpus.end());
  cpus.resize(cpus.size() - kept);
  if (kept < network_cores) {
    plan.notes.push_back(absl::StrCat("The real machine keeps ", kept, " of ", network_cores,
                                      " network cores of the synthetic topology."));
  }
  return cpus;
}

void PlaceRoundRobin(const Topology& topology, const std::vector<Slot>& slots, uint32_t aeus,
                     bool pinned, size_t network_cores, PlacementPlan& plan) {
  std::vector<uint32_t> stand_ins;
  if (topology.synthetic()) stand_ins = StandInCpus(topology, network_cores, plan);
  std::map<uint32_t, uint32_t> core_of;  // by the topology's cpu
  for (uint32_t core = 0; core < topology.cores().size(); ++core) {
    for (const uint32_t cpu : topology.cores()[core].cpus) core_of[cpu] = core;
  }
  for (uint32_t i = 0; i < aeus; ++i) {
    const Slot& slot = slots[i % slots.size()];
    const uint32_t cpu = topology.synthetic() ? stand_ins[i % stand_ins.size()] : slot.cpu;
    plan.aeus.push_back({.aeu = AeuId{i},
                         .numa_node = slot.numa_node,
                         .cpu = pinned ? static_cast<int32_t>(cpu) : -1,
                         .core = core_of[slot.cpu]});
  }
}

uint32_t DefaultAeus(const Topology& topology, size_t slots, size_t network_cores,
                     PlacementPlan& plan) {
  uint32_t aeus = static_cast<uint32_t>(std::min<size_t>(slots, kAeusMax));
  if (aeus < slots) {
    plan.notes.push_back(
        absl::StrCat("The machine has room for ", slots, " AEUs, the limit is ", kAeusMax, "."));
  }
  const ProcessLimits& limits = topology.limits();
  if (limits.cpu_quota <= 0) return aeus;
  const double left = std::ceil(limits.cpu_quota) - static_cast<double>(network_cores);
  if (left >= static_cast<double>(aeus)) return aeus;
  const uint32_t fitting = std::max(1u, static_cast<uint32_t>(std::max(left, 1.0)));
  plan.notes.push_back(absl::StrCat(limits.cpu_quota_source, " gives the process ",
                                    limits.cpu_quota, " cpus: ", fitting, " of ", aeus,
                                    " possible AEUs; aeu_count overrides it."));
  return fitting;
}

}  // namespace

absl::StatusOr<PlacementPlan> PlanPlacement(const Topology& topology, const Options& options) {
  const size_t asked = options.aeu_cpus.empty() ? options.aeu_count : options.aeu_cpus.size();
  if (asked > kAeusMax) {
    return absl::InvalidArgumentError(absl::StrCat(asked, " AEUs: the limit is ", kAeusMax));
  }
  PlacementPlan plan;
  if (!options.aeu_cpus.empty()) {
    absl::StatusOr<std::vector<Slot>> slots = ExplicitSlots(topology, options.aeu_cpus);
    if (!slots.ok()) return slots.status();
    PlaceRoundRobin(topology, *slots, static_cast<uint32_t>(asked), /*pinned=*/true,
                    /*network_cores=*/0, plan);
    return plan;
  }

  const CoreSplit split = KeepNetworkCores(topology, options.network_cores, plan);
  const std::vector<Slot> slots =
      options.placement == Placement::kSparse
          ? SparseSlots(topology, split.aeu_cores, options.aeu_per_hardware_thread)
          : DenseSlots(topology, split.aeu_cores, options.aeu_per_hardware_thread);
  const uint32_t aeus = options.aeu_count > 0
                            ? options.aeu_count
                            : DefaultAeus(topology, slots.size(), split.network_cores.size(), plan);
  if (aeus > slots.size()) {
    plan.notes.push_back(absl::StrCat(
        aeus, " AEUs share ", slots.size(),
        options.aeu_per_hardware_thread ? " hardware threads" : " cores", " round robin."));
  }
  if (!topology.synthetic()) {
    for (const size_t core : split.network_cores) {
      const std::vector<uint32_t>& cpus = topology.cores()[core].cpus;
      plan.network_cpus.insert(plan.network_cpus.end(), cpus.begin(), cpus.end());
    }
    std::sort(plan.network_cpus.begin(), plan.network_cpus.end());
  }
  PlaceRoundRobin(topology, slots, aeus, options.placement != Placement::kNone,
                  split.network_cores.size(), plan);
  return plan;
}

bool LeavesCpusOnEachNumaNode(const Topology& topology, const PlacementPlan& plan) {
  std::map<NumaNodeId, size_t> left;
  for (const Core& core : topology.cores()) left[core.numa_node] += core.cpus.size();
  for (const AeuPlace& place : plan.aeus) {
    size_t& cpus = left[place.numa_node];
    if (cpus <= 1) return false;
    --cpus;
  }
  return true;
}

}  // namespace eris::topology
