// Every kind of request against an engine in this process, and a wrong value that is found.
#include "clients/load/embedded_target.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "clients/load/run.h"
#include "eris/engine.h"

namespace eris::load {
namespace {

class EmbeddedTargetTest : public testing::Test {
 protected:
  EmbeddedTargetTest() {
    auto engine = Engine::Open({.aeu_count = 2, .memory_limit_bytes = 256u << 20});
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    EXPECT_TRUE(engine_->Create("bench", {.split_points = keys_.SplitPoints(2)}).ok());
  }
  Plan PlanOf(const char* name) {
    Plan plan;
    if (const auto workload = FindWorkload(name)) plan.workload = *workload;
    plan.load = std::string(name) == "load";
    plan.keys = keys_.count();
    plan.zipf.emplace(plan.keys);
    plan.generators = 2;
    plan.batch = 64;
    plan.in_flight = 2;  // scans share a bounded pool of chunks
    plan.requests = plan.load ? 0 : 200;
    plan.verify = true;
    return plan;
  }
  RunResult Run(const char* name) { return Run(PlanOf(name)); }
  RunResult Run(const Plan& plan) {
    std::atomic<bool> stop = false;
    auto result = RunLoad(
        plan, keys_,
        [&](uint32_t, AnswerSink& sink) {
          return std::make_unique<EmbeddedTarget>(*engine_, plan.object, plan.slots(), sink);
        },
        stop, [](const Interval&) {});
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->unaccounted, 0u);
    return *result;
  }

  const KeySet keys_{20'000, Layout::kSparse};
  std::unique_ptr<Engine> engine_;
};

TEST_F(EmbeddedTargetTest, EveryWorkloadVerifies) {
  EXPECT_EQ(Run("load").tally.All().keys, keys_.count());
  for (const char* name : {"a", "b", "c", "d", "e", "f", "lookup", "upsert", "scan"}) {
    const RunResult result = Run(name);
    EXPECT_EQ(result.tally.All().answered, 200u) << name;
    EXPECT_EQ(result.tally.All().wrong, 0u) << name << ": " << result.tally.first_error;
    EXPECT_EQ(result.tally.failed, 0u) << name << ": " << result.tally.first_error;
  }
}

TEST_F(EmbeddedTargetTest, AWrongValueAndAMissingKeyAreFound) {
  Run("load");
  auto session = engine_->NewSession();
  const auto bench = session->Open("bench");
  ASSERT_TRUE(bench.ok()) << bench.status();
  ASSERT_TRUE(session->Erase(*bench, {keys_.Key(100)}).ok());
  Plan plan = PlanOf("scan");
  plan.workload.scan_rows = 0;
  plan.requests = 2;
  EXPECT_EQ(Run(plan).tally.All().wrong, 2u);  // missing in each of the two scans
  ASSERT_TRUE(session->Upsert(*bench, {keys_.Key(200)}, {1}).ok());
  EXPECT_EQ(Run(plan).tally.All().wrong, 4u);
}

TEST_F(EmbeddedTargetTest, AnObjectThatIsNotThereFailsTheRun) {
  ASSERT_TRUE(engine_->Drop("bench").ok());
  const RunResult result = Run("lookup");
  EXPECT_GT(result.tally.failed, 0u);
  EXPECT_TRUE(absl::IsNotFound(result.tally.first_failure)) << result.tally.first_failure;
}

}  // namespace
}  // namespace eris::load
