#include "memory/memory_system.h"

#include <gtest/gtest.h>

#include <string>

#include "memory/memory_manager.h"
#include "tests/unit/topology/odd_machine_xml.h"
#include "topology/topology_builder.h"

namespace eris::memory {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(MemorySystemTest, EachNumaNodeHasItsOwnPoolUnderOneLimit) {
  absl::StatusOr<topology::Topology> topology = topology::Topology::Synthetic("numa:4 core:2 pu:1");
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem system(*topology, 3 * kSuperblockBytes);
  ASSERT_EQ(system.numa_node_count(), 4u);
  std::vector<void*> superblocks;
  for (uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(system.pool({i}).id().value, i);
    EXPECT_TRUE(system.has_own_pool({i}));
    superblocks.push_back(system.pool({i}).TakeSuperblock());
    EXPECT_EQ(superblocks.back() != nullptr, i < 3) << i;
  }
  EXPECT_EQ(system.reserved_bytes(), system.limit_bytes());
  EXPECT_TRUE(system.binding_status().ok());
  for (uint32_t i = 0; i < 3; ++i) system.pool({i}).ReturnSuperblock(superblocks[i]);
}

TEST(MemorySystemTest, MemorylessNumaNodeIsServedByTheNearest) {
  absl::StatusOr<topology::Topology> topology = topology::TopologyBuilder::FromXml(
      topology::MachineXml({{2, kGiB}, {2, 0}, {2, kGiB}}, {10, 30, 20, 30, 10, 15, 20, 15, 10}),
      nullptr, topology::TopologyBuilder::ReadRealMachine());
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem system(*topology, kGiB);
  EXPECT_EQ(&system.pool({1}), &system.pool({2}));
  EXPECT_FALSE(system.has_own_pool({1}));
  EXPECT_NE(&system.pool({0}), &system.pool({2}));
}

TEST(MemorySystemTest, RealMachineGivesMemoryBoundOrNot) {
  absl::StatusOr<topology::Topology> topology = topology::Topology::Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem system(*topology, kGiB);
  for (const topology::Core& core : topology->cores()) {
    MemoryManager manager(ObjectId{1}, system.pool(core.numa_node));
    EXPECT_EQ(manager.numa_node(), core.numa_node);
    EXPECT_NE(manager.TakeSpan(), nullptr);
  }
  // Whether the kernel binds is its affair; that the answer is kept is ours.
  const absl::Status status = system.binding_status();
  EXPECT_TRUE(status.ok() || !std::string(status.message()).empty());
}

}  // namespace
}  // namespace eris::memory
