// The watched list by hand, with times of the test's own; then finishing against expiring by
// threads, under the thread sanitizer too.
#include "server/guard/expiry_queue.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/guard/call_state.h"

namespace eris::server {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ExpiryRecorder final : public ExpiryQueue::Owner {
 public:
  void OnExpired(uint64_t tag) override { expired.push_back(tag); }
  std::vector<uint64_t> expired;
};

class ExpiryQueueTest : public ::testing::Test {
 protected:
  const ExpiryQueue::Clock::time_point start = ExpiryQueue::Clock::now();
  std::vector<ExpiryQueue::Clock::duration> armed;
  ExpiryQueue queue{milliseconds(640), [this](auto delay) { armed.push_back(delay); }};
  const std::shared_ptr<ExpiryRecorder> owner = std::make_shared<ExpiryRecorder>();
};

TEST_F(ExpiryQueueTest, ExpiresWhatIsDueInTheOrderOfItsBeginning) {
  ExpiryQueue::Watch a, b, c;
  a.Begin(queue, owner, 1, start);
  b.Begin(queue, owner, 2, start + milliseconds(10));
  c.Begin(queue, owner, 3, start + milliseconds(300));
  EXPECT_EQ(queue.Sweep(start + milliseconds(639)), milliseconds(10));  // not closer than a tick
  EXPECT_THAT(owner->expired, IsEmpty());
  EXPECT_EQ(queue.Sweep(start + milliseconds(650)), milliseconds(290));
  EXPECT_THAT(owner->expired, ElementsAre(1, 2));
  EXPECT_EQ(queue.Sweep(start + milliseconds(940)), std::nullopt);
  EXPECT_THAT(owner->expired, ElementsAre(1, 2, 3));
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(ExpiryQueueTest, ANewLimitIsForWhatIsWatchedToo) {
  ExpiryQueue::Watch a, b, c;
  a.Begin(queue, owner, 1, start);
  b.Begin(queue, owner, 2, start + milliseconds(100));
  queue.SetLimit(milliseconds(64));
  EXPECT_EQ(armed.back(), milliseconds(0));  // at once: some may be over
  EXPECT_EQ(queue.Sweep(start + milliseconds(70)), milliseconds(94));
  EXPECT_THAT(owner->expired, ElementsAre(1));
  queue.SetLimit(milliseconds(6400));
  EXPECT_EQ(queue.Sweep(start + milliseconds(200)), milliseconds(6300));
  c.Begin(queue, owner, 3, start + milliseconds(300));
  EXPECT_EQ(queue.Sweep(start + milliseconds(6500)), milliseconds(200));
  EXPECT_THAT(owner->expired, ElementsAre(1, 2));
}

TEST_F(ExpiryQueueTest, ALimitThatComesBackIsForWhatBeganWithoutOne) {
  ExpiryQueue::Watch a, b;
  a.Begin(queue, owner, 1, start);
  queue.SetLimit(milliseconds(0));
  EXPECT_EQ(queue.Sweep(start + milliseconds(10'000)), std::nullopt);
  EXPECT_THAT(owner->expired, IsEmpty());
  const size_t arms = armed.size();
  b.Begin(queue, owner, 2, start + milliseconds(9'500));
  EXPECT_EQ(armed.size(), arms);
  queue.SetLimit(milliseconds(640));
  EXPECT_EQ(armed.size(), arms + 1);
  EXPECT_EQ(queue.Sweep(start + milliseconds(10'000)), milliseconds(140));
  EXPECT_THAT(owner->expired, ElementsAre(1));
  EXPECT_EQ(queue.Sweep(start + milliseconds(10'140)), std::nullopt);
  EXPECT_THAT(owner->expired, ElementsAre(1, 2));
}

// A sweep that was planned for a long limit would be too late for a short one.
TEST_F(ExpiryQueueTest, AShorterLimitArmsForWhatBeginsAfterIt) {
  ExpiryQueue::Watch a, b;
  a.Begin(queue, owner, 1, start);
  a.End();
  EXPECT_EQ(armed.size(), 1u);
  queue.SetLimit(milliseconds(10));
  b.Begin(queue, owner, 2, start);
  ASSERT_EQ(armed.size(), 2u);
  EXPECT_EQ(armed.back(), milliseconds(10));
}

TEST_F(ExpiryQueueTest, EndedWatchIsNotExpiredAndLetsGoOfItsOwner) {
  ExpiryQueue::Watch oldest, middle, newest;
  oldest.Begin(queue, owner, 1, start);
  middle.Begin(queue, owner, 2, start);
  newest.Begin(queue, owner, 3, start);
  {
    ExpiryQueue::Watch destroyed;
    destroyed.Begin(queue, owner, 4, start);
  }
  middle.End();
  middle.End();
  EXPECT_EQ(queue.watched(), 2u);
  EXPECT_EQ(owner.use_count(), 3);
  queue.Sweep(start + milliseconds(640));
  EXPECT_THAT(owner->expired, ElementsAre(1, 3));
  newest.End();
  EXPECT_EQ(queue.watched(), 0u);
}

TEST_F(ExpiryQueueTest, WatchBegunAnewCountsFromThen) {
  ExpiryQueue::Watch watch;
  watch.Begin(queue, owner, 1, start);
  watch.Begin(queue, owner, 2, start + milliseconds(100));
  EXPECT_EQ(queue.watched(), 1u);
  queue.Sweep(start + milliseconds(700));
  EXPECT_THAT(owner->expired, IsEmpty());
  queue.Sweep(start + milliseconds(740));
  EXPECT_THAT(owner->expired, ElementsAre(2));
}

TEST_F(ExpiryQueueTest, CallsThatFollowOneAnotherArmOnceAndAnIdleQueueIsNotSwept) {
  for (int i = 0; i < 1000; ++i) {
    ExpiryQueue::Watch watch;
    watch.Begin(queue, owner, 1, start);
  }
  EXPECT_THAT(armed, ElementsAre(milliseconds(640)));
  EXPECT_EQ(queue.Sweep(start + milliseconds(640)), std::nullopt);
  EXPECT_EQ(armed.size(), 1u);
  ExpiryQueue::Watch watch;
  watch.Begin(queue, owner, 1, start + milliseconds(700));
  EXPECT_EQ(armed.size(), 2u);
}

TEST_F(ExpiryQueueTest, WithoutALimitNothingArmsAndNothingExpires) {
  ExpiryQueue unlimited(milliseconds(0), [](auto) { ADD_FAILURE() << "armed"; });
  ExpiryQueue::Watch watch;
  watch.Begin(unlimited, owner, 1, start);
  EXPECT_EQ(unlimited.Sweep(start + std::chrono::hours(1)), std::nullopt);
  EXPECT_THAT(owner->expired, IsEmpty());
  watch.End();
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_F(ExpiryQueueTest, OwnerMayBeginAndEndWatchesWhenItExpires) {
  struct Again final : ExpiryQueue::Owner {
    void OnExpired(uint64_t) override { again(); }
    std::function<void()> again;
  };
  const auto other = std::make_shared<Again>();
  ExpiryQueue::Watch first, second;
  other->again = [&] {
    first.End();
    second.Begin(queue, owner, 2, start + milliseconds(640));
  };
  first.Begin(queue, other, 1, start);
  queue.Sweep(start + milliseconds(640));
  EXPECT_EQ(queue.watched(), 1u);
  queue.Sweep(start + milliseconds(1280));
  EXPECT_THAT(owner->expired, ElementsAre(2));
}

// A call as the server has it: the finisher deletes its own part, with the watch in it, while the
// sweep may be telling the shared part. The winner writes to a plain field.
struct RacingCall final : ExpiryQueue::Owner {
  void OnExpired(uint64_t) override {
    if (state.TryCancel(absl::DeadlineExceededError("too long"))) answer = "expired";
  }
  CallState state;
  const char* answer = nullptr;
};

TEST(ExpiryQueueRaceTest, EveryCallIsAnsweredOnceWhetherItFinishesOrExpires) {
  constexpr int kThreads = 3;
  constexpr int kCalls = 3000;
  constexpr unsigned kSeed = 20240711;
  ExpiryQueue queue(milliseconds(1), [](auto) {});
  std::atomic<int> running{kThreads};
  std::atomic<int> finished{0}, expired{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(kSeed + static_cast<unsigned>(t));
      std::vector<std::pair<std::shared_ptr<RacingCall>, std::unique_ptr<ExpiryQueue::Watch>>> open;
      const auto finish = [&](size_t i) {
        std::swap(open[i], open.back());
        auto [call, watch] = std::move(open.back());
        open.pop_back();
        if (call->state.TryComplete()) {
          call->answer = "finished";
          finished.fetch_add(1);
        } else {
          expired.fetch_add(1);
        }
        watch.reset();
      };
      for (int i = 0; i < kCalls; ++i) {
        auto call = std::make_shared<RacingCall>();
        auto watch = std::make_unique<ExpiryQueue::Watch>();
        watch->Begin(queue, call);
        open.emplace_back(std::move(call), std::move(watch));
        if (open.size() > 16) finish(random() % open.size());
      }
      while (!open.empty()) finish(0);
      running.fetch_sub(1);
    });
  }
  // Time that runs ahead, so that both ends are common.
  while (running.load() > 0) {
    queue.Sweep(ExpiryQueue::Clock::now() + milliseconds(1));
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(finished.load() + expired.load(), kThreads * kCalls) << "seed " << kSeed;
  EXPECT_EQ(queue.watched(), 0u);
}

}  // namespace
}  // namespace eris::server
