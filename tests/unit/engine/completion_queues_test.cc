// What a thread defers waits for it, in the queues of all NumaNodes, and is run once, wherever.
#include "engine/completion/completion_queues.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace eris::engine {
namespace {

struct OneTask final : CompletionTask {
  void Complete() override {
    // Before it counts: a test may end its task then.
    const std::function<void()> run = std::move(then);
    if (run) run();
    runs.fetch_add(1);
  }
  std::atomic<int> runs{0};
  std::function<void()> then;
};

void AwaitRuns(const std::atomic<int>& number, int least) {
  while (number.load() < least) sched_yield();
}

std::vector<CompletionThreadOptions> ThreadsFor(size_t number) {
  return std::vector<CompletionThreadOptions>(number);
}

TEST(CompletionQueuesTest, WhatIsDeferredRunsWhereItWasPushed) {
  CompletionQueues queues(ThreadsFor(1));
  CompletionQueue& queue = queues[0];
  const std::thread::id here = std::this_thread::get_id();
  int run_here = 0;
  for (int i = 0; i < 1000; ++i) {
    OneTask task;
    std::thread::id ran_on;
    task.then = [&] {
      EXPECT_TRUE(queue.OnCompletionThread());
      ran_on = std::this_thread::get_id();
    };
    queues.Defer();
    queue.Push(&task);
    queues.RunDeferred();
    EXPECT_FALSE(queue.OnCompletionThread());
    // The completion thread may have been about to look for work when it came.
    AwaitRuns(task.runs, 1);
    run_here += ran_on == here ? 1 : 0;
  }
  EXPECT_GT(run_here, 0);
  queue.Stop();
}

TEST(CompletionQueuesTest, WhileTheCompletionThreadIsAtWorkDeferredTasksAreIts) {
  CompletionQueues queues(ThreadsFor(1));
  CompletionQueue& queue = queues[0];
  std::atomic<bool> go_on = false;
  std::atomic<int> started = 0;
  OneTask busy, deferred;
  const std::thread::id here = std::this_thread::get_id();
  busy.then = [&] {
    started.store(1);
    while (!go_on.load()) sched_yield();
  };
  deferred.then = [&] { EXPECT_NE(std::this_thread::get_id(), here); };
  queue.Push(&busy);
  AwaitRuns(started, 1);
  queues.Defer();
  queue.Push(&deferred);
  queues.RunDeferred();
  EXPECT_EQ(deferred.runs.load(), 0);
  go_on.store(true);
  AwaitRuns(deferred.runs, 1);
  queue.Stop();
}

// What a task pushes while it runs deferred is not lost, though nobody is woken for it twice.
TEST(CompletionQueuesTest, ADeferredTaskMayPushAnother) {
  CompletionQueues queues(ThreadsFor(1));
  CompletionQueue& queue = queues[0];
  OneTask tasks[50];
  for (int i = 0; i + 1 < 50; ++i) {
    tasks[i].then = [&, i] { queue.Push(&tasks[i + 1]); };
  }
  queues.Defer();
  queue.Push(&tasks[0]);
  queues.RunDeferred();
  AwaitRuns(tasks[49].runs, 1);
  queue.Stop();
  for (const OneTask& task : tasks) EXPECT_EQ(task.runs.load(), 1);
}

// A thread that is about to wait must not keep what others are waiting for.
TEST(CompletionQueuesTest, WhatIsGivenAwayRunsBeforeItsThreadRunsDeferredTasks) {
  CompletionQueues queues(ThreadsFor(1));
  CompletionQueue& queue = queues[0];
  OneTask given, kept;
  std::thread::id ran;
  given.then = [&] { ran = std::this_thread::get_id(); };
  queues.GiveDeferred();  // does not defer
  queues.Defer();
  queues.GiveDeferred();  // has pushed nothing
  queue.Push(&given);
  queues.GiveDeferred();
  AwaitRuns(given.runs, 1);
  EXPECT_NE(ran, std::this_thread::get_id());
  queue.Push(&kept);
  queues.RunDeferred();
  AwaitRuns(kept.runs, 1);
}

// The callback of one NumaNode's session may wait for that of another's.
TEST(CompletionQueuesTest, QueuesRunAtTheSameTime) {
  CompletionQueues queues(ThreadsFor(2));
  OneTask waits, waited_for;
  waits.then = [&] { AwaitRuns(waited_for.runs, 1); };
  queues[0].Push(&waits);
  queues[1].Push(&waited_for);
  AwaitRuns(waits.runs, 1);
}

// Also where one thread has deferred both: it runs one queue's tasks, the others go to their
// thread.
TEST(CompletionQueuesTest, ADeferredTaskMayWaitForThatOfAnotherQueue) {
  CompletionQueues queues(ThreadsFor(2));
  for (const size_t waiting : {size_t{0}, size_t{1}}) {
    OneTask waits, waited_for;
    waits.then = [&] { AwaitRuns(waited_for.runs, 1); };
    queues.Defer();
    queues[waiting].Push(&waits);
    queues[1 - waiting].Push(&waited_for);
    queues.RunDeferred();
    AwaitRuns(waits.runs, 1);
  }
}

// While one queue's last task is running, what it pushes to another does not run inside of it.
TEST(CompletionQueuesTest, NoQueueEndsWhileAnothersTasksRun) {
  CompletionQueues queues(ThreadsFor(2));
  std::atomic<int> started = 0;
  std::atomic<bool> inside = false;
  OneTask last, pushed;
  pushed.then = [&] { EXPECT_FALSE(inside.load()); };
  last.then = [&] {
    inside.store(true);
    started.store(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // Stop has begun
    queues[0].Push(&pushed);
    inside.store(false);
  };
  queues[1].Push(&last);
  AwaitRuns(started, 1);
  queues.Stop();
  EXPECT_EQ(pushed.runs.load(), 1);
}

TEST(CompletionQueuesTest, AfterStopTasksThatPushToEachOthersQueuesRunOnce) {
  constexpr size_t kEach = 2000;
  CompletionQueues queues(ThreadsFor(2));
  queues.Stop();
  queues.Stop();
  std::vector<OneTask> outer(2 * kEach), inner(2 * kEach);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t * kEach; i < (t + 1) * kEach; ++i) {
        outer[i].then = [&, t, i] { queues[1 - t].Push(&inner[i]); };
        queues[t].Push(&outer[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < 2 * kEach; ++i) ASSERT_EQ(outer[i].runs + inner[i].runs, 2) << i;
}

// More than the noted ones are looked at if there are many; none is forgotten.
TEST(CompletionQueuesTest, DeferredTasksOfManyQueuesRun) {
  constexpr size_t kQueues = 100;
  CompletionQueues queues(ThreadsFor(kQueues));
  std::vector<OneTask> tasks(kQueues);
  for (const bool give : {false, true}) {
    queues.Defer();
    for (size_t i = 0; i < kQueues; ++i) queues[i].Push(&tasks[i]);
    if (give) queues.GiveDeferred();
    if (!give) queues.RunDeferred();
    for (const OneTask& task : tasks) AwaitRuns(task.runs, give ? 2 : 1);
    queues.RunDeferred();
  }
  EXPECT_FALSE(queues.OnCompletionThread());
  queues.Stop();
}

TEST(CompletionQueuesTest, DeferringAndOtherThreadsRunEachTaskOnceAndOneAtATimeInAQueue) {
  constexpr int kThreads = 4, kEach = 3000, kQueues = 3;
  CompletionQueues queues(ThreadsFor(kQueues));
  std::vector<std::unique_ptr<OneTask[]>> tasks;
  int inside[kQueues] = {};  // each guarded by its queue
  std::atomic<int> ran = 0;
  for (int i = 0; i < kThreads; ++i) {
    tasks.push_back(std::make_unique<OneTask[]>(kEach));
    for (int j = 0; j < kEach; ++j) {
      tasks[i][j].then = [&, number = j % kQueues] {
        EXPECT_EQ(++inside[number], 1);
        --inside[number];
        ran.fetch_add(1);
      };
    }
  }
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < kEach; ++j) {
        const bool defer = i % 2 == 0;
        if (defer) queues.Defer();
        queues[static_cast<size_t>(j % kQueues)].Push(&tasks[i][j]);
        if (defer) queues.RunDeferred();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  queues.Stop();
  EXPECT_EQ(ran.load(), kThreads * kEach);
}

}  // namespace
}  // namespace eris::engine
