#include "engine/core/completion_queue.h"

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

TEST(CompletionQueueTest, WhatIsDeferredRunsWhereItWasPushed) {
  CompletionQueue queue;
  const std::thread::id here = std::this_thread::get_id();
  int run_here = 0;
  for (int i = 0; i < 1000; ++i) {
    Task task;
    std::thread::id ran_on;
    task.then = [&] {
      EXPECT_TRUE(queue.OnCompletionThread());
      ran_on = std::this_thread::get_id();
    };
    queue.Defer();
    queue.Push(&task);
    queue.RunDeferred();
    EXPECT_FALSE(queue.OnCompletionThread());
    // The completion thread may have been about to look for work when it came.
    Await(task.runs, 1);
    run_here += ran_on == here ? 1 : 0;
  }
  EXPECT_GT(run_here, 0);
  queue.Stop();
}

TEST(CompletionQueueTest, WhileTheCompletionThreadIsAtWorkDeferredTasksAreIts) {
  CompletionQueue queue;
  std::atomic<bool> go_on = false;
  Task busy, deferred;
  const std::thread::id here = std::this_thread::get_id();
  busy.then = [&] {
    while (!go_on.load()) sched_yield();
  };
  deferred.then = [&] { EXPECT_NE(std::this_thread::get_id(), here); };
  queue.Push(&busy);
  Await(busy.runs, 1);
  queue.Defer();
  queue.Push(&deferred);
  queue.RunDeferred();
  EXPECT_EQ(deferred.runs.load(), 0);
  go_on.store(true);
  Await(deferred.runs, 1);
  queue.Stop();
}

// What a task pushes while it runs deferred is not lost, though nobody is woken for it twice.
TEST(CompletionQueueTest, ADeferredTaskMayPushAnother) {
  CompletionQueue queue;
  Task tasks[50];
  for (int i = 0; i + 1 < 50; ++i) {
    tasks[i].then = [&, i] { queue.Push(&tasks[i + 1]); };
  }
  queue.Defer();
  queue.Push(&tasks[0]);
  queue.RunDeferred();
  Await(tasks[49].runs, 1);
  queue.Stop();
  for (const Task& task : tasks) EXPECT_EQ(task.runs.load(), 1);
}

// A thread that is about to wait must not keep what others are waiting for.
TEST(CompletionQueueTest, WhatIsGivenAwayRunsBeforeItsThreadRunsDeferredTasks) {
  CompletionQueue queue;
  Task given, kept;
  std::thread::id ran;
  given.then = [&] { ran = std::this_thread::get_id(); };
  queue.GiveDeferred();  // does not defer
  queue.Defer();
  queue.GiveDeferred();  // has pushed nothing
  queue.Push(&given);
  queue.GiveDeferred();
  Await(given.runs, 1);
  EXPECT_NE(ran, std::this_thread::get_id());
  queue.Push(&kept);
  queue.RunDeferred();
  Await(kept.runs, 1);
}

TEST(CompletionQueueTest, DeferringAndOtherThreadsRunEachTaskOnceAndOneAtATime) {
  constexpr int kThreads = 4, kEach = 3000;
  CompletionQueue queue;
  std::vector<std::unique_ptr<Task[]>> tasks;
  int inside = 0;  // guarded by the queue
  std::atomic<int> ran = 0;
  for (int i = 0; i < kThreads; ++i) {
    tasks.push_back(std::make_unique<Task[]>(kEach));
    for (int j = 0; j < kEach; ++j) {
      tasks[i][j].then = [&] {
        EXPECT_EQ(++inside, 1);
        --inside;
        ran.fetch_add(1);
      };
    }
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kEach; ++j) {
        const bool defer = i % 2 == 0;
        if (defer) queue.Defer();
        queue.Push(&tasks[i][j]);
        if (defer) queue.RunDeferred();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  queue.Stop();
  EXPECT_EQ(ran.load(), kThreads * kEach);
}

}  // namespace
}  // namespace eris::engine
