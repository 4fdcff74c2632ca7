#include "tasks/core_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/tasks/task_lab.h"
#include "tests/unit/topology/odd_machine_xml.h"
#include "topology/topology_builder.h"

namespace eris::tasks {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Numbers = std::vector<uint32_t>;

Numbers UpTo(uint32_t count) {
  Numbers numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

topology::Topology Xml(const std::vector<topology::XmlNumaNode>& numa_nodes,
                       const std::vector<uint32_t>& distances) {
  const topology::RealMachine real = {.allowed_cpus = {0},
                                      .limits = {.memory_bytes = uint64_t{8} << 30}};
  absl::StatusOr<topology::Topology> topology = topology::TopologyBuilder::FromXml(
      topology::MachineXml(numa_nodes, distances), nullptr, real);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

// What holds on every machine.
void ExpectWellFormed(const CoreGroups& all) {
  ASSERT_EQ(all.member_of.size(), all.aeus());
  ASSERT_EQ(all.near.size(), all.aeus());
  Numbers members;
  for (uint32_t g = 0; g < all.groups.size(); ++g) {
    const CoreGroup& group = all.groups[g];
    EXPECT_THAT(group.members, testing::Not(IsEmpty()));
    EXPECT_TRUE(std::ranges::is_sorted(group.members));
    members.insert(members.end(), group.members.begin(), group.members.end());
    Numbers others = group.others;
    others.push_back(g);
    EXPECT_THAT(others,
                testing::UnorderedElementsAreArray(UpTo(static_cast<uint32_t>(all.groups.size()))));
    for (uint32_t i = 0; i < group.others.size(); ++i) {
      EXPECT_EQ(i < group.near, all.groups[group.others[i]].numa_node == group.numa_node);
    }
  }
  EXPECT_THAT(members, testing::UnorderedElementsAreArray(UpTo(all.aeus())));
  for (uint32_t aeu = 0; aeu < all.aeus(); ++aeu) {
    const CoreGroup& group = all.groups[all.group_of[aeu]];
    EXPECT_EQ(group.members[all.member_of[aeu]], aeu);
    EXPECT_EQ(all.NumaNodeOf(aeu), group.numa_node);
    Numbers near = all.near[aeu];
    near.push_back(aeu);
    EXPECT_THAT(near, testing::UnorderedElementsAreArray(group.members));
  }
}

TEST(CoreGroupsTest, EveryMachineIsDividedOnce) {
  for (const char* machine :
       {"numa:1 core:1 pu:1", "numa:2 l3:2 l2:2 core:2 pu:1", "numa:8 l3:1 core:8 pu:1",
        "numa:8 core:8 pu:1", "group:2 numa:4 l3:2 core:2 pu:2", "numa:64 core:8 pu:1",
        "pack:2 [numa(memory=1GB)] [numa(memory=2GB)] l3:2 core:2 pu:1"}) {
    for (const Placement placement : {Placement::kDense, Placement::kSparse, Placement::kNone}) {
      for (const uint32_t aeus : {0u, 1u, 3u, 150u}) {
        SCOPED_TRACE(testing::Message() << machine << ", placement " << static_cast<int>(placement)
                                        << ", " << aeus << " AEUs");
        ExpectWellFormed(GroupsOf(machine, {.aeu_count = aeus, .placement = placement}));
      }
    }
  }
}

TEST(CoreGroupsTest, AeusThatShareTheLastCacheAreAGroup) {
  const CoreGroups all = GroupsOf("numa:2 l3:2 l2:2 core:2 pu:1");
  ASSERT_THAT(all.groups, SizeIs(4));
  EXPECT_THAT(all.groups[0].members, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(all.groups[3].members, ElementsAre(12, 13, 14, 15));
  EXPECT_EQ(all.groups[1].numa_node, 0u);
  EXPECT_EQ(all.groups[2].numa_node, 1u);
}

TEST(CoreGroupsTest, ThoseOfTheGroupThatShareALowerCacheAreNearest) {
  const CoreGroups all = GroupsOf("numa:2 l3:2 l2:2 core:2 pu:1");
  EXPECT_THAT(all.near[0], ElementsAre(1, 2, 3));
  EXPECT_THAT(all.near[1], ElementsAre(0, 2, 3));
  EXPECT_THAT(all.near[3], ElementsAre(2, 0, 1));
  EXPECT_THAT(all.near[14], ElementsAre(15, 12, 13));
}

TEST(CoreGroupsTest, HardwareThreadsOfOneCoreAreNearerThanItsNeighbours) {
  const CoreGroups all =
      GroupsOf("numa:1 l3:1 l2:1 l1:3 core:1 pu:2", {.aeu_per_hardware_thread = true});
  EXPECT_THAT(all.near[0], ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(all.near[5], ElementsAre(4, 0, 1, 2, 3));
}

TEST(CoreGroupsTest, ANumaNodeWithTwoLastCachesHasTwoGroupsThatAreNear) {
  const CoreGroups all = GroupsOf("numa:2 l3:2 l2:2 core:2 pu:1");
  EXPECT_THAT(all.groups[0].others, ElementsAre(1, 2, 3));
  EXPECT_THAT(all.groups[1].others, ElementsAre(0, 2, 3));
  EXPECT_THAT(all.groups[2].others, ElementsAre(3, 0, 1));
  for (const CoreGroup& group : all.groups) EXPECT_EQ(group.near, 1u);
}

TEST(CoreGroupsTest, EightNumaNodesOf64CoresAreEightGroupsThatAreFar) {
  const CoreGroups all = GroupsOf("numa:8 l3:1 core:8 pu:1");
  ASSERT_EQ(all.aeus(), 64u);
  ASSERT_THAT(all.groups, SizeIs(8));
  for (const CoreGroup& group : all.groups) {
    EXPECT_THAT(group.members, SizeIs(8));
    EXPECT_THAT(group.others, SizeIs(7));
    EXPECT_EQ(group.near, 0u);
  }
}

TEST(CoreGroupsTest, OtherNumaNodesComeByDistance) {
  const CoreGroups all = GroupsOf("group:2 numa:2 l3:2 core:1 pu:1");
  ASSERT_THAT(all.groups, SizeIs(8));
  // The same NumaNode, the other one of the package, the other package.
  EXPECT_EQ(all.groups[0].others[0], 1u);
  EXPECT_THAT(Numbers(&all.groups[0].others[1], &all.groups[0].others[3]),
              testing::UnorderedElementsAre(2, 3));
  EXPECT_EQ(all.groups[7].others[0], 6u);
  EXPECT_THAT(Numbers(&all.groups[7].others[1], &all.groups[7].others[3]),
              testing::UnorderedElementsAre(4, 5));
}

TEST(CoreGroupsTest, AmongEqualDistancesEachGroupBeginsBehindItself) {
  const CoreGroups all = GroupsOf("numa:8 core:1 pu:1");
  EXPECT_THAT(all.groups[0].others, ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(all.groups[5].others, ElementsAre(6, 7, 0, 1, 2, 3, 4));
}

TEST(CoreGroupsTest, DistancesOfTheMachineCountWhateverTheNumbers) {
  const CoreGroups all =
      GroupsOf(Xml({{1, 1 << 30}, {1, 1 << 30}, {1, 1 << 30}, {1, 1 << 30}},
                   {10, 30, 20, 40, 30, 10, 40, 20, 20, 40, 10, 30, 40, 20, 30, 10}));
  EXPECT_THAT(all.groups[0].others, ElementsAre(2, 1, 3));
  EXPECT_THAT(all.groups[1].others, ElementsAre(3, 0, 2));
  EXPECT_THAT(all.groups[2].others, ElementsAre(0, 3, 1));
  EXPECT_THAT(all.groups[3].others, ElementsAre(1, 2, 0));
}

// Their memory comes from the nearest NumaNode that has some: to that one they are near.
TEST(CoreGroupsTest, CoresOfAMemorylessNumaNodeAreAGroupOfTheirOwnNearTheirMemory) {
  const CoreGroups all =
      GroupsOf(Xml({{2, 1 << 30}, {2, 0}, {2, 1 << 30}}, {10, 30, 30, 30, 10, 20, 30, 20, 10}));
  ASSERT_THAT(all.groups, SizeIs(3));
  uint32_t memoryless = 3;
  for (uint32_t g = 0; g < 3; ++g) {
    if (all.groups[g].near == 0) {
      EXPECT_EQ(all.groups[g].numa_node, 0u);
      EXPECT_THAT(all.groups[g].others, SizeIs(2));
      continue;
    }
    memoryless = g;
    EXPECT_EQ(all.groups[g].numa_node, 2u);
    EXPECT_EQ(all.groups[g].near, 1u);
    EXPECT_THAT(all.groups[g].members, SizeIs(2));
  }
  EXPECT_NE(memoryless, 3u);
}

TEST(CoreGroupsTest, SparseAeusAreGroupedByCoreNotByNumber) {
  const CoreGroups all = GroupsOf("numa:2 l3:1 core:2 pu:1", {.placement = Placement::kSparse});
  ASSERT_THAT(all.groups, SizeIs(2));
  EXPECT_THAT(all.groups[0].members, ElementsAre(0, 2));
  EXPECT_THAT(all.groups[1].members, ElementsAre(1, 3));
  EXPECT_THAT(all.near[2], ElementsAre(0));
  EXPECT_THAT(all.member_of, ElementsAre(0, 0, 1, 1));
}

TEST(CoreGroupsTest, AeusOnOneCoreAreNearest) {
  const CoreGroups all = GroupsOf("numa:2 l3:1 l2:2 core:1 pu:1", {.aeu_count = 10});
  ASSERT_THAT(all.groups, SizeIs(2));
  EXPECT_THAT(all.groups[0].members, ElementsAre(0, 1, 4, 5, 8, 9));
  EXPECT_THAT(all.near[4], ElementsAre(0, 8, 1, 5, 9));
  EXPECT_THAT(all.groups[1].members, ElementsAre(2, 3, 6, 7));
}

TEST(CoreGroupsTest, CachesWithoutAeusAreNoGroups) {
  const CoreGroups all = GroupsOf("numa:4 l3:2 core:4 pu:1", {.aeu_count = 5});
  ASSERT_THAT(all.groups, SizeIs(2));
  EXPECT_THAT(all.groups[1].members, ElementsAre(4));
  EXPECT_THAT(all.near[4], IsEmpty());
}

}  // namespace
}  // namespace eris::tasks
