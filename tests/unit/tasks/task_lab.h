// What the tests of tasks/ share: tasks that do nothing, and the core groups of machines that
// hwloc's synthetic strings describe.
#ifndef ERIS_TESTS_UNIT_TASKS_TASK_LAB_H_
#define ERIS_TESTS_UNIT_TASKS_TASK_LAB_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "eris/options.h"
#include "tasks/core_groups.h"
#include "tasks/task.h"
#include "topology/placement.h"
#include "topology/topology.h"

namespace eris::tasks {

class NamedTask final : public Task {
 public:
  explicit NamedTask(std::string task_name = "") : name(std::move(task_name)) {}

  bool Advance(Worker&) override { return false; }
  void Took(Worker&, uint64_t) override {}
  void End(Worker&) override {}

  std::string name;
};

inline CoreGroups GroupsOf(const topology::Topology& topology, const Options& options = {}) {
  const absl::StatusOr<topology::PlacementPlan> plan = topology::PlanPlacement(topology, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return GroupCores(topology, plan->aeus);
}

inline CoreGroups GroupsOf(const std::string& description, const Options& options = {}) {
  const absl::StatusOr<topology::Topology> topology = topology::Topology::Synthetic(description);
  EXPECT_TRUE(topology.ok()) << topology.status();
  return GroupsOf(*topology, options);
}

}  // namespace eris::tasks

#endif  // ERIS_TESTS_UNIT_TASKS_TASK_LAB_H_
