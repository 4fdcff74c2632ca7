#include "engine/completion/session_nodes.h"

#include <sched.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace eris::engine {
namespace {

using Cpus = std::map<NumaNodeId, std::vector<uint32_t>>;

// Those of each NumaNode that has cores and memory.
Cpus CpusOf(const topology::Topology& topology) {
  Cpus cpus;
  for (const topology::Core& core : topology.cores()) {
    std::vector<uint32_t>& all = cpus[core.numa_node];
    all.insert(all.end(), core.cpus.begin(), core.cpus.end());
  }
  return cpus;
}

std::vector<CompletionThreadOptions> ThreadsOf(const topology::Topology& topology, bool pinned) {
  const Cpus all = CpusOf(topology);
  std::vector<CompletionThreadOptions> threads;
  for (const auto& [numa_node, cpus] : all) {
    CompletionThreadOptions& thread = threads.emplace_back();
    thread.name = absl::StrCat("eris-answers-", numa_node.value);
    // With one NumaNode there is nothing to choose.
    if (!pinned || topology.synthetic() || all.size() == 1) continue;
    thread.cpus = cpus;
    thread.numa_node = topology.numa_nodes()[numa_node.value];
  }
  return threads;
}

}  // namespace

SessionNodes::SessionNodes(const topology::Topology& topology, InFlight& in_flight, bool pinned)
    : topology_(topology), queues_(ThreadsOf(topology, pinned)) {
  for (const auto& [numa_node, cpus] : CpusOf(topology)) {
    const auto index = static_cast<uint32_t>(nodes_.size());
    nodes_.push_back(std::make_unique<SessionNode>(numa_node, queues_[index], in_flight.AddLane()));
    for (const uint32_t cpu : cpus) {
      if (node_of_cpu_.size() <= cpu) node_of_cpu_.resize(cpu + 1, kNone);
      node_of_cpu_[cpu] = index;
    }
  }
}

SessionNode& SessionNodes::Here() {
  if (topology_.synthetic()) {
    return *nodes_[turn_.fetch_add(1, std::memory_order_relaxed) % nodes_.size()];
  }
  const int cpu = sched_getcpu();  // -1: the system does not say
  if (cpu < 0 || static_cast<size_t>(cpu) >= node_of_cpu_.size()) return *nodes_[0];
  const uint32_t index = node_of_cpu_[static_cast<size_t>(cpu)];
  return *nodes_[index == kNone ? 0 : index];
}

SessionNode& SessionNodes::NearestTo(NumaNodeId numa_node) {
  const auto nearest =
      std::min_element(nodes_.begin(), nodes_.end(), [&](const auto& one, const auto& other) {
        const auto distance = [&](const SessionNode& node) {
          // Its own comes first, whatever the machine says.
          return std::pair(node.numa_node != numa_node,
                           topology_.Distance(numa_node, node.numa_node));
        };
        return distance(*one) < distance(*other);
      });
  return **nearest;
}

void SessionNodes::CollectAll() noexcept {
  for (const auto& node : nodes_) node->points.CollectAll();
  GiveDeferred();
}

}  // namespace eris::engine
