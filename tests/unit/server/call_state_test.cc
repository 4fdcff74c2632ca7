// The hand-over between completion, cancel and drain. Threads race over many short lives; run under
// the thread sanitizer, which is what these classes are separate from gRPC for.
#include "server/guard/call_state.h"

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

class CountingPending final : public Pending {
 public:
  void Cancel(absl::Status status) override {
    EXPECT_FALSE(status.ok());
    // relaxed: read after the threads have been joined.
    cancels.fetch_add(1, std::memory_order_relaxed);
  }
  std::atomic<int> cancels{0};
};

TEST(CallStateTest, CompletionWinsOnce) {
  CallState state;
  EXPECT_TRUE(state.TryComplete());
  EXPECT_FALSE(state.TryComplete());
  EXPECT_FALSE(state.TryCancel(absl::CancelledError("late")));
}

TEST(CallStateTest, CancelReachesARequestAttachedBefore) {
  CallState state;
  auto pending = std::make_shared<CountingPending>();
  state.Attach(pending);
  EXPECT_TRUE(state.TryCancel(absl::DeadlineExceededError("passed")));
  EXPECT_EQ(pending->cancels, 1);
  EXPECT_FALSE(state.TryComplete());
  EXPECT_FALSE(state.TryCancel(absl::UnavailableError("draining")));
  EXPECT_EQ(pending->cancels, 1);
}

TEST(CallStateTest, CancelReachesARequestAttachedAfter) {
  CallState state;
  auto pending = std::make_shared<CountingPending>();
  EXPECT_TRUE(state.TryCancel(absl::CancelledError("gone")));
  state.Attach(pending);
  EXPECT_EQ(pending->cancels, 1);
  EXPECT_EQ(pending.use_count(), 1);
}

TEST(CallStateTest, CompletedRequestIsLetGo) {
  CallState state;
  auto pending = std::make_shared<CountingPending>();
  state.Attach(pending);
  EXPECT_EQ(pending.use_count(), 2);
  EXPECT_TRUE(state.TryComplete());
  EXPECT_EQ(pending.use_count(), 1);
  EXPECT_EQ(pending->cancels, 0);
}

TEST(CallStateTest, RequestAttachedAfterItsCompletionIsLetGo) {
  CallState state;
  auto pending = std::make_shared<CountingPending>();
  EXPECT_TRUE(state.TryComplete());
  state.Attach(pending);
  EXPECT_EQ(pending.use_count(), 1);
  EXPECT_EQ(pending->cancels, 0);
}

// The winner writes to a plain field that stands for the reactor, as the threads race.
TEST(CallStateTest, ExactlyOneOfThreeAnswersAndTheRequestIsCancelledIfItLost) {
  constexpr int kLives = 2000;
  struct Call {
    CallState state;
    std::shared_ptr<CountingPending> pending = std::make_shared<CountingPending>();
    int answered_by = 0;  // no lock: exactly one may write it
    int answers = 0;
  };
  std::vector<std::shared_ptr<Call>> calls;
  for (int i = 0; i < kLives; ++i) calls.push_back(std::make_shared<Call>());
  const auto answer = [](Call& call, int who) {
    call.answered_by = who;
    ++call.answers;
  };
  const auto race = [&](auto&& body) {
    return std::thread([&calls, body] {
      for (auto& call : calls) body(*call);
    });
  };
  std::vector<std::thread> threads;
  threads.push_back(race([&](Call& call) { call.state.Attach(call.pending); }));
  threads.push_back(race([&](Call& call) {
    if (call.state.TryComplete()) answer(call, 1);
  }));
  threads.push_back(race([&](Call& call) {
    if (call.state.TryCancel(absl::CancelledError("client"))) answer(call, 2);
  }));
  threads.push_back(race([&](Call& call) {
    if (call.state.TryCancel(absl::UnavailableError("drain"))) answer(call, 3);
  }));
  for (std::thread& thread : threads) thread.join();
  for (auto& call : calls) {
    ASSERT_EQ(call->answers, 1);
    ASSERT_EQ(call->pending->cancels, call->answered_by == 1 ? 0 : 1);
    ASSERT_EQ(call->pending.use_count(), 1);
  }
}

}  // namespace
}  // namespace eris::server
