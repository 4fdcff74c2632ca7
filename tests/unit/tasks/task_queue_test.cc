// Random pushes and takes against a queue of plain vectors.
#include "tasks/task_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "tests/support/seed.h"

namespace eris::tasks {
namespace {

constexpr TaskEnd kEnds[] = {TaskEnd::kYoungest, TaskEnd::kOldest, TaskEnd::kYoungestOfOldestQuery,
                             TaskEnd::kOldestOfSecondQuery, TaskEnd::kYoungestOfNextQuery};

class ReferenceQueue {
 public:
  void Push(TaskLinks* task) { tasks_.push_back(task); }

  TaskLinks* Take(TaskEnd end) {
    if (tasks_.empty()) return nullptr;
    TaskLinks* const task = Choose(end);
    std::erase(tasks_, task);
    return task;
  }
  bool Empty() const { return tasks_.empty(); }

 private:
  TaskLinks* Choose(TaskEnd end) {
    const std::vector<uint64_t> queries = Queries();
    switch (end) {
      case TaskEnd::kYoungest:
        return tasks_.back();
      case TaskEnd::kOldest:
        return tasks_.front();
      case TaskEnd::kYoungestOfOldestQuery:
        return YoungestOf(queries.front());
      case TaskEnd::kOldestOfSecondQuery:
        return OldestOf(queries.size() == 1 ? queries[0] : queries[1]);
      case TaskEnd::kYoungestOfNextQuery:
        break;
    }
    const auto next = std::ranges::upper_bound(queries, served_);
    served_ = next == queries.end() ? queries.front() : *next;
    return YoungestOf(served_);
  }
  std::vector<uint64_t> Queries() const {
    std::vector<uint64_t> queries;
    for (const TaskLinks* task : tasks_) queries.push_back(task->query);
    std::ranges::sort(queries);
    queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
    return queries;
  }
  TaskLinks* OldestOf(uint64_t query) const {
    return *std::ranges::find(tasks_, query, &TaskLinks::query);
  }
  TaskLinks* YoungestOf(uint64_t query) const {
    return *std::find_if(tasks_.rbegin(), tasks_.rend(),
                         [&](const TaskLinks* task) { return task->query == query; });
  }

  std::vector<TaskLinks*> tasks_;  // the oldest first
  uint64_t served_ = 0;
};

class TaskQueueTest : public testing::Test {
 protected:
  TaskLinks* Push(uint64_t query) {
    tasks_.emplace_back().query = query;
    queue_.Push(&tasks_.back());
    return &tasks_.back();
  }
  TaskLinks* Take(TaskEnd end) { return queue_.TryTake(end); }

  std::deque<TaskLinks> tasks_;
  TaskQueue queue_;
};

TEST_F(TaskQueueTest, AnEmptyQueueHasNoTask) {
  for (const TaskEnd end : kEnds) EXPECT_EQ(Take(end), nullptr);
  EXPECT_TRUE(queue_.Empty());
}

TEST_F(TaskQueueTest, IsNotEmptyUntilTheLastTaskIsTaken) {
  Push(1);
  Push(2);
  EXPECT_FALSE(queue_.Empty());
  Take(TaskEnd::kOldest);
  EXPECT_FALSE(queue_.Empty());
  Take(TaskEnd::kOldest);
  EXPECT_TRUE(queue_.Empty());
}

TEST_F(TaskQueueTest, QueriesAreServedInTurn) {
  TaskLinks* const old_of_3 = Push(3);
  TaskLinks* const of_5 = Push(5);
  TaskLinks* const of_9 = Push(9);
  TaskLinks* const young_of_3 = Push(3);
  EXPECT_EQ(Take(TaskEnd::kYoungestOfNextQuery), young_of_3);
  TaskLinks* const of_4 = Push(4);
  EXPECT_EQ(Take(TaskEnd::kYoungestOfNextQuery), of_4);
  EXPECT_EQ(Take(TaskEnd::kYoungestOfNextQuery), of_5);
  EXPECT_EQ(Take(TaskEnd::kYoungestOfNextQuery), of_9);
  EXPECT_EQ(Take(TaskEnd::kYoungestOfNextQuery), old_of_3);
  EXPECT_EQ(Take(TaskEnd::kYoungestOfNextQuery), nullptr);
}

// Every fourth seed takes by one end alone, the others by all of them mixed.
void Compare(uint64_t seed) {
  std::mt19937_64 random(seed);
  const uint64_t queries = 1 + random() % (random() % 2 == 0 ? 3 : 40);
  const uint64_t push_percent = 35 + random() % 30;
  const uint64_t only = random() % 20;
  TaskQueue queue;
  ReferenceQueue reference;
  std::vector<TaskLinks> tasks(200);
  std::vector<TaskLinks*> unused;
  for (TaskLinks& task : tasks) unused.push_back(&task);
  for (int step = 0; step < 1'500; ++step) {
    if (random() % 100 < push_percent && !unused.empty()) {
      std::swap(unused[random() % unused.size()], unused.back());
      TaskLinks* const task = unused.back();
      unused.pop_back();
      task->query = random() % queries;
      queue.Push(task);
      reference.Push(task);
    } else {
      const TaskEnd end = kEnds[only < 5 ? only : random() % 5];
      TaskLinks* const expected = reference.Take(end);
      ASSERT_EQ(queue.TryTake(end), expected)
          << "step " << step << ", end " << static_cast<int>(end);
      if (expected != nullptr) unused.push_back(expected);
    }
    ASSERT_EQ(queue.Empty(), reference.Empty()) << "step " << step;
  }
  while (!reference.Empty()) {
    const TaskEnd end = kEnds[random() % 5];
    ASSERT_EQ(queue.TryTake(end), reference.Take(end));
  }
  ASSERT_TRUE(queue.Empty());
}

TEST(TaskQueueReferenceTest, RandomPushesAndTakesAreThoseOfPlainVectors) {
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t seed = test::Seed() + i;
    SCOPED_TRACE(test::SeedText(seed));
    Compare(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace eris::tasks
