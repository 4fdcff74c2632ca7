// Changes the plans of the corpora at random, without libFuzzer, and runs them.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "server/substrait/plan_reader.h"
#include "tests/fuzz/plan_machine.h"
#include "tests/support/seed.h"
#include "tests/support/tpch_plans.h"
#include "tests/support/tpch_tables.h"

namespace eris::fuzz {
namespace {

constexpr size_t kBytesMax = 1 << 13;  // more than any plan of the corpora has

// Changes plans again and again, as the fuzzer does, and returns the first failure. Half of the
// rounds begin with a plan as it was made, the others with one that has been changed and can be
// read.
absl::Status RunChangedPlans(const std::vector<test::TpchPlan>& made, int rounds, PlanPlant plant,
                             std::mt19937_64& random) {
  const google::protobuf::LogSilencer silencer;  // it reports each text that is no UTF-8
  std::vector<test::TpchPlan> kept = made;
  for (int i = 0; i < rounds; ++i) {
    const size_t number = random() % made.size();
    const std::string& bytes = (random() % 2 == 0 ? made : kept)[number].bytes;
    std::string changed = ChangedPlan(bytes, kBytesMax, random);
    const absl::Status status = RunPlanBytes(changed, plant);
    if (!status.ok()) return status;
    const bool keeps = random() % 4 == 0;
    if (keeps && server::PlanFromSubstrait(changed, test::TpchSchema).ok()) {
      kept[number].bytes = std::move(changed);
    }
  }
  return absl::OkStatus();
}

TEST(PlanFuzzTest, ChangedPlansAreReadOrRefused) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  EXPECT_EQ(RunChangedPlans(test::ReadTpchPlans(), 2'000, PlanPlant::kNone, random),
            absl::OkStatus());
}

TEST(PlanFuzzTest, AChangeFindsAPlantedFault) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  const std::string name = "datafusion/q06.plan";
  EXPECT_EQ(
      RunChangedPlans({{name, test::ReadTpchPlan(name)}}, 50'000, PlanPlant::kLongFilter, random)
          .message(),
      "a long filter");
}

TEST(PlanFuzzTest, MostChangesLeaveAPlanThatTheReaderTakesOrNames) {
  const uint64_t number = test::Seed();
  SCOPED_TRACE(test::SeedText(number));
  std::mt19937_64 random(number);
  constexpr int kChanges = 1'000;
  int read = 0;
  for (int i = 0; i < kChanges; ++i) {
    const std::string bytes = test::ReadTpchPlan("datafusion/q03.plan");
    const auto plan = server::PlanFromSubstrait(
        ChangedPlan(bytes, kBytesMax, random),
        [](absl::string_view) { return absl::StatusOr<Schema>(absl::NotFoundError("none")); });
    // With an empty catalogue no plan is read: the change must leave one that asks it.
    if (absl::IsNotFound(plan.status())) ++read;
  }
  EXPECT_GT(read, kChanges / 4);
}

}  // namespace
}  // namespace eris::fuzz
