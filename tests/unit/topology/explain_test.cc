#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/topology/odd_machine_xml.h"
#include "topology/placement.h"
#include "topology/topology_builder.h"

namespace eris::topology {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string ExplainXml(const std::vector<XmlNumaNode>& numa_nodes, const Options& options,
                       const ProcessLimits& limits = {.memory_bytes = 3ull << 30}) {
  absl::StatusOr<Topology> topology = TopologyBuilder::FromXml(
      MachineXml(numa_nodes), nullptr, {.allowed_cpus = {0, 1, 2, 5}, .limits = limits});
  EXPECT_TRUE(topology.ok()) << topology.status();
  absl::StatusOr<PlacementPlan> plan = PlanPlacement(*topology, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return Explain(*topology, *plan);
}

TEST(ExplainTest, ShowsMachineAndPlan) {
  const std::string text = ExplainXml({{2, 1ull << 30}, {2, 512ull << 20}}, {.network_cores = 1});
  EXPECT_THAT(text, HasSubstr("synthetic"));
  EXPECT_THAT(text, HasSubstr("2 NumaNodes, 4 cores, 4 hardware threads, 2 cache groups"));
  EXPECT_THAT(text, HasSubstr("Memory: 3.0 GiB"));
  EXPECT_THAT(text, HasSubstr("Allowed cpus: 0-2,5\n"));
  EXPECT_THAT(text, HasSubstr("NumaNode 0 (system's number 0): 1.0 GiB, 2 cores (cpus 0-1)"));
  EXPECT_THAT(text, HasSubstr("NumaNode 1 (system's number 1): 512.0 MiB, 2 cores (cpus 2-3)"));
  EXPECT_THAT(text, HasSubstr("     0   10   20\n     1   20   10\n"));
  EXPECT_THAT(text, HasSubstr("3 AEUs; network threads: cpus 5\n"));
  EXPECT_THAT(text, HasSubstr("AEU 2: NumaNode 1, cpu 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("Note")));
}

TEST(ExplainTest, MarksOddNumaNodes) {
  const std::string text = ExplainXml({{2, 1ull << 30}, {2, 0}, {0, 1ull << 30}}, {});
  EXPECT_THAT(text, HasSubstr("no memory, served by NumaNode"));
  EXPECT_THAT(text, HasSubstr("1.0 GiB, no cores: no AEU here"));
}

TEST(ExplainTest, ShowsNotesAndUnpinnedAeus) {
  const std::string text =
      ExplainXml({{1, 1ull << 30}}, {.placement = Placement::kNone, .network_cores = 3});
  EXPECT_THAT(text, HasSubstr("AEU 0: NumaNode 0, not pinned\n"));
  EXPECT_THAT(text, HasSubstr("Note: 3 cores were asked for the network"));
  EXPECT_THAT(text, Not(HasSubstr("Distances")));
}

TEST(ExplainTest, NamesTheCgroupsThatLimitMemoryAndTime) {
  const std::string text = ExplainXml({{4, 4ull << 30}}, {},
                                      {.memory_bytes = 1ull << 29,
                                       .memory_source = "cgroup memory.max of /a",
                                       .cpu_quota = 1.5,
                                       .cpu_quota_source = "cgroup cpu.max of /a/b"});
  EXPECT_THAT(text,
              HasSubstr("Memory: 512.0 MiB (of the real machine), by cgroup memory.max of /a\n"));
  EXPECT_THAT(text, HasSubstr("; time of 1.5 cpus, by cgroup cpu.max of /a/b\n"));
  EXPECT_THAT(text, HasSubstr("2 AEUs; network threads"));
  EXPECT_THAT(text, HasSubstr("Note: cgroup cpu.max of /a/b gives the process 1.5 cpus: 2 of 4 "
                              "possible AEUs; aeu_count overrides it.\n"));
}

TEST(ExplainTest, LargeMachineHasASummaryOfDistances) {
  absl::StatusOr<Topology> topology = Topology::Synthetic("numa:64 core:8 pu:1");
  ASSERT_TRUE(topology.ok()) << topology.status();
  const std::string text = Explain(*topology, *PlanPlacement(*topology, {}));
  EXPECT_THAT(text, HasSubstr("10 for 64 pairs; 20 for 4032 pairs"));
  EXPECT_THAT(text, HasSubstr("AEU 511: NumaNode 63"));
}

}  // namespace
}  // namespace eris::topology
