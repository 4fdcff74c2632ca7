#include "tests/explore/orders.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace eris::explore {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;
constexpr auto kAcqRel = std::memory_order_acq_rel;
constexpr auto kSeqCst = std::memory_order_seq_cst;

constexpr uint64_t kCleanExecutions = 300;  // to see which accesses there are

std::vector<std::memory_order> WeakerThan(Op op, std::memory_order order) {
  if (order == kRelaxed) return {};
  if (order != kSeqCst && order != kAcqRel) return {kRelaxed};
  std::vector<std::memory_order> weaker;
  switch (op) {
    case Op::kLoad:
      return {kAcquire, kRelaxed};
    case Op::kStore:
      return {kRelease, kRelaxed};
    default:
      if (order == kSeqCst) weaker.push_back(kAcqRel);
      weaker.insert(weaker.end(), {kAcquire, kRelease, kRelaxed});
      return weaker;
  }
}

// "BasicWaker::Wake" of a whole signature.
std::string NameIn(const std::string& signature) {
  std::string name;
  int depth = 0;  // of template arguments
  for (size_t at = 0; at < signature.size() && (signature[at] != '(' || depth > 0); ++at) {
    if (signature[at] == '<') ++depth;
    if (depth == 0) name += signature[at];
    if (signature[at] == '>') --depth;
  }
  name.erase(0, name.rfind(' ') + 1);  // what it returns
  for (const std::string_view space :
       {"eris::routing::", "eris::memory::", "eris::aeu::", "eris::tasks::"}) {
    if (name.starts_with(space)) return name.substr(space.size());
  }
  return name;
}

}  // namespace

WeakenedOrder FindPlanted(const std::vector<PlannedScenario>& scenarios,
                          const std::vector<Weakening>& bugs, uint64_t seed, uint64_t executions) {
  WeakenedOrder found;
  if (bugs.empty()) found.what = "as it stands";
  for (const Weakening& bug : bugs) {
    found.what += (found.what.empty() ? "" : " and ") + bug.function + " " + NameOf(bug.op) + " " +
                  NameOf(bug.from) + " -> " + (bug.split ? "split" : NameOf(bug.to));
  }
  for (size_t i = 0; i < scenarios.size(); ++i) {
    const Result result =
        ExploreRandom(scenarios[i].factory, {.threads = scenarios[i].threads, .weakenings = bugs},
                      seed, executions);
    found.executions += result.executions;
    if (result.failure.empty()) continue;
    found.failure = result.failure;
    found.scenario = i;
    found.executions = result.executions;
    break;
  }
  return found;
}

std::vector<WeakenedOrder> WeakenEachOrder(const std::vector<PlannedScenario>& scenarios,
                                           const std::string& class_name, uint64_t seed,
                                           uint64_t executions) {
  Engine::Start();
  Engine::Get().ClearUses();
  for (const PlannedScenario& scenario : scenarios) {
    ExploreRandom(scenario.factory, {.threads = scenario.threads}, seed, kCleanExecutions);
  }
  std::vector<Site> sites;
  for (const Site& site : Engine::Get().sites()) {
    if (site.uses == 0 || !NameIn(site.where.function_name()).starts_with(class_name)) continue;
    sites.push_back(site);
  }
  std::sort(sites.begin(), sites.end(),
            [](const Site& a, const Site& b) { return a.where.line() < b.where.line(); });
  std::vector<WeakenedOrder> orders;
  std::map<std::string, int> uses;
  for (const Site& site : sites) {
    const std::string function = site.where.function_name();
    std::string what = NameIn(function) + " " + NameOf(site.op) + " " + NameOf(site.order);
    const int use = ++uses[what];
    if (use > 1) what += " #" + std::to_string(use);
    for (const std::memory_order weaker : WeakerThan(site.op, site.order)) {
      const Weakening bug{.function = function,
                          .op = site.op,
                          .from = site.order,
                          .to = weaker,
                          .line = site.where.line()};
      orders.push_back(FindPlanted(scenarios, {bug}, seed, executions));
      orders.back().what = what + " -> " + NameOf(weaker);
    }
  }
  return orders;
}

std::string TableOf(const std::vector<WeakenedOrder>& orders) {
  std::string table;
  for (const WeakenedOrder& order : orders) {
    table += order.what + ": ";
    table += order.failure.empty()
                 ? "unnoticed in " + std::to_string(order.executions) + " executions\n"
                 : order.failure + " (scenario " + std::to_string(order.scenario) + ", execution " +
                       std::to_string(order.executions) + ")\n";
  }
  return table;
}

std::vector<std::string> UnnoticedIn(const std::vector<WeakenedOrder>& orders) {
  std::vector<std::string> unnoticed;
  for (const WeakenedOrder& order : orders) {
    if (order.failure.empty()) unnoticed.push_back(order.what);
  }
  return unnoticed;
}

}  // namespace eris::explore
