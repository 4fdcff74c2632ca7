#include "memory/system/failure_point.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace eris::memory {
namespace {

std::vector<bool> Ask(FailurePoint& point, int times) {
  std::vector<bool> answers;
  for (int i = 0; i < times; ++i) answers.push_back(point.Fires());
  return answers;
}

TEST(FailurePointTest, UnarmedItNeverFires) {
  FailurePoint point;
  EXPECT_EQ(Ask(point, 3), (std::vector<bool>{false, false, false}));
}

TEST(FailurePointTest, OnceFiresAtTheNthAndNeverAgain) {
  FailurePoint point;
  point.Arm(2, FailurePoint::Mode::kOnce);
  EXPECT_EQ(Ask(point, 4), (std::vector<bool>{false, true, false, false}));
}

TEST(FailurePointTest, FromThenFiresUntilDisarmed) {
  FailurePoint point;
  point.Arm(2, FailurePoint::Mode::kFromThen);
  EXPECT_EQ(Ask(point, 4), (std::vector<bool>{false, true, true, true}));
  point.Arm(0, FailurePoint::Mode::kOnce);
  EXPECT_EQ(Ask(point, 2), (std::vector<bool>{false, false}));
}

TEST(FailurePointTest, ThreadsTogetherSeeOneFailure) {
  FailurePoint point;
  point.Arm(500, FailurePoint::Mode::kOnce);
  std::atomic<int> fired{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) fired += point.Fires();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(fired, 1);
}

}  // namespace
}  // namespace eris::memory
