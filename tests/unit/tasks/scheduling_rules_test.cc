// The rules of both kinds of scheduling as a table: what is in the queues, who asks in which turn,
// and which task it must get by which rule. Paper: locality-aware scheduling in Bobox, 4.2 and 6.1.
//
// The machine has four NumaNodes in two packages, and in each NumaNode two core groups of two pairs
// of AEUs, which share a cache:
//
//   package         0                                 1
//   NumaNode    0          1                2                3
//   group     0   1      2    3         4       5        6       7
//   AEUs     0-3 4-7   8-11 12-15     16-19   20-23    24-27   28-31
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <vector>

#include "tasks/blind_pool.h"
#include "tasks/locality_aware_pool.h"
#include "tests/unit/tasks/task_lab.h"

namespace eris::tasks {
namespace {

constexpr const char* kMachine = "group:2 numa:2 l3:2 l2:2 core:2 pu:1";
constexpr const char* kNone = "";

constexpr TaskTurn kSlice = TaskTurn::kSlice;
constexpr TaskTurn kShare = TaskTurn::kShare;
constexpr TaskTurn kIdle = TaskTurn::kIdle;

constexpr TaskRule k1 = TaskRule::kOwnImmediate;
constexpr TaskRule k2 = TaskRule::kGroupImmediate;
constexpr TaskRule k3 = TaskRule::kGroupDeferred;
constexpr TaskRule k4 = TaskRule::kOtherDeferred;
constexpr TaskRule k5 = TaskRule::kNearImmediate;
constexpr TaskRule kBlind1 = TaskRule::kBlindImmediate;
constexpr TaskRule kBlind2 = TaskRule::kBlindDeferred;
constexpr TaskRule kBlind3 = TaskRule::kBlindOtherImmediate;

struct Pushed {
  TaskKind kind;
  uint32_t aeu;
  const char* name;
  uint64_t query;
};
Pushed Immediate(uint32_t aeu, const char* name, uint64_t query = 1) {
  return {TaskKind::kImmediate, aeu, name, query};
}
Pushed Deferred(uint32_t aeu, const char* name, uint64_t query = 1) {
  return {TaskKind::kDeferred, aeu, name, query};
}

struct Asked {
  uint32_t aeu;
  TaskTurn turn;
  const char* name;  // of the task that it must get
  TaskRule rule{};
};

struct RuleCase {
  const char* fact;
  std::vector<Pushed> pushed;
  std::vector<Asked> asked;
};

void Check(TaskPool& pool, const RuleCase& rule_case) {
  SCOPED_TRACE(rule_case.fact);
  std::deque<NamedTask> tasks;
  for (const Pushed& pushed : rule_case.pushed) {
    tasks.emplace_back(pushed.name).query = pushed.query;
    pool.Push(pushed.aeu, pushed.kind, &tasks.back());
  }
  for (size_t i = 0; i < rule_case.asked.size(); ++i) {
    const Asked& asked = rule_case.asked[i];
    SCOPED_TRACE(testing::Message() << "question " << i);
    const bool may_have = pool.MayHave(asked.aeu, asked.turn);
    const FoundTask found = pool.Take(asked.aeu, asked.turn);
    const std::string name =
        found.task == nullptr ? kNone : static_cast<NamedTask*>(found.task)->name;
    EXPECT_EQ(name, asked.name);
    EXPECT_EQ(may_have, asked.name != std::string(kNone));
    if (!name.empty()) {
      EXPECT_EQ(found.rule, asked.rule);
    }
  }
}

const RuleCase kLocalityAware[] = {
    {"no task, none found", {}, {{0, kSlice, kNone}, {0, kShare, kNone}, {0, kIdle, kNone}}},

    // Rule 1.
    {"1: the youngest of the AEU's own immediate tasks, in every turn",
     {Immediate(0, "a"), Immediate(0, "b"), Immediate(0, "c"), Immediate(0, "d")},
     {{0, kSlice, "d", k1}, {0, kShare, "c", k1}, {0, kIdle, "b", k1}, {0, kIdle, "a", k1}}},
    {"1: the youngest whatever its query",
     {Immediate(0, "old", 1), Immediate(0, "young query", 9), Immediate(0, "last", 5)},
     {{0, kSlice, "last", k1}, {0, kIdle, "young query", k1}}},
    {"1 before 2",
     {Immediate(1, "of the neighbour"), Immediate(0, "own")},
     {{0, kIdle, "own", k1}, {0, kIdle, "of the neighbour", k2}}},
    {"1 before 3, also of an older query",
     {Deferred(0, "deferred", 1), Immediate(0, "own", 7)},
     {{0, kSlice, "own", k1}, {0, kSlice, "deferred", k3}}},
    {"1 before 3 when queries share the time",
     {Deferred(0, "deferred", 1), Immediate(0, "own", 7)},
     {{0, kShare, "own", k1}, {0, kShare, "deferred", k3}}},

    // Rule 2.
    {"2: the oldest of another AEU of the group",
     {Immediate(2, "a", 9), Immediate(2, "b", 1), Immediate(2, "c", 5)},
     {{0, kIdle, "a", k2}, {0, kIdle, "b", k2}, {0, kIdle, "c", k2}, {0, kIdle, kNone}}},
    {"2: those of the AEU that shares the lower cache first",
     {Immediate(0, "0"), Immediate(1, "1"), Immediate(2, "2")},
     {{3, kIdle, "2", k2}, {3, kIdle, "0", k2}, {3, kIdle, "1", k2}}},
    {"2: the nearest AEU's younger task before a farther one's older task",
     {Immediate(3, "far and old"), Immediate(1, "near")},
     {{0, kIdle, "near", k2}, {0, kIdle, "far and old", k2}}},
    {"2 before 3",
     {Deferred(0, "deferred", 1), Immediate(2, "of the group", 8)},
     {{0, kIdle, "of the group", k2}, {0, kIdle, "deferred", k3}}},
    {"not by 2 in the time for queries",
     {Immediate(1, "of the neighbour")},
     {{0, kSlice, kNone}, {0, kShare, kNone}, {1, kSlice, "of the neighbour", k1}}},

    // Rule 3.
    {"3: the youngest of the oldest query",
     {Deferred(0, "2a", 2), Deferred(1, "1a", 1), Deferred(2, "1b", 1), Deferred(3, "2b", 2)},
     {{0, kIdle, "1b", k3}, {0, kIdle, "1a", k3}, {0, kIdle, "2b", k3}, {0, kIdle, "2a", k3}}},
    {"3: the same in the time for queries",
     {Deferred(0, "2a", 2), Deferred(1, "1a", 1), Deferred(2, "1b", 1)},
     {{3, kSlice, "1b", k3}, {3, kSlice, "1a", k3}, {3, kSlice, "2a", k3}}},
    {"3: each query in turn where they share the time, its youngest first",
     {Deferred(0, "1a", 1), Deferred(0, "1b", 1), Deferred(0, "2a", 2), Deferred(0, "2b", 2)},
     {{1, kShare, "1b", k3}, {1, kShare, "2b", k3}, {1, kShare, "1a", k3}, {1, kShare, "2a", k3}}},
    {"3 before 4, also for a younger query",
     {Deferred(4, "of the other group", 1), Deferred(0, "of the group", 9)},
     {{0, kIdle, "of the group", k3}, {0, kIdle, "of the other group", k4}}},
    {"3 before 4 where the other group has two queries",
     {Deferred(4, "1", 1), Deferred(4, "2", 2), Deferred(0, "of the group", 3)},
     {{0, kIdle, "of the group", k3}, {0, kIdle, "2", k4}}},
    {"3 before 5",
     {Immediate(4, "near", 1), Deferred(0, "deferred", 9)},
     {{0, kIdle, "deferred", k3}, {0, kIdle, "near", k5}}},

    // Rule 4.
    {"4: the oldest of the second oldest query",
     {Deferred(4, "3a", 3), Deferred(4, "1a", 1), Deferred(4, "2a", 2), Deferred(4, "2b", 2)},
     {{0, kIdle, "2a", k4}, {0, kIdle, "2b", k4}, {0, kIdle, "3a", k4}, {0, kIdle, "1a", k4}}},
    {"4: the oldest of the only query",
     {Deferred(4, "a", 6), Deferred(5, "b", 6), Deferred(6, "c", 6)},
     {{0, kIdle, "a", k4}, {0, kIdle, "b", k4}, {0, kIdle, "c", k4}}},
    {"4: other groups of the NumaNode, then of the package, then the rest",
     {Deferred(28, "group 7"), Deferred(16, "group 4"), Deferred(12, "group 3"),
      Deferred(8, "group 2"), Deferred(4, "group 1")},
     {{0, kIdle, "group 1", k4},
      {0, kIdle, "group 2", k4},
      {0, kIdle, "group 3", k4},
      {0, kIdle, "group 4", k4},
      {0, kIdle, "group 7", k4}}},
    {"4: a near group's only query before a far group's second one",
     {Deferred(8, "far 1", 1), Deferred(8, "far 2", 2), Deferred(4, "near", 1)},
     {{0, kIdle, "near", k4}, {0, kIdle, "far 2", k4}}},
    {"4 before 5, also from another package",
     {Immediate(4, "near"), Deferred(31, "far")},
     {{0, kIdle, "far", k4}, {0, kIdle, "near", k5}}},
    {"not by 4 in the time for queries",
     {Deferred(4, "of the other group")},
     {{0, kSlice, kNone}, {0, kShare, kNone}, {5, kShare, "of the other group", k3}}},

    // Rule 5.
    {"5: the oldest of an AEU of another group of the NumaNode",
     {Immediate(6, "a"), Immediate(6, "b")},
     {{0, kIdle, "a", k5}, {0, kIdle, "b", k5}, {0, kIdle, kNone}}},
    {"5: in turn, from behind the queue that had a task last",
     {Immediate(4, "4a"), Immediate(4, "4b"), Immediate(5, "5a"), Immediate(5, "5b"),
      Immediate(7, "7a"), Immediate(7, "7b")},
     // The first question begins at the second queue.
     {{0, kIdle, "5a", k5},
      {0, kIdle, "7a", k5},
      {0, kIdle, "4a", k5},
      {0, kIdle, "5b", k5},
      {0, kIdle, "7b", k5},
      {0, kIdle, "4b", k5}}},
    {"5: each AEU goes round by itself",
     {Immediate(4, "4a"), Immediate(5, "5a"), Immediate(5, "5b"), Immediate(6, "6a")},
     {{0, kIdle, "5a", k5}, {1, kIdle, "5b", k5}, {0, kIdle, "6a", k5}, {1, kIdle, "4a", k5}}},
    {"not by 5 in the time for queries",
     {Immediate(4, "near")},
     {{0, kSlice, kNone}, {0, kShare, kNone}}},
    {"an immediate task is never taken beyond the NumaNode, not even in the same package",
     {Immediate(8, "of NumaNode 1"), Immediate(16, "of NumaNode 2")},
     {{0, kIdle, kNone},
      {4, kIdle, kNone},
      {24, kIdle, kNone},
      {12, kIdle, "of NumaNode 1", k5},
      {17, kIdle, "of NumaNode 2", k2}}},
};

TEST(SchedulingRulesTest, LocalityAwareTasksAreFoundByTheRulesInTheirOrder) {
  const CoreGroups groups = GroupsOf(kMachine);
  ASSERT_EQ(groups.aeus(), 32u);
  for (const RuleCase& rule_case : kLocalityAware) {
    LocalityAwarePool pool(groups);
    Check(pool, rule_case);
  }
}

const RuleCase kBlind[] = {
    {"no task, none found", {}, {{0, kSlice, kNone}, {0, kShare, kNone}, {0, kIdle, kNone}}},
    {"1: the youngest of the AEU's own immediate tasks, in every turn",
     {Immediate(0, "a", 9), Immediate(0, "b"), Immediate(0, "c")},
     {{0, kSlice, "c", kBlind1}, {0, kShare, "b", kBlind1}, {0, kIdle, "a", kBlind1}}},
    {"1 before 2",
     {Deferred(0, "deferred"), Immediate(0, "own", 7)},
     {{0, kSlice, "own", kBlind1}, {0, kSlice, "deferred", kBlind2}}},
    {"2: the oldest of all, whatever its query and whoever added it",
     {Deferred(31, "a", 5), Deferred(0, "b", 1), Deferred(16, "c", 3)},
     {{0, kSlice, "a", kBlind2}, {0, kIdle, "b", kBlind2}, {0, kIdle, "c", kBlind2}}},
    {"2: each query in turn where they share the time",
     {Deferred(0, "1a", 1), Deferred(0, "1b", 1), Deferred(31, "2a", 2)},
     {{8, kShare, "1b", kBlind2}, {8, kShare, "2a", kBlind2}, {8, kShare, "1a", kBlind2}}},
    {"2 before 3",
     {Immediate(1, "of the neighbour"), Deferred(31, "deferred", 9)},
     {{0, kIdle, "deferred", kBlind2}, {0, kIdle, "of the neighbour", kBlind3}}},
    {"3: the oldest of another AEU, on whichever NumaNode",
     {Immediate(31, "a"), Immediate(31, "b")},
     {{0, kIdle, "a", kBlind3}, {0, kIdle, "b", kBlind3}}},
    {"not by 3 in the time for queries",
     {Immediate(1, "of the neighbour")},
     {{0, kSlice, kNone}, {0, kShare, kNone}}},
};

TEST(SchedulingRulesTest, BlindTasksAreFoundByTheRulesInTheirOrder) {
  for (const RuleCase& rule_case : kBlind) {
    BlindPool pool(32);
    Check(pool, rule_case);
  }
}

}  // namespace
}  // namespace eris::tasks
