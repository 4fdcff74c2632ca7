// A thread for each AEU, which takes tasks, runs them and sleeps as aeu/aeu_thread.cc does. Each
// task must run once. Some tasks wait for each other: as many as may run them at once are added, so
// none of these AEUs may stay asleep, or the test never ends.
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "routing/waker.h"
#include "tasks/task_scheduler.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"
#include "tests/unit/tasks/task_lab.h"

namespace eris::tasks {
namespace {

constexpr const char* kStressMachine = "numa:2 l3:2 core:1 pu:1";
constexpr uint32_t kStressAeus = 6;  // more than cores: the first and the last group have two
constexpr uint32_t kStressRounds = test::Fewer(10'000u, 3'000u);

class ThreadWorker final : public Worker {
 public:
  explicit ThreadWorker(uint32_t aeu) : aeu_(aeu) {}
  uint32_t aeu() const override { return aeu_; }
  memory::LocalCache* CacheOf(memory::MemoryManager&) override { return nullptr; }

 private:
  const uint32_t aeu_;
};

// What the tasks of one round share.
struct Round {
  explicit Round(uint32_t tasks) : left(tasks) {}

  std::atomic<uint32_t> left;
  std::atomic<uint32_t> met{0};
  uint32_t expected_to_meet = 0;  // at the same time; 0: tasks do not wait
};

class StressTask final : public Task {
 public:
  StressTask(TaskScheduler& scheduler, Round& round) : scheduler_(scheduler), round_(round) {}

  bool Advance(Worker& worker) override {
    EXPECT_EQ(runs.fetch_add(1, std::memory_order_relaxed), 0u);
    for (StressTask* child : children) scheduler_.Push(worker.aeu(), TaskKind::kImmediate, child);
    if (round_.expected_to_meet != 0) {
      round_.met.fetch_add(1, std::memory_order_relaxed);
      while (round_.met.load(std::memory_order_relaxed) < round_.expected_to_meet) sched_yield();
    }
    return false;
  }
  void Took(Worker&, uint64_t) override {}
  void End(Worker&) override {
    // release: pairs with the wait of the test's thread, which frees the task.
    if (round_.left.fetch_sub(1, std::memory_order_acq_rel) == 1) round_.left.notify_all();
  }

  std::vector<StressTask*> children;
  std::atomic<uint32_t> runs{0};

 private:
  TaskScheduler& scheduler_;
  Round& round_;
};

// What the test's thread tells an AEU to add.
struct Order {
  TaskKind kind;
  std::vector<StressTask*> tasks;
};

class TaskStressTest : public testing::Test {
 protected:
  TaskStressTest() {
    for (uint32_t aeu = 0; aeu < kStressAeus; ++aeu) {
      threads_.emplace_back([this, aeu] { Run(aeu); });
    }
  }
  ~TaskStressTest() override {
    stop_.store(true, std::memory_order_seq_cst);
    for (AeuState& state : aeus_) state.waker.Wake();
    for (std::thread& thread : threads_) thread.join();
  }

  // `roots` tasks with `children` each, half of them added by each of two AEUs; if they meet, all
  // by one, since the other might wait in the meeting already. Returns when all have run.
  void RunRound(TaskScheduling scheduling, TaskKind kind, uint32_t roots, uint32_t children,
                bool meet, uint32_t pusher, uint32_t other_pusher) {
    Round round(roots * (1 + children));
    if (meet) round.expected_to_meet = roots;
    std::deque<StressTask> tasks;
    Order orders[2] = {{kind, {}}, {kind, {}}};
    for (uint32_t i = 0; i < roots; ++i) {
      StressTask& root = Add(tasks, scheduling, round);
      orders[meet ? 0 : i % 2].tasks.push_back(&root);
      for (uint32_t c = 0; c < children; ++c) {
        root.children.push_back(&Add(tasks, scheduling, round));
      }
    }
    if (!orders[0].tasks.empty()) Tell(pusher, orders[0]);
    if (!orders[1].tasks.empty()) Tell(other_pusher, orders[1]);
    for (uint32_t left = round.left.load(std::memory_order_acquire); left != 0;
         left = round.left.load(std::memory_order_acquire)) {
      round.left.wait(left, std::memory_order_acquire);
    }
    for (const StressTask& task : tasks) EXPECT_EQ(task.runs.load(std::memory_order_relaxed), 1u);
    // They may be on their way back from notify_all, or from adding the last task.
    for (AeuState& state : aeus_) {
      while (state.busy.load(std::memory_order_acquire)) sched_yield();
    }
  }

  const CoreGroups& groups() const { return scheduler_.groups(); }

 private:
  struct AeuState {
    routing::Waker waker;
    std::atomic<const Order*> order{nullptr};
    std::atomic<bool> busy{false};
  };

  StressTask& Add(std::deque<StressTask>& tasks, TaskScheduling scheduling, Round& round) {
    StressTask& task = tasks.emplace_back(scheduler_, round);
    task.scheduling = scheduling;
    task.query = ++query_ % 5;
    return task;
  }

  void Tell(uint32_t aeu, const Order& order) {
    const Order* none = nullptr;
    while (!aeus_[aeu].order.compare_exchange_weak(none, &order, std::memory_order_seq_cst)) {
      none = nullptr;
      sched_yield();
    }
    aeus_[aeu].waker.Wake();
  }

  void Run(uint32_t aeu) {
    ThreadWorker worker(aeu);
    AeuState& self = aeus_[aeu];
    for (uint32_t turn = 0; !stop_.load(std::memory_order_seq_cst); ++turn) {
      self.busy.store(true, std::memory_order_seq_cst);
      const bool did = Step(self, worker, turn);
      self.busy.store(false, std::memory_order_release);
      if (did) continue;
      if (HasWork(aeu)) {
        sched_yield();
        continue;
      }
      sched_yield();  // so that tasks often come in between
      self.waker.PrepareToSleep();
      scheduler_.PrepareToSleep(aeu);
      if (HasWork(aeu) || stop_.load(std::memory_order_seq_cst)) {
        self.waker.CancelSleep();
      } else {
        self.waker.Sleep();
      }
      scheduler_.Awake(aeu);
    }
  }

  bool Step(AeuState& self, Worker& worker, uint32_t turn) {
    const Order* const order = self.order.load(std::memory_order_acquire);
    if (order != nullptr) {
      for (StressTask* task : order->tasks) scheduler_.Push(worker.aeu(), order->kind, task);
      self.order.store(nullptr, std::memory_order_release);
    }
    const TaskTurn first = turn % 2 == 0 ? TaskTurn::kSlice : TaskTurn::kShare;
    Task* task = scheduler_.Take(worker.aeu(), first);
    if (task == nullptr) task = scheduler_.Take(worker.aeu(), TaskTurn::kIdle);
    if (task == nullptr) return order != nullptr;
    while (task->Advance(worker)) {
    }
    task->End(worker);
    return true;
  }

  bool HasWork(uint32_t aeu) const {
    return aeus_[aeu].order.load(std::memory_order_seq_cst) != nullptr ||
           scheduler_.MayHave(aeu, TaskTurn::kIdle);
  }

  std::vector<AeuState> aeus_{kStressAeus};
  TaskScheduler scheduler_{GroupsOf(kStressMachine, {.aeu_count = kStressAeus}),
                           TaskScheduling::kLocalityAware,
                           [this](uint32_t aeu) { aeus_[aeu].waker.Wake(); }};
  std::atomic<bool> stop_{false};
  uint64_t query_ = 0;
  std::vector<std::thread> threads_;
};

TEST_F(TaskStressTest, EachTaskRunsOnceAndNoAeuStaysAsleepBesideOne) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  uint64_t on_numa_node_0 = 0;
  for (uint32_t aeu = 0; aeu < kStressAeus; ++aeu) on_numa_node_0 += groups().NumaNodeOf(aeu) == 0;
  ASSERT_GE(on_numa_node_0, 2u);
  for (uint32_t round = 0; round < kStressRounds; ++round) {
    const bool aware = random() % 2 == 0;
    const TaskScheduling scheduling =
        aware ? TaskScheduling::kLocalityAware : TaskScheduling::kBlind;
    const auto pusher = static_cast<uint32_t>(random() % kStressAeus);
    const auto other = static_cast<uint32_t>(random() % kStressAeus);
    switch (random() % 4) {
      case 0:  // any AEU may run them
        RunRound(scheduling, TaskKind::kDeferred, kStressAeus, 0, true, pusher, other);
        break;
      case 1: {  // AEUs of the NumaNode alone, if aware
        const uint32_t numa_node = groups().NumaNodeOf(pusher);
        const uint32_t may =
            !aware ? kStressAeus
                   : static_cast<uint32_t>(numa_node == 0 ? on_numa_node_0
                                                          : kStressAeus - on_numa_node_0);
        RunRound(scheduling, TaskKind::kImmediate, may, 0, true, pusher, pusher);
        break;
      }
      default:
        RunRound(scheduling, random() % 2 == 0 ? TaskKind::kDeferred : TaskKind::kImmediate,
                 static_cast<uint32_t>(random() % 40), static_cast<uint32_t>(random() % 5), false,
                 pusher, other);
    }
  }
}

}  // namespace
}  // namespace eris::tasks
