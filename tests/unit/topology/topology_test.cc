// Machines come from hwloc's synthetic strings, the odd ones from hwloc XML; Discover runs on
// whatever machine the test runs on, also with its affinity narrowed to one cpu.
#include "topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/topology/odd_machine_xml.h"
#include "topology/pinned_thread.h"
#include "topology/topology_builder.h"

namespace eris::topology {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr uint64_t kGiB = uint64_t{1} << 30;

Topology MustSynthetic(const std::string& description) {
  absl::StatusOr<Topology> topology = Topology::Synthetic(description);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

Topology MustXml(const std::string& xml, const std::vector<uint32_t>* usable = nullptr) {
  absl::StatusOr<Topology> topology =
      TopologyBuilder::FromXml(xml, usable, TopologyBuilder::ReadRealMachine());
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

class NumaNodeCountTest : public testing::TestWithParam<int> {};

TEST_P(NumaNodeCountTest, SyntheticHasTheDescribedShape) {
  const uint32_t count = GetParam();
  const Topology topology = MustSynthetic("numa:" + std::to_string(count) + " core:2 pu:1");
  EXPECT_TRUE(topology.synthetic());
  ASSERT_THAT(topology.numa_nodes(), SizeIs(count));
  ASSERT_THAT(topology.cores(), SizeIs(2 * count));
  for (uint32_t i = 0; i < count; ++i) {
    EXPECT_EQ(topology.numa_nodes()[i].id.value, i);
    EXPECT_EQ(topology.numa_nodes()[i].core_count, 2u);
    EXPECT_EQ(topology.numa_nodes()[i].memory_bytes, kGiB);
    for (uint32_t j = 0; j < count; ++j) {
      EXPECT_EQ(topology.Distance({i}, {j}), i == j ? 10u : 20u);
    }
  }
  for (uint32_t i = 0; i < 2 * count; ++i) {
    EXPECT_EQ(topology.cores()[i].numa_node.value, i / 2);
    EXPECT_THAT(topology.cores()[i].cpus, ElementsAre(i));
    // No cache is described, so a NumaNode is one group.
    EXPECT_EQ(topology.cores()[i].cache_group, i / 2);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, NumaNodeCountTest, testing::Values(1, 2, 4, 8));

TEST(TopologyTest, SyntheticOfThePaperHas512Cores) {
  const Topology topology = MustSynthetic("numa:64 core:8 pu:1");
  EXPECT_THAT(topology.numa_nodes(), SizeIs(64));
  ASSERT_THAT(topology.cores(), SizeIs(512));
  EXPECT_EQ(topology.cores()[511].numa_node.value, 63u);
}

TEST(TopologyTest, SyntheticWithAttachedMemoryKeepsItsSize) {
  const Topology topology = MustSynthetic("pack:4 [numa(memory=1GB)] core:2 pu:1");
  ASSERT_THAT(topology.numa_nodes(), SizeIs(4));
  EXPECT_EQ(topology.numa_nodes()[3].memory_bytes, 1'000'000'000u);
  EXPECT_THAT(topology.cores(), SizeIs(8));
}

TEST(TopologyTest, SyntheticWithoutMemorySizesSharesTheRealMemory) {
  const Topology topology = MustSynthetic("pack:4 [numa] core:2 pu:1");
  for (const NumaNode& numa_node : topology.numa_nodes()) {
    EXPECT_EQ(numa_node.memory_bytes, topology.memory_bytes() / 4);
  }
}

TEST(TopologyTest, SyntheticUsesTheRealMachinesCpusAndMemory) {
  const Topology synthetic = MustSynthetic("numa:4 core:2 pu:1");
  absl::StatusOr<Topology> real = Topology::Discover();
  ASSERT_TRUE(real.ok()) << real.status();
  EXPECT_EQ(synthetic.allowed_cpus(), real->allowed_cpus());
  EXPECT_GE(synthetic.memory_bytes(), real->memory_bytes());
}

TEST(TopologyTest, HardwareThreadsBelongToTheirCore) {
  const Topology topology = MustSynthetic("numa:2 core:2 pu:2");
  ASSERT_THAT(topology.cores(), SizeIs(4));
  EXPECT_THAT(topology.cores()[1].cpus, ElementsAre(2, 3));
}

TEST(TopologyTest, HardwareThreadsWithoutCoresAreCores) {
  const Topology topology = MustSynthetic("numa:2 pu:3");
  ASSERT_THAT(topology.cores(), SizeIs(6));
  EXPECT_THAT(topology.cores()[5].cpus, ElementsAre(5));
}

TEST(TopologyTest, CacheGroupsAreTheLastLevelCaches) {
  const Topology topology = MustSynthetic("numa:2 l3:2 l2:2 core:1 pu:1");
  ASSERT_THAT(topology.cores(), SizeIs(8));
  std::vector<uint32_t> groups;
  for (const Core& core : topology.cores()) groups.push_back(core.cache_group);
  EXPECT_THAT(groups, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
}

TEST(TopologyTest, NumaNodesOfOneGroupAreNearer) {
  const Topology topology = MustSynthetic("group:2 numa:2 core:1 pu:1");
  EXPECT_EQ(topology.Distance({0}, {0}), 10u);
  EXPECT_EQ(topology.Distance({0}, {1}), 20u);
  EXPECT_EQ(topology.Distance({0}, {2}), 30u);
  EXPECT_EQ(topology.Distance({3}, {2}), 20u);
}

TEST(TopologyTest, SecondMemoryOfASocketIsANumaNodeWithoutCores) {
  const Topology topology =
      MustSynthetic("pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:1");
  ASSERT_THAT(topology.numa_nodes(), SizeIs(4));
  std::vector<uint32_t> core_counts;
  for (const NumaNode& numa_node : topology.numa_nodes()) {
    core_counts.push_back(numa_node.core_count);
  }
  EXPECT_THAT(core_counts, ElementsAre(2, 0, 2, 0));
  EXPECT_EQ(topology.cores()[3].numa_node.value, 2u);
}

TEST(TopologyTest, BadDescriptionsAreNamed) {
  for (const std::string bad : {"", "bogus", "numa:0 core:2 pu:1", "numa:2 core:2 pu:2 extra",
                                "numa:-1", "core:2 numa:", "pu:2 core:2", "numa:4 core:2 pu:1)"}) {
    const absl::Status status = Topology::Synthetic(bad).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"" + bad + "\""));
  }
}

TEST(TopologyTest, TooLargeDescriptionIsRefusedBeforeItIsBuilt) {
  for (const std::string bad : {"numa:1000 core:1000 pu:100", "numa:99999999999999999999 pu:1"}) {
    EXPECT_EQ(Topology::Synthetic(bad).status().code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST(TopologyTest, CoresOfMemorylessNumaNodeUseTheNearestMemory) {
  // By the matrix, NumaNode 2 is nearer to NumaNode 1 than NumaNode 0 is.
  const Topology topology =
      MustXml(MachineXml({{2, kGiB}, {2, 0}, {2, kGiB}}, {10, 30, 20, 30, 10, 15, 20, 15, 10}));
  ASSERT_THAT(topology.numa_nodes(), SizeIs(3));
  EXPECT_EQ(topology.numa_nodes()[1].memory_bytes, 0u);
  EXPECT_EQ(topology.numa_nodes()[1].core_count, 2u);
  EXPECT_EQ(topology.NearestWithMemory({1}), NumaNodeId{2});
  EXPECT_EQ(topology.NearestWithMemory({0}), NumaNodeId{0});
  ASSERT_THAT(topology.cores(), SizeIs(6));
  std::vector<uint32_t> numa_nodes;
  std::vector<uint32_t> homes;
  for (const Core& core : topology.cores()) {
    numa_nodes.push_back(core.numa_node.value);
    homes.push_back(core.home_numa_node.value);
  }
  EXPECT_THAT(numa_nodes, ElementsAre(0, 0, 2, 2, 2, 2));
  EXPECT_THAT(homes, ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(TopologyTest, MatrixOfTheFirmwareIsTaken) {
  const Topology topology = MustXml(MachineXml({{1, kGiB}, {1, kGiB}}, {10, 21, 22, 11}));
  EXPECT_EQ(topology.Distance({0}, {1}), 21u);
  EXPECT_EQ(topology.Distance({1}, {0}), 22u);
  EXPECT_EQ(topology.Distance({1}, {1}), 11u);
}

TEST(TopologyTest, NumaNodeWithoutCpusIsKeptAndMarked) {
  const Topology topology = MustXml(MachineXml({{2, kGiB}, {2, kGiB}, {0, 8 * kGiB}}));
  ASSERT_THAT(topology.numa_nodes(), SizeIs(3));
  const auto memory_only =
      std::find_if(topology.numa_nodes().begin(), topology.numa_nodes().end(),
                   [](const NumaNode& numa_node) { return numa_node.core_count == 0; });
  ASSERT_NE(memory_only, topology.numa_nodes().end());
  EXPECT_EQ(memory_only->memory_bytes, 8 * kGiB);
  for (const Core& core : topology.cores()) EXPECT_NE(core.numa_node, memory_only->id);
}

TEST(TopologyTest, CpusOutsideTheAllowedSetAreLeftOut) {
  const std::vector<uint32_t> usable = {1, 4};
  const Topology topology = MustXml(MachineXml({{2, kGiB}, {2, kGiB}, {2, kGiB}, {1, 0}}), &usable);
  ASSERT_THAT(topology.cores(), SizeIs(2));
  EXPECT_THAT(topology.cores()[0].cpus, ElementsAre(1));
  EXPECT_THAT(topology.cores()[1].cpus, ElementsAre(4));
  // NumaNode 1 has lost its cores and keeps its memory; NumaNode 3 has nothing left.
  ASSERT_THAT(topology.numa_nodes(), SizeIs(3));
  EXPECT_EQ(topology.numa_nodes()[1].core_count, 0u);
  EXPECT_EQ(topology.cores()[1].numa_node, NumaNodeId{2});
}

TEST(TopologyTest, ForeignXmlIsRefused) {
  EXPECT_EQ(TopologyBuilder::FromXml("<nothing/>", nullptr, TopologyBuilder::ReadRealMachine())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(TopologyTest, DiscoverShowsTheAllowedCpusEachOnce) {
  absl::StatusOr<Topology> topology = Topology::Discover();
  ASSERT_TRUE(topology.ok()) << topology.status();
  EXPECT_GT(topology->memory_bytes(), 0u);
  std::multiset<uint32_t> cpus;
  for (const Core& core : topology->cores()) {
    cpus.insert(core.cpus.begin(), core.cpus.end());
    EXPECT_GT(topology->numa_nodes()[core.numa_node.value].memory_bytes, 0u);
  }
  EXPECT_EQ(std::vector<uint32_t>(cpus.begin(), cpus.end()), topology->allowed_cpus());
}

TEST(TopologyTest, DiscoverInsideOneCpuFindsOneCore) {
  absl::StatusOr<Topology> whole = Topology::Discover();
  ASSERT_TRUE(whole.ok()) << whole.status();
  const uint32_t last = whole->allowed_cpus().back();
  absl::StatusOr<Topology> narrow = absl::InternalError("not run");
  PinnedThread thread("narrow", {&last, 1}, std::nullopt, [&] { narrow = Topology::Discover(); });
  thread.Join();
  const absl::Status& bound = thread.binding_status();
  if (!bound.ok()) GTEST_SKIP() << "the system refuses affinity: " << bound;
  ASSERT_TRUE(narrow.ok()) << narrow.status();
  EXPECT_THAT(narrow->allowed_cpus(), ElementsAre(last));
  ASSERT_THAT(narrow->cores(), SizeIs(1));
  EXPECT_THAT(narrow->cores()[0].cpus, ElementsAre(last));
}

}  // namespace
}  // namespace eris::topology
