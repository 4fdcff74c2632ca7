#include "memory/memory_system.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/time/clock.h"

#include "memory/memory_manager.h"
#include "tests/unit/topology/odd_machine_xml.h"
#include "topology/topology_builder.h"

namespace eris::memory {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(MemorySystemTest, EachNumaNodeHasItsOwnPoolUnderOneLimit) {
  absl::StatusOr<topology::Topology> topology = topology::Topology::Synthetic("numa:4 core:2 pu:1");
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem system(*topology, {.limit_bytes = 3 * kSuperblockBytes});
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
  MemorySystem system(*topology, {.limit_bytes = kGiB});
  EXPECT_EQ(&system.pool({1}), &system.pool({2}));
  EXPECT_FALSE(system.has_own_pool({1}));
  EXPECT_NE(&system.pool({0}), &system.pool({2}));
}

TEST(MemorySystemTest, RealMachineGivesMemoryBoundOrNot) {
  absl::StatusOr<topology::Topology> topology = topology::Topology::Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem system(*topology, {.limit_bytes = kGiB});
  for (const topology::Core& core : topology->cores()) {
    MemoryManager manager(ObjectId{1}, system.pool(core.numa_node));
    EXPECT_EQ(manager.numa_node(), core.numa_node);
    EXPECT_NE(manager.NewCache()->Allocate(64), nullptr);
  }
  // Whether the kernel binds is its affair; that the answer is kept is ours.
  const absl::Status status = system.binding_status();
  EXPECT_TRUE(status.ok() || !std::string(status.message()).empty());
}

TEST(MemorySystemTest, OneNumaNodeServesAllWhenAskedTo) {
  absl::StatusOr<topology::Topology> topology = topology::Topology::Synthetic("numa:3 core:1 pu:1");
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem system(*topology, {.limit_bytes = kGiB,
                                  .placement = MemoryOptions::Placement::kOneNumaNode,
                                  .one_numa_node = {1}});
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(system.pool({i}).id().value, 1u);
  EXPECT_TRUE(system.spill({0}).empty());
}

TEST(MemorySystemTest, SpillGoesToTheNearestFirst) {
  absl::StatusOr<topology::Topology> topology = topology::TopologyBuilder::FromXml(
      topology::MachineXml({{2, kGiB}, {2, kGiB}, {2, kGiB}}, {10, 30, 20, 30, 10, 15, 20, 15, 10}),
      nullptr, topology::TopologyBuilder::ReadRealMachine());
  ASSERT_TRUE(topology.ok()) << topology.status();
  MemorySystem refusing(*topology, {.limit_bytes = kGiB});
  EXPECT_TRUE(refusing.spill({0}).empty());
  MemorySystem system(*topology, {.limit_bytes = kGiB, .spill = true});
  EXPECT_EQ(system.spill({0}), (std::vector<NumaNodePool*>{&system.pool({2}), &system.pool({1})}));
  EXPECT_EQ(system.spill({1}), (std::vector<NumaNodePool*>{&system.pool({2}), &system.pool({0})}));
}

// Waits for the keeper's thread, up to a time that only a broken one needs.
template <class Condition>
bool Eventually(Condition condition) {
  for (int i = 0; i < 2000; ++i) {
    if (condition()) return true;
    absl::SleepFor(absl::Milliseconds(10));
  }
  return false;
}

TEST(MemorySystemTest, TheKeeperMakesReadyAndGivesBackByItself) {
  absl::StatusOr<topology::Topology> topology = topology::Topology::Synthetic("numa:2 core:1 pu:1");
  ASSERT_TRUE(topology.ok()) << topology.status();
  // Long enough that what is ready is seen.
  MemorySystem system(*topology,
                      {.limit_bytes = kGiB, .keeper = true, .tick = absl::Milliseconds(200)});
  NumaNodePool& pool = system.pool({1});
  std::vector<void*> superblocks;
  for (int i = 0; i < 8; ++i) superblocks.push_back(pool.TakeSuperblock());
  EXPECT_TRUE(Eventually([&] { return pool.figures().ready_bytes > 0; }));
  for (void* superblock : superblocks) pool.ReturnSuperblock(superblock);
  EXPECT_GT(system.reserved_bytes(), 0u);
  EXPECT_TRUE(Eventually([&] { return system.reserved_bytes() == 0; }));
  // And once more, after it has slept.
  pool.ReturnSuperblock(pool.TakeSuperblock());
  EXPECT_GT(system.reserved_bytes(), 0u);
  EXPECT_TRUE(Eventually([&] { return system.reserved_bytes() == 0; }));
}

}  // namespace
}  // namespace eris::memory
