// Asynchronous batches: the callback runs once, whatever is cancelled when. AEUs are stepped by
// hand.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

struct Outcome {
  std::atomic<int> calls{0};
  BatchResult result;

  Session::Callback Callback() {
    return [this](BatchResult given) {
      result = std::move(given);
      calls.fetch_add(1);
    };
  }
};

class AsyncCallTest : public testing::Test {
 protected:
  AsyncCallTest() {
    object_ = engine_.While([&] { return test::Create(*engine_, "o", {.expected = {0, 2000}}); });
    session_ = engine_->NewSession();
  }
  void Settle() {
    engine_.StepUntil([&] { return engine_->core().in_flight.count() == 0; });
  }

  test::HandEngine engine_{2,
                           [](Options& options) { options.session_in_flight_bytes_max = 60'000; }};
  std::unique_ptr<Session> session_;
  Object object_;
  const std::vector<uint64_t> keys_{1, 1500};
};

TEST_F(AsyncCallTest, TheCallbackComesAfterTheLastAeuAndOnce) {
  Outcome outcome;
  ASSERT_TRUE(session_->UpsertAsync(object_, keys_, keys_, outcome.Callback()).ok());
  engine_->aeu({0}).Step({});
  EXPECT_EQ(outcome.calls.load(), 0);
  engine_->aeu({1}).Step({});
  test::HandEngine::Await([&] { return outcome.calls.load() > 0; });
  Settle();
  EXPECT_EQ(outcome.calls.load(), 1);
  EXPECT_TRUE(outcome.result.status.ok());
  EXPECT_EQ(outcome.result.count, 2u);
  EXPECT_EQ(outcome.result.existed, std::string(1, '\0'));
}

TEST_F(AsyncCallTest, CancelledBeforeAnyAeuHasBegunNothingChanges) {
  Outcome outcome;
  auto call = session_->UpsertAsync(object_, keys_, keys_, outcome.Callback());
  ASSERT_TRUE(call.ok());
  (*call)->Cancel(absl::DeadlineExceededError("late"));
  (*call)->Cancel(absl::CancelledError("again"));
  // Without any AEU: the caller hears at once.
  test::HandEngine::Await([&] { return outcome.calls.load() > 0; });
  EXPECT_EQ(outcome.result.status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(outcome.result.refused, 2u);
  EXPECT_EQ(engine_->core().in_flight.count(), 1u);
  call->reset();
  Settle();
  EXPECT_EQ(outcome.calls.load(), 1);
  std::vector<uint8_t> existed(2, 9);
  EXPECT_TRUE(
      engine_.While([&] { return session_->Erase(object_, keys_, absl::MakeSpan(existed)); }).ok());
  EXPECT_EQ(existed, std::vector<uint8_t>(2, 0));
}

TEST_F(AsyncCallTest, CancelledBetweenTwoAeusTheRequestEndsWithTheSecond) {
  Outcome outcome;
  auto call = session_->UpsertAsync(object_, keys_, keys_, outcome.Callback());
  ASSERT_TRUE(call.ok());
  engine_->aeu({0}).Step({});
  (*call)->Cancel(absl::CancelledError("enough"));
  test::HandEngine::Await([&] { return outcome.calls.load() > 0; });
  EXPECT_EQ(outcome.result.status.code(), absl::StatusCode::kCancelled);
  Settle();
  EXPECT_EQ(outcome.calls.load(), 1);
}

TEST_F(AsyncCallTest, CancelledAfterTheEndNothingMoreIsCalled) {
  Outcome outcome;
  auto call = session_->LookupAsync(object_, keys_, outcome.Callback());
  ASSERT_TRUE(call.ok());
  engine_.StepUntil([&] { return outcome.calls.load() > 0; });
  (*call)->Cancel(absl::CancelledError("too late"));
  Settle();
  EXPECT_TRUE(outcome.result.status.ok());
  EXPECT_EQ(outcome.calls.load(), 1);
}

TEST_F(AsyncCallTest, CancellingWhileAnswersComeCallsOnce) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  for (int round = 0; round < 300; ++round) {
    Outcome outcome;
    auto call = session_->UpsertAsync(object_, keys_, keys_, outcome.Callback());
    ASSERT_TRUE(call.ok()) << call.status();  // credit has come back
    std::atomic<bool> go{false};
    std::thread canceller([&, spins = random() % 2000] {
      while (!go.load()) sched_yield();
      for (uint64_t i = 0; i < spins; ++i) go.load();
      (*call)->Cancel(absl::CancelledError("race"));
    });
    go.store(true);
    engine_.StepUntil([&] { return outcome.calls.load() > 0; });
    canceller.join();
    Settle();
    call->reset();
    ASSERT_EQ(outcome.calls.load(), 1);
  }
}

TEST_F(AsyncCallTest, CreditComesBackThoughTheHandleIsKept) {
  std::vector<std::shared_ptr<Pending>> kept;
  const std::vector<uint64_t> keys(1000, 3);
  for (int round = 0; round < 5; ++round) {
    Outcome outcome;
    auto call = session_->LookupAsync(object_, keys, outcome.Callback());
    ASSERT_TRUE(call.ok()) << call.status();
    EXPECT_EQ(session_->LookupAsync(object_, keys, outcome.Callback()).status().code(),
              absl::StatusCode::kResourceExhausted);
    engine_.StepUntil([&] { return outcome.calls.load() > 0; });
    kept.push_back(*std::move(call));
  }
  Settle();
  engine_.Close();
  session_.reset();
  for (const auto& call : kept) call->Cancel(absl::CancelledError("after the end"));
}

TEST_F(AsyncCallTest, WhatFindsNoBufferWithinTheBoundIsRefused) {
  test::HandEngine engine{2, [](Options& options) { options.send_wait_ms_max = 1; }};
  const Object object = engine.While([&] {
    return test::Create(*engine, "o", {.expected = {0, 2000}});
  });
  auto session = engine->NewSession();
  const std::vector<uint64_t> keys(20'000, 5);  // more than AEU 0's half holds
  Outcome outcome;
  ASSERT_TRUE(session->LookupAsync(object, keys, outcome.Callback()).ok());
  engine.StepUntil([&] { return outcome.calls.load() > 0; });
  EXPECT_EQ(outcome.result.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_GT(outcome.result.refused, 0u);
  EXPECT_LT(outcome.result.refused, 20'000u);
}

TEST_F(AsyncCallTest, CloseCallsWhatIsOwed) {
  Outcome outcomes[10];
  for (Outcome& outcome : outcomes) {
    ASSERT_TRUE(session_->UpsertAsync(object_, keys_, keys_, outcome.Callback()).ok());
  }
  engine_.Close();
  for (Outcome& outcome : outcomes) EXPECT_EQ(outcome.calls.load(), 1);
  Outcome late;
  EXPECT_EQ(session_->UpsertAsync(object_, keys_, keys_, late.Callback()).status().code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(late.calls.load(), 0);
}

}  // namespace
}  // namespace eris
