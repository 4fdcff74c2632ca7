// Whom a new task wakes, and what is counted. The machine is that of scheduling_rules_test.cc: four
// NumaNodes in two packages, 32 AEUs, two groups of four in each NumaNode. Paper: locality-aware
// scheduling in Bobox, 4.3.
#include "tasks/task_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "tests/unit/tasks/task_lab.h"

namespace eris::tasks {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr TaskKind kImmediate = TaskKind::kImmediate;
constexpr TaskKind kDeferred = TaskKind::kDeferred;

class TaskSchedulerTest : public testing::Test {
 protected:
  void Sleep(std::initializer_list<uint32_t> aeus) {
    for (const uint32_t aeu : aeus) scheduler_.PrepareToSleep(aeu);
  }
  Task* Push(uint32_t aeu, TaskKind kind,
             TaskScheduling scheduling = TaskScheduling::kLocalityAware, uint32_t home = 0) {
    NamedTask& task = tasks_.emplace_back();
    task.scheduling = scheduling;
    task.home = home;
    scheduler_.Push(aeu, kind, &task);
    return &task;
  }

  std::vector<uint32_t> woken_;
  TaskScheduler scheduler_{GroupsOf("group:2 numa:2 l3:2 core:4 pu:1"),
                           TaskScheduling::kLocalityAware,
                           [this](uint32_t aeu) { woken_.push_back(aeu); }};
  std::deque<NamedTask> tasks_;
};

TEST_F(TaskSchedulerTest, NobodyIsWokenIfNobodySleeps) {
  Push(0, kImmediate);
  Push(0, kDeferred);
  Push(0, kImmediate, TaskScheduling::kBlind);
  Push(0, kDeferred, TaskScheduling::kBlind);
  EXPECT_THAT(woken_, IsEmpty());
  EXPECT_EQ(scheduler_.Stats(0).wakes, 0u);
}

TEST_F(TaskSchedulerTest, ATaskWakesOneAeuAndOnlyOnce) {
  Sleep({1, 2, 3});
  Push(0, kDeferred);
  EXPECT_THAT(woken_, ElementsAre(1));
  Push(0, kDeferred);
  EXPECT_THAT(woken_, ElementsAre(1, 2));
  EXPECT_EQ(scheduler_.Stats(0).wakes, 2u);
}

TEST_F(TaskSchedulerTest, AnAeuThatGotUpByItselfIsNotWoken) {
  Sleep({1, 2});
  scheduler_.Awake(1);
  Push(0, kImmediate);
  EXPECT_THAT(woken_, ElementsAre(2));
}

TEST_F(TaskSchedulerTest, AnAeuThatSleepsAgainIsWokenAgain) {
  Sleep({1});
  Push(0, kImmediate);
  scheduler_.Awake(1);
  Sleep({1});
  Push(0, kImmediate);
  EXPECT_THAT(woken_, ElementsAre(1, 1));
}

TEST_F(TaskSchedulerTest, ADeferredTaskWakesTheNearestGroupFirst) {
  Sleep({30, 18, 14, 10, 6, 2});
  for (int i = 0; i < 7; ++i) Push(0, kDeferred);
  EXPECT_THAT(woken_, ElementsAre(2, 6, 10, 14, 18, 30));
}

TEST_F(TaskSchedulerTest, NearIsMeasuredFromTheAeuThatAddsTheTask) {
  Sleep({0, 17, 25});
  for (int i = 0; i < 3; ++i) Push(31, kDeferred);
  EXPECT_THAT(woken_, ElementsAre(25, 17, 0));
}

TEST_F(TaskSchedulerTest, AnImmediateTaskWakesTheGroupThenTheRestOfTheNumaNode) {
  Sleep({4, 2});
  Push(0, kImmediate);
  Push(0, kImmediate);
  EXPECT_THAT(woken_, ElementsAre(2, 4));
}

TEST_F(TaskSchedulerTest, AnImmediateTaskWakesNobodyBeyondTheNumaNode) {
  Sleep({8, 12, 16, 28});
  Push(0, kImmediate);
  Push(7, kImmediate);
  EXPECT_THAT(woken_, IsEmpty());
}

TEST_F(TaskSchedulerTest, ABlindTaskWakesAnAeuWhereverItIs) {
  Sleep({31});
  Push(0, kImmediate, TaskScheduling::kBlind);
  EXPECT_THAT(woken_, ElementsAre(31));
  Sleep({16});
  Push(0, kDeferred, TaskScheduling::kBlind);
  EXPECT_THAT(woken_, ElementsAre(31, 16));
}

// Whoever is woken finds the task: the rules for waking name nobody who may not take it.
TEST_F(TaskSchedulerTest, WhoIsWokenMayHaveTheTask) {
  for (const TaskScheduling scheduling : {TaskScheduling::kLocalityAware, TaskScheduling::kBlind}) {
    for (const TaskKind kind : {kImmediate, kDeferred}) {
      for (uint32_t pusher = 0; pusher < 32; ++pusher) {
        for (uint32_t sleeper = 0; sleeper < 32; ++sleeper) {
          if (sleeper == pusher) continue;
          woken_.clear();
          Sleep({sleeper});
          Task* const task = Push(pusher, kind, scheduling);
          const bool may_have = scheduler_.MayHave(sleeper, TaskTurn::kIdle);
          EXPECT_EQ(may_have, woken_ == std::vector<uint32_t>{sleeper})
              << pusher << " and " << sleeper;
          scheduler_.Awake(sleeper);
          EXPECT_EQ(scheduler_.Take(may_have ? sleeper : pusher, TaskTurn::kIdle), task);
        }
      }
    }
  }
}

TEST_F(TaskSchedulerTest, LocalityAwareTasksComeBeforeBlindOnes) {
  Task* const blind = Push(0, kImmediate, TaskScheduling::kBlind);
  Task* const aware = Push(31, kDeferred);
  EXPECT_EQ(scheduler_.Take(0, TaskTurn::kSlice), blind);
  Push(0, kDeferred, TaskScheduling::kBlind);
  EXPECT_EQ(scheduler_.Take(0, TaskTurn::kIdle), aware);
}

TEST_F(TaskSchedulerTest, CountsByRuleAndThoseWhoseInputIsFar) {
  Push(0, kImmediate, TaskScheduling::kLocalityAware, 7);
  Push(0, kDeferred, TaskScheduling::kLocalityAware, 8);
  Push(31, kDeferred, TaskScheduling::kBlind, 31);
  for (int i = 0; i < 4; ++i) scheduler_.Take(0, TaskTurn::kIdle);
  const TaskStats stats = scheduler_.Stats(0);
  EXPECT_EQ(stats.taken[static_cast<size_t>(TaskRule::kOwnImmediate)], 1u);
  EXPECT_EQ(stats.taken[static_cast<size_t>(TaskRule::kGroupDeferred)], 1u);
  EXPECT_EQ(stats.taken[static_cast<size_t>(TaskRule::kBlindDeferred)], 1u);
  EXPECT_EQ(stats.far, 2u);
}

TEST_F(TaskSchedulerTest, TheSchedulingOfNewQueriesCanBeChanged) {
  EXPECT_EQ(scheduler_.scheduling(), TaskScheduling::kLocalityAware);
  scheduler_.SetScheduling(TaskScheduling::kOwn);
  EXPECT_EQ(scheduler_.scheduling(), TaskScheduling::kOwn);
}

}  // namespace
}  // namespace eris::tasks
