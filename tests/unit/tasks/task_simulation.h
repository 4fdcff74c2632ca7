// AEUs that add, take and run tasks in virtual time, in one thread, in the order of a seed. Each
// AEU takes a step at a time, and others move between any two: it looks for tasks, says that it is
// about to sleep, looks again, sleeps, gets up some time after it was woken.
//
// A query has deferred tasks, whose input lies with the AEU that adds them. Each brings immediate
// tasks, whose input lies with the AEU that has run it.
#ifndef ERIS_TESTS_UNIT_TASKS_TASK_SIMULATION_H_
#define ERIS_TESTS_UNIT_TASKS_TASK_SIMULATION_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <numeric>
#include <queue>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tasks/task_scheduler.h"
#include "tests/unit/tasks/task_lab.h"

namespace eris::tasks {

struct SimulationPlan {
  uint64_t seed = 0;
  uint32_t queries = 1;  // at once
  // By query, in turn.
  std::vector<TaskScheduling> scheduling = {TaskScheduling::kLocalityAware};
  const char* machine = "numa:8 l3:1 core:8 pu:1";
  uint32_t tasks_per_aeu = 8;  // deferred ones of each query, on average
  uint64_t arrival_us = 100;   // from the first AEU that the queries reach to the last
};

struct SimulationResult {
  uint64_t tasks = 0;
  uint64_t bytes = 0;      // that were read
  uint64_t far_bytes = 0;  // from another NumaNode
  uint64_t far_tasks = 0;
  uint64_t wakes = 0;
  uint64_t busiest_us = 0;  // the AEU that has worked longest
  uint64_t mean_us = 0;
  uint64_t largest_us = 0;  // a deferred task with all that it brings
  // Time that AEUs have slept while more tasks that they may take waited than AEUs were looking.
  uint64_t asleep_beside_us = 0;
  uint64_t all_us = 0;  // time of all AEUs
};

class TaskSimulation {
 public:
  static constexpr uint64_t kGetUpUsMax = 50;  // from the wake to the first look

  explicit TaskSimulation(const SimulationPlan& plan)
      : plan_(plan),
        random_(plan.seed),
        groups_(GroupsOf(plan.machine)),
        scheduler_(groups_, TaskScheduling::kLocalityAware, [this](uint32_t aeu) { Wake(aeu); }),
        aeus_(groups_.aeus()),
        immediate_(groups_.groups.size()) {
    for (uint32_t query = 0; query < plan.queries; ++query) Make(query);
  }

  SimulationResult Run() {
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      Observe(event.at_us - now_us_);
      now_us_ = event.at_us;
      if (event.begins) {
        Begin(event.aeu);
      } else {
        Step(event.aeu);
      }
      if (testing::Test::HasFatalFailure()) return {};
    }
    return Conclude();
  }

 private:
  class SimTask;
  enum class State : uint8_t { kLooking, kRunning, kPreparing, kAsleep, kGettingUp };
  struct SimAeu {
    State state = State::kAsleep;
    bool woken = false;  // between PrepareToSleep and the second look
    bool begun = false;
    std::vector<SimTask*> to_push{};  // of queries
    SimTask* running = nullptr;
    uint64_t busy_us = 0;
  };
  struct Event {
    uint64_t at_us;
    uint64_t tie;
    uint32_t aeu;
    bool begins;  // the queries arrive at the AEU
    bool operator<(const Event& other) const {
      return std::tie(at_us, tie) > std::tie(other.at_us, other.tie);
    }
  };

  class SimTask final : public Task {
   public:
    bool Advance(Worker&) override { return false; }
    void Took(Worker&, uint64_t) override {}
    void End(Worker&) override {}

    TaskKind kind = TaskKind::kDeferred;
    uint64_t us = 0;
    uint64_t bytes = 0;
    uint32_t runs = 0;
    std::vector<SimTask*> children;
  };

  uint64_t UpTo(uint64_t from, uint64_t to) { return from + random_() % (to - from + 1); }

  // Tasks are spread unevenly over the NumaNodes, those of each query in another way.
  void Make(uint32_t query) {
    std::vector<uint64_t> weight(groups_.groups.size());
    for (uint64_t& w : weight) w = UpTo(2, 6);
    const uint64_t mean = std::accumulate(weight.begin(), weight.end(), uint64_t{0});
    for (uint32_t aeu = 0; aeu < groups_.aeus(); ++aeu) {
      const uint64_t tasks = plan_.tasks_per_aeu * weight.size() * weight[groups_.group_of[aeu]];
      for (uint64_t i = 0; i < tasks / mean; ++i) {
        SimTask& task = Add(query, TaskKind::kDeferred, UpTo(20, 200));
        task.home = aeu;
        uint64_t all_us = task.us;
        for (uint64_t children = UpTo(0, 3); children > 0; --children) {
          SimTask& child = Add(query, TaskKind::kImmediate, UpTo(10, 60));
          task.children.push_back(&child);
          all_us += child.us;
          if (UpTo(0, 1) == 0) continue;
          child.children.push_back(&Add(query, TaskKind::kImmediate, UpTo(10, 60)));
          all_us += child.children.back()->us;
        }
        result_.largest_us = std::max(result_.largest_us, all_us);
        aeus_[aeu].to_push.push_back(&task);
      }
    }
    if (query > 0) return;
    for (uint32_t aeu = 0; aeu < groups_.aeus(); ++aeu) {
      scheduler_.PrepareToSleep(aeu);
      At(UpTo(0, plan_.arrival_us), aeu, true);
    }
  }
  SimTask& Add(uint32_t query, TaskKind kind, uint64_t us) {
    SimTask& task = tasks_.emplace_back();
    task.query = query + 1;
    task.scheduling = plan_.scheduling[query % plan_.scheduling.size()];
    task.kind = kind;
    task.us = us;
    task.bytes = us * 1000;
    return task;
  }

  void At(uint64_t at_us, uint32_t aeu, bool begins = false) {
    events_.push({at_us, random_(), aeu, begins});
  }

  void Begin(uint32_t aeu) {
    aeus_[aeu].begun = true;
    Wake(aeu);
  }

  void Wake(uint32_t aeu) {
    SimAeu& self = aeus_[aeu];
    if (self.state == State::kPreparing) self.woken = true;
    if (self.state != State::kAsleep) return;
    self.state = State::kGettingUp;
    At(now_us_ + UpTo(5, kGetUpUsMax), aeu);
  }

  void Step(uint32_t aeu) {
    SimAeu& self = aeus_[aeu];
    switch (self.state) {
      case State::kRunning:
        for (SimTask* child : self.running->children) {
          child->home = aeu;
          Push(aeu, child);
        }
        self.running = nullptr;
        return Look(aeu);
      case State::kLooking:
        return Look(aeu);
      case State::kPreparing:
        if (self.woken || MustPush(self) || scheduler_.MayHave(aeu, TaskTurn::kIdle)) {
          scheduler_.Awake(aeu);
          self.state = State::kLooking;
          return At(now_us_ + UpTo(0, 2), aeu);
        }
        self.state = State::kAsleep;
        return;
      case State::kGettingUp:
        scheduler_.Awake(aeu);
        self.state = State::kLooking;
        return At(now_us_ + UpTo(0, 2), aeu);
      case State::kAsleep:
        FAIL() << "an AEU that is asleep moves";
    }
  }

  static bool MustPush(const SimAeu& self) { return self.begun && !self.to_push.empty(); }

  void Look(uint32_t aeu) {
    SimAeu& self = aeus_[aeu];
    self.state = State::kLooking;
    if (MustPush(self)) {
      for (SimTask* task : self.to_push) Push(aeu, task);
      self.to_push.clear();
    }
    const TaskTurn turn = random_() % 2 == 0 ? TaskTurn::kSlice : TaskTurn::kShare;
    auto* task = static_cast<SimTask*>(scheduler_.Take(aeu, turn));
    if (task == nullptr) task = static_cast<SimTask*>(scheduler_.Take(aeu, TaskTurn::kIdle));
    if (task != nullptr) return Begin(aeu, *task);
    scheduler_.PrepareToSleep(aeu);
    self.woken = false;
    self.state = State::kPreparing;
    At(now_us_ + UpTo(0, 3), aeu);
  }

  void Push(uint32_t aeu, SimTask* task) {
    ++QueuedOf(*task, aeu);
    scheduler_.Push(aeu, task->kind, task);
  }

  // Immediate tasks of locality-aware queries by NumaNode; all AEUs may take the others.
  uint64_t& QueuedOf(const SimTask& task, uint32_t pusher) {
    const bool near =
        task.kind == TaskKind::kImmediate && task.scheduling == TaskScheduling::kLocalityAware;
    return near ? immediate_[groups_.group_of[pusher]] : for_all_;
  }

  void Begin(uint32_t aeu, SimTask& task) {
    SimAeu& self = aeus_[aeu];
    ASSERT_EQ(++task.runs, 1u);
    --QueuedOf(task, task.home);
    const bool far = groups_.NumaNodeOf(aeu) != groups_.NumaNodeOf(task.home);
    result_.bytes += task.bytes;
    result_.far_bytes += far ? task.bytes : 0;
    result_.far_tasks += far;
    self.busy_us += task.us;
    self.running = &task;
    self.state = State::kRunning;
    At(now_us_ + task.us, aeu);
  }

  // What holds before each event, and for how long it has held.
  void Observe(uint64_t us) {
    uint64_t asleep = 0;
    uint64_t looking = 0;
    std::vector<uint64_t> awake_near(immediate_.size());
    for (uint32_t aeu = 0; aeu < aeus_.size(); ++aeu) {
      const State state = aeus_[aeu].state;
      asleep += state == State::kAsleep;
      looking += state != State::kAsleep && state != State::kRunning;
      awake_near[groups_.group_of[aeu]] += state != State::kAsleep;
    }
    ASSERT_TRUE(for_all_ == 0 || asleep < aeus_.size()) << "all AEUs sleep beside a task";
    for (size_t g = 0; g < immediate_.size(); ++g) {
      ASSERT_TRUE(immediate_[g] == 0 || awake_near[g] > 0) << "a group sleeps beside its tasks";
    }
    const uint64_t unseen = for_all_ > looking ? for_all_ - looking : 0;
    result_.asleep_beside_us += us * std::min(asleep, unseen);
    result_.all_us += us * aeus_.size();
  }

  SimulationResult Conclude() {
    for (const SimTask& task : tasks_) EXPECT_EQ(task.runs, 1u) << "a task is lost";
    uint64_t far_tasks = 0;
    uint64_t sum_us = 0;
    for (uint32_t aeu = 0; aeu < aeus_.size(); ++aeu) {
      EXPECT_EQ(aeus_[aeu].state, State::kAsleep);
      EXPECT_FALSE(scheduler_.MayHave(aeu, TaskTurn::kIdle));
      far_tasks += scheduler_.Stats(aeu).far;
      result_.wakes += scheduler_.Stats(aeu).wakes;
      sum_us += aeus_[aeu].busy_us;
      result_.busiest_us = std::max(result_.busiest_us, aeus_[aeu].busy_us);
    }
    EXPECT_EQ(far_tasks, result_.far_tasks);
    result_.mean_us = sum_us / aeus_.size();
    result_.tasks = tasks_.size();
    return result_;
  }

  const SimulationPlan plan_;
  std::mt19937_64 random_;
  const CoreGroups groups_;
  TaskScheduler scheduler_;
  std::deque<SimTask> tasks_;
  std::vector<SimAeu> aeus_;
  std::vector<uint64_t> immediate_;  // by group, which is a NumaNode here
  uint64_t for_all_ = 0;
  std::priority_queue<Event> events_;
  uint64_t now_us_ = 0;
  SimulationResult result_;
};

}  // namespace eris::tasks

#endif  // ERIS_TESTS_UNIT_TASKS_TASK_SIMULATION_H_
