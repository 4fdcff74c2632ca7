// Which memory orders of the code a set of scenarios can tell from weaker ones: each ordered access
// that they use is weakened in turn, by every smaller order. What goes unnoticed is either stronger
// than it need be or stands where the scenarios do not look; a test lists those with the reason.
#ifndef ERIS_TESTS_EXPLORE_ORDERS_H_
#define ERIS_TESTS_EXPLORE_ORDERS_H_

#include <string>
#include <vector>

#include "tests/explore/explorer.h"

namespace eris::explore {

struct PlannedScenario {
  ScenarioFactory factory;
  uint32_t threads;
};

struct WeakenedOrder {
  std::string what;         // "BasicWaker::Wake load seq_cst -> acquire"; #2: the second such
  std::string failure;      // empty: unnoticed
  size_t scenario = 0;      // that failed, and after how many executions of it
  uint64_t executions = 0;  // unnoticed: of all scenarios together
};

// Random executions of each scenario from `seed` on. Only accesses of the class `class_name` of
// eris::routing, eris::memory, eris::aeu or eris::tasks (the beginning of its name is enough).
std::vector<WeakenedOrder> WeakenEachOrder(const std::vector<PlannedScenario>& scenarios,
                                           const std::string& class_name, uint64_t seed,
                                           uint64_t executions);

// The same scenarios with given bugs (none: they have theirs already): the first failure.
WeakenedOrder FindPlanted(const std::vector<PlannedScenario>& scenarios,
                          const std::vector<Weakening>& bugs, uint64_t seed, uint64_t executions);

// A line for each, and those unnoticed.
std::string TableOf(const std::vector<WeakenedOrder>& orders);
std::vector<std::string> UnnoticedIn(const std::vector<WeakenedOrder>& orders);

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_ORDERS_H_
