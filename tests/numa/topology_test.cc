// Topology::Discover on a machine whose shape is known: the NUMA lab's. Outside it there is nothing
// to compare with.
#include "topology/topology.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/numa/lab_machine.h"

namespace eris::topology {
namespace {

using numa_lab::LabMachine;

class TopologyTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::optional<LabMachine> machine = LabMachine::Get();
    if (!machine) GTEST_SKIP() << "this is not the NUMA lab: run it with ./dev numa 4x2";
    machine_ = *machine;
    absl::StatusOr<Topology> found = Topology::Discover();
    ASSERT_TRUE(found.ok()) << found.status();
    topology_ = *std::move(found);
    for (const NumaNode& node : topology_.numa_nodes()) by_os_index_[node.os_index] = &node;
  }

  LabMachine machine_;
  Topology topology_;
  std::map<uint32_t, const NumaNode*> by_os_index_;
};

TEST_F(TopologyTest, EveryNumaNodeIsFoundWithItsCores) {
  ASSERT_EQ(topology_.numa_nodes().size(), machine_.cpus.size());
  for (uint32_t i = 0; i < machine_.cpus.size(); ++i) {
    ASSERT_TRUE(by_os_index_.contains(i)) << "NumaNode " << i;
    EXPECT_EQ(by_os_index_[i]->core_count, machine_.cpus[i]) << "NumaNode " << i;
  }
}

TEST_F(TopologyTest, EveryCpuStandsInItsHomeNumaNode) {
  std::vector<uint32_t> home_of_cpu;
  for (uint32_t i = 0; i < machine_.cpus.size(); ++i) {
    home_of_cpu.insert(home_of_cpu.end(), machine_.cpus[i], i);
  }
  std::vector<uint32_t> seen;
  for (const Core& core : topology_.cores()) {
    for (const uint32_t cpu : core.cpus) {
      seen.push_back(cpu);
      ASSERT_LT(cpu, home_of_cpu.size());
      EXPECT_EQ(topology_.numa_nodes()[core.home_numa_node.value].os_index, home_of_cpu[cpu]);
    }
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, topology_.allowed_cpus());
  EXPECT_EQ(seen.size(), home_of_cpu.size());
}

TEST_F(TopologyTest, MemoryIsThatOfTheMachineLessWhatTheKernelKeeps) {
  for (uint32_t i = 0; i < machine_.memory_mib.size(); ++i) {
    const uint64_t given = uint64_t{machine_.memory_mib[i]} << 20;
    EXPECT_LE(by_os_index_[i]->memory_bytes, given) << "NumaNode " << i;
    EXPECT_GE(by_os_index_[i]->memory_bytes, given / 2) << "NumaNode " << i;
  }
}

TEST_F(TopologyTest, DistancesAreThoseOfTheMachine) {
  for (uint32_t i = 0; i < machine_.distances.size(); ++i) {
    for (uint32_t j = 0; j < machine_.distances.size(); ++j) {
      EXPECT_EQ(topology_.Distance(by_os_index_[i]->id, by_os_index_[j]->id),
                machine_.distances[i][j])
          << "from " << i << " to " << j;
    }
  }
}

TEST_F(TopologyTest, CoresWithoutMemoryOfTheirOwnGetTheNearest) {
  for (const Core& core : topology_.cores()) {
    const NumaNode& home = topology_.numa_nodes()[core.home_numa_node.value];
    const NumaNode& serving = topology_.numa_nodes()[core.numa_node.value];
    EXPECT_GT(serving.memory_bytes, 0u);
    if (home.memory_bytes > 0) {
      EXPECT_EQ(serving.id, home.id);
      continue;
    }
    for (const NumaNode& other : topology_.numa_nodes()) {
      if (other.memory_bytes == 0) continue;
      EXPECT_LE(topology_.Distance(home.id, serving.id), topology_.Distance(home.id, other.id))
          << "NumaNode " << home.os_index << " is served by " << serving.os_index;
    }
  }
}

}  // namespace
}  // namespace eris::topology
