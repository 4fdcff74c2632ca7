#include "engine/completion/completion_queue.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace eris::engine {
namespace {

struct Task final : CompletionTask {
  void Complete() override {
    runs.fetch_add(1);
    if (then) then();
  }
  std::atomic<int> runs{0};
  std::function<void()> then;
};

void Await(const std::atomic<int>& number, int least) {
  while (number.load() < least) sched_yield();
}

TEST(CompletionQueueTest, RunsTasksInOrderOnItsThread) {
  CompletionQueue queue;
  std::vector<int> order;
  Task tasks[20];
  for (int i = 0; i < 20; ++i) {
    tasks[i].then = [&, i] {
      EXPECT_TRUE(queue.OnCompletionThread());
      order.push_back(i);
    };
    queue.Push(&tasks[i]);
  }
  queue.Stop();
  std::vector<int> expected;
  for (int i = 0; i < 20; ++i) expected.push_back(i);
  EXPECT_EQ(order, expected);
  EXPECT_FALSE(queue.OnCompletionThread());
}

TEST(CompletionQueueTest, ATaskMayPushItselfAgain) {
  CompletionQueue queue;
  Task task;
  task.then = [&] {
    if (task.runs.load() < 100) queue.Push(&task);
  };
  queue.Push(&task);
  Await(task.runs, 100);
  queue.Stop();
  EXPECT_EQ(task.runs.load(), 100);
}

TEST(CompletionQueueTest, EachPushFromManyThreadsRunsOnce) {
  constexpr int kThreads = 4, kEach = 3000;
  CompletionQueue queue;
  std::vector<std::unique_ptr<Task[]>> tasks;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    tasks.push_back(std::make_unique<Task[]>(kEach));
    threads.emplace_back([&queue, mine = tasks.back().get()] {
      for (int i = 0; i < kEach; ++i) {
        queue.Push(&mine[i]);
        if (i % 100 == 0) Await(mine[i].runs, 1);  // so that the queue sleeps now and then
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  queue.Stop();
  for (const auto& mine : tasks) {
    for (int i = 0; i < kEach; ++i) ASSERT_EQ(mine[i].runs.load(), 1);
  }
}

// What an engine's user lets go after Close still ends: nothing is left in the queue for ever.
TEST(CompletionQueueTest, AfterStopATaskRunsWhereItIsPushed) {
  CompletionQueue queue;
  Task before, after, nested;
  queue.Push(&before);
  queue.Stop();
  queue.Stop();
  EXPECT_EQ(before.runs.load(), 1);
  after.then = [&] { queue.Push(&nested); };
  queue.Push(&after);
  EXPECT_EQ(after.runs.load(), 1);
  EXPECT_EQ(nested.runs.load(), 1);
}

TEST(CompletionQueueTest, PushesThatRaceWithStopRunOnce) {
  for (int round = 0; round < 200; ++round) {
    CompletionQueue queue;
    Task tasks[8];
    std::thread pusher([&] {
      for (Task& task : tasks) queue.Push(&task);
    });
    queue.Stop();
    pusher.join();
    for (Task& task : tasks) ASSERT_EQ(task.runs.load(), 1);
  }
}

}  // namespace
}  // namespace eris::engine
