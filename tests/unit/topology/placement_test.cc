#include "topology/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/topology/odd_machine_xml.h"
#include "topology/topology_builder.h"

namespace eris::topology {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// As if the machine had these cpus; AEUs on a synthetic topology are pinned to them.
RealMachine Real(std::vector<uint32_t> cpus) {
  return {.allowed_cpus = std::move(cpus), .limits = {.memory_bytes = uint64_t{8} << 30}};
}

Topology Xml(const std::vector<XmlNumaNode>& numa_nodes, const RealMachine& real) {
  absl::StatusOr<Topology> topology =
      TopologyBuilder::FromXml(MachineXml(numa_nodes), nullptr, real);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

Topology Synthetic(const std::string& description) {
  absl::StatusOr<Topology> topology = Topology::Synthetic(description);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

// Without cgroups: this machine may be one that has a quota.
Topology Discovered() {
  EXPECT_EQ(setenv("ERIS_SYSTEM_ROOT", "/nowhere", 1), 0);
  absl::StatusOr<Topology> topology = Topology::Discover();
  EXPECT_TRUE(topology.ok()) << topology.status();
  return *std::move(topology);
}

PlacementPlan MustPlan(const Topology& topology, const Options& options) {
  absl::StatusOr<PlacementPlan> plan = PlanPlacement(topology, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  for (size_t i = 0; i < plan->aeus.size(); ++i) EXPECT_EQ(plan->aeus[i].aeu.value, i);
  return *std::move(plan);
}

std::vector<uint32_t> NumaNodes(const PlacementPlan& plan) {
  std::vector<uint32_t> result;
  for (const AeuPlace& place : plan.aeus) result.push_back(place.numa_node.value);
  return result;
}

std::vector<int32_t> Cpus(const PlacementPlan& plan) {
  std::vector<int32_t> result;
  for (const AeuPlace& place : plan.aeus) result.push_back(place.cpu);
  return result;
}

TEST(PlacementTest, OneAeuPerCoreByDefault) {
  const PlacementPlan plan = MustPlan(Synthetic("numa:4 core:2 pu:2"), {});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3));
  EXPECT_THAT(plan.notes, IsEmpty());
  EXPECT_THAT(plan.network_cpus, IsEmpty());
}

TEST(PlacementTest, OneAeuPerHardwareThreadOnRequest) {
  const PlacementPlan plan =
      MustPlan(Synthetic("numa:2 core:2 pu:2"), {.aeu_per_hardware_thread = true});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(PlacementTest, DenseFillsANumaNodeBeforeTheNext) {
  const PlacementPlan plan = MustPlan(Synthetic("numa:4 core:4 pu:1"), {.aeu_count = 6});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 0, 0, 0, 1, 1));
}

TEST(PlacementTest, SparseGoesRoundTheNumaNodes) {
  const PlacementPlan plan =
      MustPlan(Synthetic("numa:4 core:4 pu:1"), {.aeu_count = 6, .placement = Placement::kSparse});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 1, 2, 3, 0, 1));
}

TEST(PlacementTest, SparseGoesOnWhereSmallNumaNodesAreFull) {
  const Topology topology = Xml({{1, 1}, {3, 1}}, Real({0, 1}));
  const PlacementPlan plan = MustPlan(topology, {.placement = Placement::kSparse});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 1, 1, 1));
}

TEST(PlacementTest, NoneDoesNotPin) {
  const PlacementPlan plan =
      MustPlan(Synthetic("numa:2 core:2 pu:1"), {.placement = Placement::kNone});
  EXPECT_THAT(Cpus(plan), Each(-1));
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 0, 1, 1));
}

TEST(PlacementTest, SyntheticIsPinnedRoundRobinOnRealCpus) {
  const PlacementPlan plan = MustPlan(Xml({{2, 1}, {3, 1}}, Real({4, 7})), {});
  EXPECT_THAT(Cpus(plan), ElementsAre(4, 7, 4, 7, 4));
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 0, 1, 1, 1));
}

TEST(PlacementTest, MoreAeusThanCoresShareThem) {
  const PlacementPlan plan = MustPlan(Synthetic("numa:2 core:1 pu:1"), {.aeu_count = 5});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 1, 0, 1, 0));
  ASSERT_THAT(plan.notes, SizeIs(1));
  EXPECT_THAT(plan.notes[0], HasSubstr("5 AEUs share 2 cores"));
}

TEST(PlacementTest, MachineOfThePaperHas512Aeus) {
  const PlacementPlan plan = MustPlan(Synthetic("numa:64 core:8 pu:1"), {});
  ASSERT_THAT(plan.aeus, SizeIs(512));
  std::map<uint32_t, int> per_numa_node;
  for (const uint32_t numa_node : NumaNodes(plan)) ++per_numa_node[numa_node];
  ASSERT_THAT(per_numa_node, SizeIs(64));
  for (const auto& [numa_node, aeus] : per_numa_node) EXPECT_EQ(aeus, 8) << numa_node;
}

TEST(PlacementTest, NoAeuOnANumaNodeWithoutCores) {
  const Topology topology = Xml({{2, 1 << 20}, {0, 1 << 20}, {2, 1 << 20}}, Real({0}));
  for (const Placement placement : {Placement::kDense, Placement::kSparse}) {
    const PlacementPlan plan = MustPlan(topology, {.aeu_count = 9, .placement = placement});
    for (const AeuPlace& place : plan.aeus) {
      EXPECT_GT(topology.numa_nodes()[place.numa_node.value].core_count, 0u);
    }
  }
}

TEST(PlacementTest, AeusOfAMemorylessNumaNodeGetMemoryNearby) {
  const Topology topology = Xml({{2, 1 << 20}, {2, 0}}, Real({0}));
  EXPECT_THAT(NumaNodes(MustPlan(topology, {})), ElementsAre(0, 0, 0, 0));
}

TEST(PlacementTest, NetworkCoresCarryNoAeu) {
  const PlacementPlan plan =
      MustPlan(Xml({{3, 1}, {3, 1}}, Real({0, 1, 2, 3, 4, 5})), {.network_cores = 2});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(Cpus(plan), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plan.network_cpus, ElementsAre(4, 5));
  EXPECT_THAT(plan.notes, IsEmpty());
}

TEST(PlacementTest, NetworkCoresMustLeaveACpuOnEachNumaNode) {
  const Topology topology = Xml({{3, 1}, {3, 1}}, Real({0, 1, 2, 3, 4, 5}));
  for (const auto& [network_cores, left] :
       std::map<uint32_t, bool>{{0, false}, {1, false}, {2, true}}) {
    EXPECT_EQ(
        LeavesCpusOnEachNumaNode(topology, MustPlan(topology, {.network_cores = network_cores})),
        left)
        << network_cores;
  }
  // A NumaNode without AEUs has all of its cpus.
  EXPECT_TRUE(LeavesCpusOnEachNumaNode(topology, MustPlan(topology, {.aeu_count = 2})));
  EXPECT_FALSE(LeavesCpusOnEachNumaNode(topology, MustPlan(topology, {.aeu_count = 3})));
  // Hardware threads count: the other one of a core is left.
  const Topology threads = Synthetic("numa:2 core:2 pu:2");
  EXPECT_TRUE(LeavesCpusOnEachNumaNode(threads, MustPlan(threads, {})));
}

TEST(PlacementTest, OneCoreMachineKeepsItsAeu) {
  const PlacementPlan plan = MustPlan(Xml({{1, 1}}, Real({3})), {.network_cores = 1});
  EXPECT_THAT(Cpus(plan), ElementsAre(3));
  EXPECT_THAT(plan.network_cpus, IsEmpty());
  ASSERT_THAT(plan.notes, SizeIs(1));
  EXPECT_THAT(plan.notes[0], HasSubstr("at least one stays for AEUs"));
}

TEST(PlacementTest, OneRealCpuUnderManySyntheticCoresIsNoted) {
  const PlacementPlan plan = MustPlan(Xml({{2, 1}, {2, 1}}, Real({3})), {.network_cores = 1});
  EXPECT_THAT(Cpus(plan), ElementsAre(3, 3, 3));
  EXPECT_THAT(plan.network_cpus, IsEmpty());
  EXPECT_THAT(plan.notes, SizeIs(1));
}

TEST(PlacementTest, RealMachinePinsEachAeuToItsOwnCore) {
  const Topology topology = Discovered();
  const PlacementPlan plan = MustPlan(topology, {});
  ASSERT_THAT(plan.aeus, SizeIs(topology.cores().size()));
  for (size_t i = 0; i < plan.aeus.size(); ++i) {
    EXPECT_EQ(plan.aeus[i].cpu, static_cast<int32_t>(topology.cores()[i].cpus[0]));
  }
}

TEST(PlacementTest, RealNetworkCpusAndAeuCpusAreDisjointAndComplete) {
  const Topology topology = Discovered();
  for (uint32_t wanted = 0; wanted < 4; ++wanted) {
    const PlacementPlan plan =
        MustPlan(topology, {.aeu_per_hardware_thread = true, .network_cores = wanted});
    std::multiset<uint32_t> all(plan.network_cpus.begin(), plan.network_cpus.end());
    for (const int32_t cpu : Cpus(plan)) all.insert(static_cast<uint32_t>(cpu));
    EXPECT_EQ(std::vector<uint32_t>(all.begin(), all.end()), topology.allowed_cpus()) << wanted;
    EXPECT_EQ(plan.notes.empty(), wanted < topology.cores().size()) << wanted;
  }
}

TEST(PlacementTest, ExplicitCpusOverrideCountPlacementAndNetwork) {
  const PlacementPlan plan =
      MustPlan(Synthetic("numa:4 core:2 pu:1"), {.aeu_count = 3,
                                                 .placement = Placement::kNone,
                                                 .network_cores = 7,
                                                 .aeu_cpus = {7, 0, 3, 2}});
  EXPECT_THAT(NumaNodes(plan), ElementsAre(3, 0, 1, 1));
  EXPECT_THAT(Cpus(plan), Each(testing::Ge(0)));
  EXPECT_THAT(plan.notes, IsEmpty());
}

TEST(PlacementTest, ExplicitCpuOfTheRealMachineIsPinnedThere) {
  const Topology topology = Discovered();
  const uint32_t last = topology.allowed_cpus().back();
  EXPECT_THAT(Cpus(MustPlan(topology, {.aeu_cpus = {last}})),
              ElementsAre(static_cast<int32_t>(last)));
}

TEST(PlacementTest, UnknownExplicitCpuIsNamed) {
  const absl::Status status =
      PlanPlacement(Synthetic("numa:2 core:2 pu:1"), {.aeu_cpus = {0, 17}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cpu 17"));
}

TEST(PlacementTest, RepeatedExplicitCpuIsNamed) {
  const absl::Status status =
      PlanPlacement(Synthetic("numa:2 core:2 pu:1"), {.aeu_cpus = {2, 1, 2}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cpu 2 is given twice"));
}

TEST(PlacementTest, QuotaOfProcessorsBoundsTheDefaultNumberOfAeus) {
  const auto aeus = [](double quota, const Options& options) {
    RealMachine real = Real({0, 1, 2, 3, 4, 5, 6, 7});
    real.limits.cpu_quota = quota;
    real.limits.cpu_quota_source = "cgroup cpu.max of /a";
    const PlacementPlan plan = MustPlan(Xml({{4, 1}, {4, 1}}, real), options);
    for (const std::string& note : plan.notes) EXPECT_THAT(note, HasSubstr("cpu.max of /a"));
    return plan.aeus.size();
  };
  EXPECT_EQ(aeus(0, {}), 8u);
  EXPECT_EQ(aeus(0.1, {}), 1u);
  EXPECT_EQ(aeus(1, {}), 1u);
  EXPECT_EQ(aeus(1.5, {}), 2u);
  EXPECT_EQ(aeus(7.01, {}), 8u);
  EXPECT_EQ(aeus(1e300, {}), 8u);
  EXPECT_EQ(aeus(4, {.network_cores = 1}), 3u);
  EXPECT_EQ(aeus(2, {.network_cores = 3}), 1u);
  EXPECT_EQ(aeus(3, {.aeu_per_hardware_thread = true}), 3u);
  EXPECT_EQ(aeus(2, {.aeu_count = 6}), 6u);
  EXPECT_EQ(aeus(1, {.aeu_cpus = {0, 1, 2}}), 3u);
}

TEST(PlacementTest, DescribedMachineHasNoQuota) {
  EXPECT_EQ(Synthetic("numa:2 core:4 pu:1").limits().cpu_quota, 0);
}

TEST(PlacementTest, MoreAeusThanTheLimitAreRefused) {
  const Topology topology = Synthetic("numa:2 core:2 pu:1");
  EXPECT_THAT(MustPlan(topology, {.aeu_count = kAeusMax}).aeus, SizeIs(kAeusMax));
  const absl::Status status = PlanPlacement(topology, {.aeu_count = kAeusMax + 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("4097"));
}

TEST(PlacementTest, HugeMachineGetsTheLimitAndANote) {
  const PlacementPlan plan = MustPlan(Synthetic("numa:8 core:513 pu:1"), {});
  EXPECT_THAT(plan.aeus, SizeIs(kAeusMax));
  EXPECT_THAT(plan.notes, SizeIs(1));
}

}  // namespace
}  // namespace eris::topology
