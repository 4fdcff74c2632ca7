// Deadlines of synchronous calls while the AEUs are held back: the caller goes, the AEUs answer
// into the request later, and it is freed by the last of them (the address sanitizer sees to that).
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

constexpr auto kDeadlineExceeded = absl::StatusCode::kDeadlineExceeded;

absl::Time Soon() { return absl::Now() + absl::Milliseconds(20); }

class DeadlineTest : public testing::Test {
 protected:
  DeadlineTest() {
    object_ = engine_.While([&] { return test::Create(*engine_, "o", {.expected = {0, 4000}}); });
    session_ = engine_->NewSession();
  }
  uint64_t InFlight() { return engine_->core().in_flight.count(); }

  // What was given up is let go on a thread of the engine.
  void AwaitNoneInFlight() {
    test::HandEngine::Await([&] { return InFlight() == 0; });
  }
  test::HandEngine engine_{4, [](Options& options) {
                             // Room for one batch of the tests, not for two.
                             options.session_in_flight_bytes_max = 60'000;
                           }};
  std::unique_ptr<Session> session_;
  Object object_;
};

TEST_F(DeadlineTest, DeadlineExpiresWhileAnAeuIsHeldBack) {
  std::vector<uint64_t> keys(1000), values(1000, 7), before(1000, 5);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = 4 * i;
  std::vector<uint8_t> found(1000, 9);
  EXPECT_EQ(
      session_->Lookup(object_, keys, absl::MakeSpan(values), absl::MakeSpan(found), Soon()).code(),
      kDeadlineExceeded);
  EXPECT_EQ(values, std::vector<uint64_t>(1000, 7));
  EXPECT_EQ(found, std::vector<uint8_t>(1000, 9));
  // The request lives on, and holds the session's bytes.
  EXPECT_EQ(InFlight(), 1u);
  EXPECT_EQ(session_->Upsert(object_, keys, before, {}, Soon()).code(),
            absl::StatusCode::kResourceExhausted);
  // Three AEUs answer, then the one that was held back; it frees the request.
  for (uint32_t i = 0; i < 3; ++i) engine_->aeu({i}).Step({});
  EXPECT_EQ(InFlight(), 1u);
  engine_->aeu({3}).Step({});
  AwaitNoneInFlight();
  EXPECT_EQ(found, std::vector<uint8_t>(1000, 9));
  // The bytes are back: the same batch goes through.
  EXPECT_TRUE(engine_.While([&] { return session_->Upsert(object_, keys, before); }).ok());
  EXPECT_TRUE(engine_
                  .While([&] {
                    return session_->Lookup(object_, keys, absl::MakeSpan(values),
                                            absl::MakeSpan(found));
                  })
                  .ok());
  EXPECT_EQ(values, before);
  EXPECT_EQ(InFlight(), 0u);
}

TEST_F(DeadlineTest, AWriteWhoseDeadlineExpiredIsDoneWhollyOrNotAtAllPerAeu) {
  const std::vector<uint64_t> keys{1, 1001, 2001, 3001}, values{1, 2, 3, 4};
  std::vector<uint8_t> existed(4, 9);
  EXPECT_EQ(session_->Upsert(object_, keys, values, absl::MakeSpan(existed), Soon()).code(),
            kDeadlineExceeded);
  EXPECT_EQ(existed, std::vector<uint8_t>(4, 0));
  while (engine_.StepAll()) {
  }
  AwaitNoneInFlight();
  // No AEU had begun, so the cancelled request changed nothing.
  EXPECT_TRUE(
      engine_.While([&] { return session_->Erase(object_, keys, absl::MakeSpan(existed)); }).ok());
  EXPECT_EQ(existed, std::vector<uint8_t>(4, 0));
}

TEST_F(DeadlineTest, AnAeuThatAnsweredInTimeHasDoneItsPart) {
  const std::vector<uint64_t> keys{1, 1001}, values{1, 2};
  std::vector<uint8_t> existed(2);
  std::atomic<bool> returned{false};
  std::thread caller([&] {
    EXPECT_EQ(session_->Upsert(object_, keys, values, {}, Soon()).code(), kDeadlineExceeded);
    returned.store(true);
  });
  test::HandEngine::Await([&] { return engine_->aeu({0}).Step({}); });
  caller.join();
  EXPECT_TRUE(returned.load());
  while (engine_.StepAll()) {
  }
  AwaitNoneInFlight();
  EXPECT_TRUE(
      engine_.While([&] { return session_->Erase(object_, keys, absl::MakeSpan(existed)); }).ok());
  EXPECT_EQ(existed[1], 0);  // existed[0]: depends on whether it ran before the deadline
}

TEST_F(DeadlineTest, ADeadlineThatHasPassedIsNotWaitedFor) {
  const std::vector<uint64_t> keys{1};
  EXPECT_EQ(session_->Erase(object_, keys, {}, absl::InfinitePast()).code(), kDeadlineExceeded);
  while (engine_.StepAll()) {
  }
  AwaitNoneInFlight();
}

TEST_F(DeadlineTest, TheSessionMayGoBeforeItsAnswers) {
  const std::vector<uint64_t> keys{1, 3000};
  EXPECT_EQ(session_->Upsert(object_, keys, keys, {}, Soon()).code(), kDeadlineExceeded);
  session_.reset();
  EXPECT_EQ(InFlight(), 1u);
  while (engine_.StepAll()) {
  }
  AwaitNoneInFlight();
}

TEST_F(DeadlineTest, ADropMeanwhileLeavesTheRequestItsObject) {
  const std::vector<uint64_t> keys{1, 3000};
  EXPECT_EQ(session_->Upsert(object_, keys, keys, {}, Soon()).code(), kDeadlineExceeded);
  EXPECT_TRUE(engine_.While([&] { return engine_->Drop("o"); }).ok());
  AwaitNoneInFlight();
}

}  // namespace
}  // namespace eris
