// The text of `eris topology --explain`: the machine first, then the plan.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "topology/placement.h"

namespace eris::topology {
namespace {

// A wider matrix is unreadable; the nearest neighbours are then listed instead.
constexpr size_t kMatrixNumaNodesMax = 16;

std::string Count(size_t count, const char* word) {
  return absl::StrCat(count, " ", word, count == 1 ? "" : "s");
}

std::string Bytes(uint64_t bytes) {
  if (bytes >= uint64_t{1} << 30) {
    return absl::StrFormat("%.1f GiB", static_cast<double>(bytes) / (uint64_t{1} << 30));
  }
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
}

// "0-3,8,10-11"
std::string CpuList(std::vector<uint32_t> cpus) {
  std::sort(cpus.begin(), cpus.end());
  std::string text;
  for (size_t i = 0; i < cpus.size();) {
    size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", cpus[i]);
    if (last > i) absl::StrAppend(&text, "-", cpus[last]);
    i = last + 1;
  }
  return text;
}

void ExplainNumaNodes(const Topology& topology, std::string& text) {
  for (const NumaNode& numa_node : topology.numa_nodes()) {
    std::vector<uint32_t> cpus;
    std::set<uint32_t> cache_groups;
    for (const Core& core : topology.cores()) {
      if (core.home_numa_node != numa_node.id) continue;
      cpus.insert(cpus.end(), core.cpus.begin(), core.cpus.end());
      cache_groups.insert(core.cache_group);
    }
    absl::StrAppend(&text, "  NumaNode ", numa_node.id.value, " (system's number ",
                    numa_node.os_index, "): ");
    if (numa_node.memory_bytes > 0) {
      absl::StrAppend(&text, Bytes(numa_node.memory_bytes));
    } else {
      absl::StrAppend(&text, "no memory, served by NumaNode ",
                      topology.NearestWithMemory(numa_node.id).value);
    }
    if (numa_node.core_count > 0) {
      absl::StrAppend(&text, ", ", Count(numa_node.core_count, "core"), " (cpus ", CpuList(cpus),
                      "), ", Count(cache_groups.size(), "cache group"), "\n");
    } else {
      absl::StrAppend(&text, ", no cores: no AEU here\n");
    }
  }
}

void ExplainDistances(const Topology& topology, std::string& text) {
  const auto& numa_nodes = topology.numa_nodes();
  if (numa_nodes.size() == 1) return;
  if (numa_nodes.size() > kMatrixNumaNodesMax) {
    std::map<uint32_t, size_t> pairs;
    for (const NumaNode& from : numa_nodes) {
      for (const NumaNode& to : numa_nodes) ++pairs[topology.Distance(from.id, to.id)];
    }
    absl::StrAppend(&text, "  Distances (10 is local):");
    for (const auto& [distance, count] : pairs) {
      absl::StrAppend(&text, " ", distance, " for ", Count(count, "pair"), ";");
    }
    text.back() = '\n';
    return;
  }
  absl::StrAppend(&text, "  Distances (10 is local):\n      ");
  for (const NumaNode& to : numa_nodes) absl::StrAppendFormat(&text, "%5u", to.id.value);
  absl::StrAppend(&text, "\n");
  for (const NumaNode& from : numa_nodes) {
    absl::StrAppendFormat(&text, "  %4u", from.id.value);
    for (const NumaNode& to : numa_nodes) {
      absl::StrAppendFormat(&text, "%5u", topology.Distance(from.id, to.id));
    }
    absl::StrAppend(&text, "\n");
  }
}

// Shown if it is not the machine's own.
std::string SourceText(const Topology& topology) {
  const ProcessLimits& limits = topology.limits();
  const bool ordinary = limits.memory_source.empty() || limits.memory_source == "physical memory";
  if (ordinary || topology.memory_bytes() < limits.memory_bytes) return "";
  return absl::StrCat(", by ", limits.memory_source);
}

std::string QuotaText(const ProcessLimits& limits) {
  if (limits.cpu_quota <= 0) return "";
  return absl::StrCat("; time of ", limits.cpu_quota, limits.cpu_quota == 1 ? " cpu" : " cpus",
                      ", by ", limits.cpu_quota_source);
}

}  // namespace

std::string Explain(const Topology& topology, const PlacementPlan& plan) {
  size_t threads = 0;
  std::set<uint32_t> cache_groups;
  for (const Core& core : topology.cores()) {
    threads += core.cpus.size();
    cache_groups.insert(core.cache_group);
  }
  std::string text = absl::StrCat(
      topology.synthetic() ? "Machine (synthetic: nothing is bound to its NumaNodes)\n"
                           : "Machine\n",
      "  ", Count(topology.numa_nodes().size(), "NumaNode"), ", ",
      Count(topology.cores().size(), "core"), ", ", Count(threads, "hardware thread"), ", ",
      Count(cache_groups.size(), "cache group"), "\n  Memory: ", Bytes(topology.memory_bytes()),
      topology.synthetic() ? " (of the real machine)" : "", SourceText(topology),
      "\n  Allowed cpus: ", CpuList(topology.allowed_cpus()), QuotaText(topology.limits()), "\n");
  ExplainNumaNodes(topology, text);
  ExplainDistances(topology, text);

  absl::StrAppend(&text, "Plan\n  ", Count(plan.aeus.size(), "AEU"), "; network threads: ",
                  plan.network_cpus.empty() ? std::string("any cpu")
                                            : absl::StrCat("cpus ", CpuList(plan.network_cpus)),
                  "\n");
  for (const AeuPlace& place : plan.aeus) {
    absl::StrAppend(&text, "  AEU ", place.aeu.value, ": NumaNode ", place.numa_node.value, ", ",
                    place.cpu < 0 ? std::string("not pinned") : absl::StrCat("cpu ", place.cpu),
                    "\n");
  }
  for (const std::string& note : plan.notes) absl::StrAppend(&text, "  Note: ", note, "\n");
  return text;
}

}  // namespace eris::topology
