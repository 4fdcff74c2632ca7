// The gate's clock is the test's own: nothing here waits.
#include "server/overload/queue_gate.h"

#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

class QueueGateTest : public ::testing::Test {
 protected:
  // Fills the gate up to `calls` under way, as far as it admits them.
  void Fill(size_t calls) {
    while (stays_.size() < calls) {
      QueueGate::Stay stay = gate_.TryEnter(now_);
      if (!stay) return;
      stay.Arrived();
      stays_.push_back(std::move(stay));
    }
  }
  // The oldest call is done; a new one comes, as in a server with more to do than it can.
  void Turn(QueueGate::Clock::duration later) {
    now_ += later;
    stays_.front().Done(now_);
    stays_.erase(stays_.begin());
  }
  // Keeps `calls` under way for `time`, with one done each `each`.
  void Run(size_t calls, QueueGate::Clock::duration time, QueueGate::Clock::duration each) {
    const auto end = now_ + time;
    while (now_ < end) {
      Turn(each);
      Fill(calls);
    }
  }

  QueueGate gate_{milliseconds(100)};
  QueueGate::Clock::time_point now_{std::chrono::hours(1)};
  std::vector<QueueGate::Stay> stays_;
};

TEST_F(QueueGateTest, GateThatHasSeenNothingAdmitsEverything) {
  Fill(100'000);
  EXPECT_EQ(stays_.size(), 100'000u);
  EXPECT_FALSE(gate_.Full());
}

TEST_F(QueueGateTest, CallsThatWouldWaitTooLongAreRefused) {
  Fill(2000);
  Run(2000, milliseconds(350), milliseconds(1));  // 1000 a second: 100 in a tenth of a second
  EXPECT_NEAR(gate_.limit(), 100, 2);
  EXPECT_FALSE(gate_.TryEnter(now_));
  EXPECT_TRUE(gate_.Full());
  // Those inside are served; then as many as wait a tenth of a second are admitted again.
  while (stays_.size() > 90) Turn(milliseconds(1));
  Fill(2000);
  EXPECT_NEAR(static_cast<double>(stays_.size()), 100, 2);
  // Twice as fast: twice as many.
  Run(2000, milliseconds(500), microseconds(500));
  EXPECT_NEAR(gate_.limit(), 200, 4);
}

TEST_F(QueueGateTest, SomeAreAlwaysAdmitted) {
  Fill(QueueGate::kCallsMin + 10);
  Run(QueueGate::kCallsMin + 10, milliseconds(300), milliseconds(90));
  EXPECT_EQ(gate_.limit(), QueueGate::kCallsMin);
  stays_.clear();
  Fill(1000);
  EXPECT_EQ(stays_.size(), QueueGate::kCallsMin);
}

TEST_F(QueueGateTest, StuckServerRefusesAndOpensAgain) {
  Fill(500);
  Run(500, milliseconds(300), milliseconds(1));
  now_ += milliseconds(200);
  EXPECT_FALSE(gate_.TryEnter(now_));  // little was done in this window
  EXPECT_EQ(gate_.limit(), QueueGate::kCallsMin);
  while (!stays_.empty()) Turn(microseconds(10));
  // While few calls are inside, the limit doubles in each window.
  for (int window = 0; window < 30; ++window) {
    now_ += QueueGate::kWindowMin;
    Fill(1);
    Turn(microseconds(10));
  }
  EXPECT_EQ(gate_.limit(), kNoLimit);
}

TEST_F(QueueGateTest, FullGateOpensWhenCallsOnlyKnock) {
  Fill(500);
  Run(500, milliseconds(300), milliseconds(10));
  ASSERT_TRUE(gate_.Full());
  stays_.clear();  // cancelled, all of them
  Fill(QueueGate::kCallsMin);
  ASSERT_TRUE(gate_.Full());
  now_ += QueueGate::kWindowMin;
  EXPECT_TRUE(gate_.TryEnter(now_));
}

TEST_F(QueueGateTest, CallsThatWaitForTheirTurnToBeReadCount) {
  std::vector<QueueGate::Stay> arriving;
  const auto fill = [&] {
    while (arriving.size() < 2000) {
      QueueGate::Stay stay = gate_.TryEnter(now_);
      if (!stay) return;
      arriving.push_back(std::move(stay));
    }
  };
  // Each is read, and done at once: 1000 a second.
  for (int i = 0; i < 3000; ++i) {
    fill();
    now_ += milliseconds(1);
    arriving.front().Arrived();
    arriving.front().Done(now_);
    arriving.erase(arriving.begin());
  }
  // Those of the beginning, when the rate was not known, have been served.
  EXPECT_NEAR(gate_.limit(), 100, 2);
  EXPECT_NEAR(static_cast<double>(arriving.size()), 100, 10);
}

TEST_F(QueueGateTest, RequestsThatNeverArriveDoNotCloseTheGate) {
  std::vector<QueueGate::Stay> half;
  for (int i = 0; i < 10'000; ++i) half.push_back(gate_.TryEnter(now_));
  EXPECT_EQ(gate_.inside(), 10'000u);
  // An honest client with one call at a time.
  for (int window = 0; window < 5; ++window) {
    now_ += QueueGate::kWindowMin;
    if (QueueGate::Stay stay = gate_.TryEnter(now_)) {
      stay.Arrived();
      stay.Done(now_);
    }
  }
  EXPECT_LT(gate_.inside(), 10u);
  for (int i = 0; i < 50; ++i) {
    now_ += milliseconds(10);
    QueueGate::Stay stay = gate_.TryEnter(now_);
    ASSERT_TRUE(stay);
    stay.Arrived();
    stay.Done(now_);
  }
  half.clear();
  EXPECT_EQ(gate_.inside(), 0u);
}

TEST_F(QueueGateTest, CancelledCallsDoNotCountInTheRate) {
  Fill(2000);
  for (int i = 0; i < 4; ++i) {
    Run(2000, milliseconds(110), milliseconds(1));
    stays_.resize(stays_.size() - 300);
  }
  Run(2000, milliseconds(110), milliseconds(1));
  EXPECT_NEAR(gate_.limit(), 100, 2);
}

TEST_F(QueueGateTest, RequestsOfStreamsCountAndAreNotRefused) {
  Fill(500);
  Run(500, milliseconds(300), milliseconds(1));
  ASSERT_TRUE(gate_.Full());
  const uint64_t before = gate_.inside();
  const QueueGate::Stay stay = gate_.Enter();
  EXPECT_TRUE(stay);
  EXPECT_EQ(gate_.inside(), before + 1);
}

TEST(QueueGateOffTest, WaitOfZeroAdmitsEverythingAndCountsNothing) {
  QueueGate gate(milliseconds(0));
  EXPECT_FALSE(gate.refuses());
  EXPECT_FALSE(gate.Full());
  EXPECT_FALSE(gate.Enter());
  EXPECT_EQ(gate.inside(), 0u);
}

TEST_F(QueueGateTest, AnotherWaitCountsFromTheNextWindowOn) {
  Fill(2000);
  Run(2000, milliseconds(350), milliseconds(1));  // 1000 a second
  EXPECT_NEAR(gate_.limit(), 100, 2);
  gate_.SetWaitMax(milliseconds(200), now_);
  EXPECT_EQ(gate_.wait_max(), milliseconds(200));
  Run(2000, milliseconds(500), milliseconds(1));
  EXPECT_NEAR(gate_.limit(), 200, 4);
}

TEST_F(QueueGateTest, AGateThatRefusesAgainMeasuresAnew) {
  Fill(2000);
  Run(2000, milliseconds(350), milliseconds(1));
  EXPECT_FALSE(gate_.TryEnter(now_));
  gate_.SetWaitMax(milliseconds(0), now_);
  EXPECT_FALSE(gate_.Full());
  stays_.clear();
  EXPECT_EQ(gate_.inside(), 0u);
  now_ += std::chrono::hours(1);
  gate_.SetWaitMax(milliseconds(100), now_);
  EXPECT_EQ(gate_.limit(), kNoLimit);
  Fill(500);
  EXPECT_EQ(stays_.size(), 500u) << "the hour before has no rate";
  Run(500, milliseconds(350), milliseconds(1));
  EXPECT_NEAR(gate_.limit(), 100, 2);
}

TEST(QueueGateThreadsTest, NothingStaysUnderWay) {
  QueueGate gate(milliseconds(1));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&gate] {
      for (int i = 0; i < 20'000; ++i) {
        std::vector<QueueGate::Stay> stays;
        for (int calls = 0; calls < 40; ++calls) stays.push_back(gate.TryEnter());
        for (size_t call = 0; call < stays.size(); ++call) {
          if (call % 3 == 0) continue;  // cancelled
          if (call % 3 == 1) stays[call].Arrived();
          stays[call].Done();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gate.inside(), 0u);
  EXPECT_GE(gate.limit(), QueueGate::kCallsMin);
}

}  // namespace
}  // namespace eris::server
