#include "server/state/control_executor.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

// An executor with one thread, which waits for the test.
class ControlExecutorTest : public ::testing::Test {
 protected:
  ControlExecutorTest() {
    EXPECT_TRUE(executor_.TryPost("first", [this] {
      begun_.set_value();
      go_.get_future().wait();
    }));
    begun_.get_future().wait();
  }
  // Lets it run until all is done.
  void Go() {
    EXPECT_TRUE(executor_.TryPost("last", [] {}));
    go_.set_value();
    for (int i = 0; i < 20'000 && done_.load() < posted_; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  bool Post(const std::string& client) {
    const bool taken = executor_.TryPost(client, [this, client] {
      order_.push_back(client);
      done_.fetch_add(1);
    });
    if (taken) ++posted_;
    return taken;
  }

  std::vector<std::string> order_;  // written by the executor's one thread
  std::atomic<int> done_{0};
  int posted_ = 0;
  std::promise<void> begun_;
  std::promise<void> go_;
  ControlExecutor executor_{1};
};

TEST_F(ControlExecutorTest, ClientsTakeTurns) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Post("busy"));
  EXPECT_TRUE(Post("calm"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Post("third"));
  Go();
  ASSERT_EQ(done_.load(), 6);
  EXPECT_EQ(order_, (std::vector<std::string>{"busy", "calm", "third", "busy", "third", "busy"}));
}

TEST_F(ControlExecutorTest, QueueIsSharedBetweenClients) {
  uint32_t busy = 0;
  while (Post("busy")) ++busy;
  EXPECT_EQ(busy, ControlExecutor::kWaitingMax / 2);
  EXPECT_TRUE(Post("calm"));
  Go();
  ASSERT_EQ(done_.load(), static_cast<int>(busy) + 1);
  EXPECT_EQ(order_[1], "calm");
}

}  // namespace
}  // namespace eris::server
