// Simulated lives by the thousand. ERIS_SEED=n runs that one alone; sim_run --seed n --trace shows
// it step by step.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include "tests/sim/simulation.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris::sim {
namespace {

test::LabMemory& Memory() {
  // Never freed: a life that failed is left as it is, and lives in it.
  static test::LabMemory& memory = *new test::LabMemory;
  return memory;
}

uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void RunSeed(uint64_t seed, Coverage& coverage) {
  const Outcome outcome = Simulate(Memory(), seed);
  coverage.Add(outcome.coverage);
  EXPECT_EQ(outcome.error, "") << test::SeedText(seed);
}

// Too rare for every run of some hundred seeds.
constexpr Event kRareEvent = Event::kRowsIntoSentAgain;

TEST(SimTest, RowsThatAScanWritesAreSentAgain) {
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    const Outcome outcome = Simulate(Memory(), seed, {.kind = Form::kTable});
    ASSERT_EQ(outcome.error, "") << seed;
    if (outcome.coverage[kRareEvent] > 0) return;
  }
  ADD_FAILURE() << "never";
}

// CTest runs this in several processes, each with seeds of its own.
TEST(SimTest, NoSeedFails) {
  Coverage coverage;
  if (const auto seed = test::GivenSeed()) return RunSeed(*seed, coverage);
  const uint64_t first = FromEnvironment("ERIS_SIM_FROM", 1);
  const uint64_t seeds = FromEnvironment("ERIS_SIM_SEEDS", 1000);
  for (uint64_t seed = first; seed < first + seeds && !HasFailure(); ++seed)
    RunSeed(seed, coverage);
  std::cout << "seeds " << first << " to " << first + seeds - 1 << ":\n" << coverage.Text();
  if (HasFailure() || seeds < 500) return;
  // A fault that never happens is a test that tests nothing.
  for (size_t event = 0; event < static_cast<size_t>(Event::kCount); ++event) {
    if (static_cast<Event>(event) == kRareEvent) continue;
    EXPECT_GT(coverage[static_cast<Event>(event)], 0u) << kEventNames[event];
  }
}

TEST(SimTest, NoSeedThatOnceFailedFailsAgain) {
  std::ifstream file(ERIS_SIM_SEEDS_FILE);
  ASSERT_TRUE(file.is_open());
  Coverage coverage;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    uint64_t seed = 0;
    if (words >> seed) RunSeed(seed, coverage);
  }
}

TEST(SimTest, ASeedReplays) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const RunOptions options{.trace = true};
    const Outcome first = Simulate(Memory(), seed, options);
    const Outcome second = Simulate(Memory(), seed, options);
    ASSERT_EQ(first.trace, second.trace);
    ASSERT_EQ(first.fingerprint, second.fingerprint);
    ASSERT_EQ(Simulate(Memory(), seed).fingerprint, first.fingerprint) << "the trace decides";
    ASSERT_NE(Simulate(Memory(), seed + 1).fingerprint, first.fingerprint);
  }
}

// Taking records out and putting them back, as planted bugs do, is harmless in itself: what a
// planted bug fails on is the bug's doing.
TEST(SimTest, RecordsPutBackAsTheyWereFailNothing) {
  const uint64_t seeds = test::Fewer<uint64_t>(4000, 300);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    EXPECT_EQ(Simulate(Memory(), seed, {.bug = PlantedBug::kInterposed}).error, "");
  }
}

class PlantedBugTest : public testing::TestWithParam<PlantedBug> {};

TEST_P(PlantedBugTest, IsFound) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    const Outcome outcome = Simulate(Memory(), seed, {.bug = GetParam()});
    if (outcome.error.empty()) continue;
    std::cout << "found after " << seed << " seeds: " << outcome.error << "\n";
    return;
  }
  ADD_FAILURE() << "not found";
}

std::vector<PlantedBug> AllBugs() {
  std::vector<PlantedBug> bugs;
  for (auto bug = static_cast<uint8_t>(PlantedBug::kInterposed) + 1;
       bug < static_cast<int>(PlantedBug::kCount); ++bug) {
    bugs.push_back(static_cast<PlantedBug>(bug));
  }
  return bugs;
}

std::string NameOf(const testing::TestParamInfo<PlantedBug>& info) {
  // "lose-record" -> "LoseRecord"
  std::string name;
  bool upper = true;
  for (const char c : std::string(kPlantedBugNames[static_cast<size_t>(info.param)])) {
    if (c != '-') name += upper ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '-';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, PlantedBugTest, testing::ValuesIn(AllBugs()), NameOf);

}  // namespace
}  // namespace eris::sim
