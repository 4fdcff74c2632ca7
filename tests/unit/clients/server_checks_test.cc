#include "clients/cli/doctor/server_checks.h"

#include <string>

#include "gmock/gmock.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;

// Two NumaNodes with an AEU each, and nothing wrong.
ServerFigures Healthy() {
  ServerFigures figures;
  for (uint32_t i = 0; i < 2; ++i) {
    figures.stats.aeus.push_back({.id = AeuId{i},
                                  .numa_node = NumaNodeId{i},
                                  .cpu = static_cast<int32_t>(i),
                                  .routing = {},
                                  .tasks = {}});
    figures.stats.numa_nodes.push_back({.id = NumaNodeId{i}, .bound = true});
    figures.memory.numa_nodes.push_back({.id = NumaNodeId{i}, .bound = true});
  }
  figures.memory.limit_bytes = 1000 << 20;
  figures.memory.reserved_bytes = 100 << 20;
  figures.memory.objects.push_back({.object = "orders", .committed_bytes = 5});
  figures.server.in_flight_bytes_max = 64 << 20;
  figures.balancer.objects.push_back({.object = "orders", .imbalance = 0.1, .loads = {}});
  return figures;
}

Finding Check(const ServerFigures& figures, const std::string& name) {
  for (const Finding& finding : CheckServer(figures)) {
    if (finding.check == name) return finding;
  }
  ADD_FAILURE() << "there is no check " << name;
  return {};
}

void ExpectAdvice(const Finding& finding, Verdict verdict, const std::string& change) {
  EXPECT_EQ(finding.verdict, verdict) << finding.check << ": " << finding.found;
  EXPECT_THAT(finding.change, HasSubstr(change)) << finding.check;
  EXPECT_FALSE(finding.why.empty()) << finding.check;
  EXPECT_FALSE(finding.undo.empty()) << finding.check;
}

TEST(ServerChecksTest, AHealthyServerIsOkInEveryCheck) {
  for (const Finding& finding : CheckServer(Healthy())) {
    EXPECT_EQ(finding.verdict, Verdict::kOk) << finding.check << ": " << finding.found;
    EXPECT_FALSE(finding.found.empty()) << finding.check;
  }
  // Figures of an older server, or of none.
  for (const Finding& finding : CheckServer({})) EXPECT_FALSE(finding.found.empty());
}

TEST(ServerChecksTest, AeusWithoutACpuOfTheirOwnAreNoticed) {
  ServerFigures figures = Healthy();
  figures.stats.aeus[1].cpu = -1;
  ExpectAdvice(Check(figures, "server_placement"), Verdict::kWarn, "engine.placement");
  EXPECT_THAT(Check(figures, "server_placement").why, HasSubstr("Figure 10"));
  figures.stats.aeus[1].cpu = 0;
  ExpectAdvice(Check(figures, "server_placement"), Verdict::kWarn, "engine.aeu_count = 0");
  figures.stats.aeus[1].cpu = 1;
  figures.stats.aeus[1].numa_node = NumaNodeId{0};
  ExpectAdvice(Check(figures, "server_placement"), Verdict::kWarn, "\"sparse\"");
}

TEST(ServerChecksTest, MemoryThatIsNotBoundIsBadOnSeveralNumaNodes) {
  ServerFigures figures = Healthy();
  figures.memory.numa_nodes[1].bound = false;
  ExpectAdvice(Check(figures, "server_binding"), Verdict::kBad, "SYS_NICE");
  figures.memory.numa_nodes.erase(figures.memory.numa_nodes.begin());
  EXPECT_EQ(Check(figures, "server_binding").verdict, Verdict::kOk);
}

TEST(ServerChecksTest, SpilledMemoryIsToldWithItsObjects) {
  ServerFigures figures = Healthy();
  figures.memory.objects[0].spilled_bytes = 3 << 20;
  ExpectAdvice(Check(figures, "server_spill"), Verdict::kWarn, "eris balancer rebalance orders");
  EXPECT_THAT(Check(figures, "server_spill").found, HasSubstr("3.0 MiB"));
}

TEST(ServerChecksTest, ImbalanceAndABalancerThatDoesNothing) {
  ServerFigures figures = Healthy();
  figures.balancer.objects.push_back({.object = "hot", .imbalance = 1.5, .loads = {}});
  ExpectAdvice(Check(figures, "server_balance"), Verdict::kWarn, "eris balancer rebalance hot");
  figures.balancer.paused = true;
  ExpectAdvice(Check(figures, "server_balance"), Verdict::kWarn, "eris balancer resume");
  figures.balancer.paused = false;
  figures.balancer.options.enabled = false;
  ExpectAdvice(Check(figures, "server_balance"), Verdict::kWarn, "--enabled true");
}

TEST(ServerChecksTest, LimitsThatAreNearlyReached) {
  ServerFigures figures = Healthy();
  figures.memory.reserved_bytes = 950 << 20;
  ExpectAdvice(Check(figures, "server_memory"), Verdict::kWarn, "memory_limit_bytes");
  figures.server.in_flight_bytes = 60 << 20;
  ExpectAdvice(Check(figures, "server_requests"), Verdict::kWarn, "in_flight_bytes_max");
  figures.stats.aeus[0].homecomings_refused = 1;
  ExpectAdvice(Check(figures, "server_refusals"), Verdict::kWarn, "eris memory");
  figures.stats.sessions_routing.refused = 1;
  ExpectAdvice(Check(figures, "server_refusals"), Verdict::kWarn, "incoming_buffer_bytes");
}

}  // namespace
}  // namespace eris::cli
