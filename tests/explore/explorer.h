// Explores the interleavings of a scenario: two to four threads that run the real latch-free code
// over ModelMemory.
//
//   struct Hello : Scenario { void Run(uint32_t thread) override {...} void Finish() override {...}
//   }; Result result = ExploreRandom(Make<Hello>(), {.threads = 2}, seed, 10'000);
//   EXPECT_EQ(result.failure, "") << result.Report();
//
// A failure tells how to run that one execution again: ERIS_EXPLORE=<replay> in the environment,
// with that one test, prints its steps.
#ifndef ERIS_TESTS_EXPLORE_EXPLORER_H_
#define ERIS_TESTS_EXPLORE_EXPLORER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/explore/engine.h"
#include "tests/explore/model_memory.h"
#include "tests/explore/strategy.h"

namespace eris::explore {

struct Plan {
  uint32_t threads = 2;
  std::vector<Weakening> weakenings = {};  // planted bugs
};

struct Result {
  std::string failure;  // the first; empty: none
  uint64_t executions = 0;
  uint64_t steps = 0;
  double seconds = 0;
  bool complete = false;  // exhaustive: every execution within the bounds has been run
  std::string replay;     // of the failure
  std::vector<std::string> trace;

  // What failed, how to run it again, and its last steps.
  std::string Report() const;
  // "123 executions, 4567 steps, 2.3 million steps/s"
  std::string Figures() const;
};

// Stops at the first failure. executions_max: gives up there, not complete.
Result ExploreExhaustively(const ScenarioFactory& factory, const Plan& plan,
                           const ExhaustiveStrategy::Bounds& bounds, uint64_t executions_max);
// Stops at the first failure. Each execution has a seed of its own, from `seed` on.
Result ExploreRandom(const ScenarioFactory& factory, const Plan& plan, uint64_t seed,
                     uint64_t executions);
// The one execution that `replay` names.
Result Replay(const ScenarioFactory& factory, const Plan& plan,
              const ExhaustiveStrategy::Bounds& bounds, const std::string& replay);

template <class S, class... Args>
ScenarioFactory Make(Args... args) {
  return [args...] { return std::make_unique<S>(args...); };
}

// For scenarios.
inline void Fail(std::string_view what) { Engine::Get().Fail(what); }
// In a loop that waits for another thread.
inline void GiveWay() { Engine::Get().GiveWay(); }

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_EXPLORER_H_
