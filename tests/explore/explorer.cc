#include "tests/explore/explorer.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/check.h"

namespace eris::explore {
namespace {

constexpr size_t kReportLines = 120;

// The obedient execution: how many steps are to be expected.
uint32_t LengthOf(const ScenarioFactory& factory, const Plan& plan) {
  ExhaustiveStrategy obedient({0, 0, 0}, "");
  obedient.Begin();
  Engine::Get().Run(factory, plan.threads, obedient, false);
  return Engine::Get().steps() + 1;
}

Result Explore(const ScenarioFactory& factory, const Plan& plan, Strategy& strategy,
               uint64_t executions_max, bool trace) {
  Engine& engine = Engine::Get();
  Result result;
  const auto begin = std::chrono::steady_clock::now();
  while (result.executions < executions_max) {
    if (!strategy.Begin()) {
      result.complete = true;
      break;
    }
    const bool well = engine.Run(factory, plan.threads, strategy, trace);
    ++result.executions;
    result.steps += engine.steps();
    if (well) continue;
    result.failure = engine.failure();
    result.replay = strategy.Replay();
    break;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (trace) result.trace = engine.trace();
  return result;
}

std::string GivenReplay() {
  const char* text = std::getenv("ERIS_EXPLORE");
  return text == nullptr ? "" : text;
}

}  // namespace

Result Replay(const ScenarioFactory& factory, const Plan& plan,
              const ExhaustiveStrategy::Bounds& bounds, const std::string& replay) {
  Engine::Start();
  Engine::Get().SetWeakenings(plan.weakenings);
  ERIS_CHECK(replay.size() > 2);
  if (replay.starts_with("x:")) {
    ExhaustiveStrategy strategy(bounds, replay.substr(2));
    return Explore(factory, plan, strategy, 1, true);
  }
  ERIS_CHECK(replay.starts_with("r:"));
  RandomStrategy strategy(std::strtoull(replay.c_str() + 2, nullptr, 10), 1,
                          LengthOf(factory, plan));
  return Explore(factory, plan, strategy, 1, true);
}

Result ExploreExhaustively(const ScenarioFactory& factory, const Plan& plan,
                           const ExhaustiveStrategy::Bounds& bounds, uint64_t executions_max) {
  const std::string given = GivenReplay();
  if (given.starts_with("x:")) {
    Result result = Replay(factory, plan, bounds, given);
    std::puts(result.Report().c_str());
    return result;
  }
  Engine::Start();
  Engine::Get().SetWeakenings(plan.weakenings);
  ExhaustiveStrategy strategy(bounds, "");
  Result result = Explore(factory, plan, strategy, executions_max, false);
  if (!result.failure.empty()) {
    result.trace = Replay(factory, plan, bounds, result.replay).trace;
  }
  return result;
}

Result ExploreRandom(const ScenarioFactory& factory, const Plan& plan, uint64_t seed,
                     uint64_t executions) {
  const std::string given = GivenReplay();
  if (given.starts_with("r:")) {
    Result result = Replay(factory, plan, {}, given);
    std::puts(result.Report().c_str());
    return result;
  }
  Engine::Start();
  Engine::Get().SetWeakenings(plan.weakenings);
  RandomStrategy strategy(seed, executions, LengthOf(factory, plan));
  Result result = Explore(factory, plan, strategy, executions, false);
  if (!result.failure.empty()) result.trace = Replay(factory, plan, {}, result.replay).trace;
  return result;
}

std::string Result::Report() const {
  std::string text = failure.empty() ? "no failure" : failure;
  text += "\nexecution " + std::to_string(executions) + "; run again with ERIS_EXPLORE=" + replay;
  const size_t begin = trace.size() > kReportLines ? trace.size() - kReportLines : 0;
  if (begin != 0) text += "\n... " + std::to_string(begin) + " steps before";
  for (size_t i = begin; i < trace.size(); ++i) text += "\n  " + trace[i];
  return text;
}

std::string Result::Figures() const {
  char text[160];
  std::snprintf(text, sizeof text, "%llu executions%s, %llu steps, %.2f million steps/s",
                static_cast<unsigned long long>(executions), complete ? " (complete)" : "",
                static_cast<unsigned long long>(steps),
                static_cast<double>(steps) / (seconds + 1e-9) / 1e6);
  return text;
}

}  // namespace eris::explore
