// Requests that are held because keys of an earlier one have moved: what ends them. AEUs are
// stepped by hand, and ranges move at once, so that a table says what is not so until the test
// publishes one.
#include "engine/core/send_order.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "tests/support/hand_engine.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace eris::engine {
namespace {

constexpr uint64_t kSentKeys = 600;

class SendOrderTest : public testing::Test {
 protected:
  SendOrderTest() : random_(test::Seed()) {
    object_ = engine_.While([&] {
      return test::Create(*engine_, "o", {.expected = {0, kSentKeys}});
    });
    moving_.emplace(engine_, random_, "o", test::MovingRanges::Options{.keys = kSentKeys});
    session_ = engine_->NewSession();
  }

  // A key that is not where the table says.
  uint64_t MoveAKeyAway() {
    const ObjectRef object = *engine_->core().catalogue.Find("o");
    for (;;) {
      moving_->MoveSome();
      for (uint64_t key = 0; key < kSentKeys; ++key) {
        aeu::Aeu& owner = engine_->aeu(object->route.Pin()->OwnerOf(key));
        if (aeu::AeuTestPeer::SlotOf(owner, object->route)->Find(key) == nullptr) return key;
      }
    }
  }
  uint64_t InFlight() { return engine_->core().in_flight.count(); }
  void StepFor(absl::Duration duration) {
    for (const absl::Time end = absl::Now() + duration; absl::Now() < end;) engine_.StepAll();
  }
  void Upsert(const std::vector<uint64_t>& keys, const std::vector<uint64_t>& values,
              Session::Callback done) {
    ASSERT_TRUE(session_->UpsertAsync(object_, keys, values, std::move(done)).ok());
  }
  // By the calling thread, while others step; nullopt: it is absent.
  std::optional<uint64_t> Look(uint64_t key) {
    uint64_t value = 0;
    uint8_t there = 0;
    EXPECT_TRUE(session_
                    ->Lookup(object_, absl::MakeConstSpan(&key, 1), absl::MakeSpan(&value, 1),
                             absl::MakeSpan(&there, 1))
                    .ok());
    return there != 0 ? std::optional(value) : std::nullopt;
  }
  std::optional<uint64_t> ValueOf(uint64_t key) {
    return engine_.While([&] { return Look(key); });
  }
  // Sends an upsert whose key has moved; its session holds what comes after it.
  void SendRefused(uint64_t key, uint64_t value, std::atomic<int>& ended, absl::Status& status) {
    Upsert({key}, {value}, [&](BatchResult result) {
      status = result.status;
      ended.fetch_add(1);
    });
    StepFor(absl::Milliseconds(5));
    ASSERT_EQ(ended.load(), 0);
  }

  std::mt19937_64 random_;
  test::HandEngine engine_{3};
  std::optional<test::MovingRanges> moving_;
  std::unique_ptr<Session> session_;
  Object object_;
};

TEST_F(SendOrderTest, WhatIsHeldGoesWhenATableSaysWhereItsKeysAre) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const uint64_t key = MoveAKeyAway();
  std::atomic<int> ended{0};
  absl::Status first, second;
  SendRefused(key, 1, ended, first);
  Upsert({key, kSentKeys + 1}, {2, 3}, [&](BatchResult result) {
    second = result.status;
    EXPECT_EQ(result.existed[0] & 1, 1) << "before the first";
    ended.fetch_add(1);
  });
  StepFor(absl::Milliseconds(5));
  EXPECT_EQ(ended.load(), 0);
  moving_->Publish();
  engine_.StepUntil([&] { return ended.load() == 2; });
  EXPECT_TRUE(first.ok() && second.ok()) << first << second;
  EXPECT_EQ(ValueOf(key), 2u);
}

TEST_F(SendOrderTest, ADeadlinePassesWhileACallIsHeld) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const uint64_t key = MoveAKeyAway();
  std::atomic<int> ended{0};
  absl::Status status;
  SendRefused(key, 1, ended, status);
  // Its columns are gone when the call returns.
  auto keys = std::make_unique<std::vector<uint64_t>>(1, key);
  EXPECT_TRUE(absl::IsDeadlineExceeded(
      session_->Erase(object_, *keys, {}, absl::Now() + absl::Milliseconds(20))));
  keys.reset();
  moving_->Publish();
  engine_.StepUntil([&] { return ended.load() == 1 && InFlight() == 0; });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(ValueOf(key).has_value()) << "the erase was given up";
}

TEST_F(SendOrderTest, ADropAnswersWhatIsHeld) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::atomic<int> ended{0};
  absl::Status first, second;
  const uint64_t key = MoveAKeyAway();
  SendRefused(key, 1, ended, first);
  const std::vector<uint64_t> keys{key};
  ASSERT_TRUE(session_
                  ->EraseAsync(object_, keys,
                               [&](BatchResult result) {
                                 second = result.status;
                                 ended.fetch_add(1);
                               })
                  .ok());
  EXPECT_TRUE(engine_.While([&] { return engine_->Drop("o"); }).ok());
  engine_.StepUntil([&] { return ended.load() == 2; });
  EXPECT_TRUE(absl::IsNotFound(first)) << first;
  EXPECT_TRUE(absl::IsNotFound(second)) << second;
}

TEST_F(SendOrderTest, TheSessionMayGoWhileItsCallsAreHeld) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::atomic<int> ended{0};
  absl::Status first, second;
  const uint64_t key = MoveAKeyAway();
  SendRefused(key, 1, ended, first);
  const std::vector<uint64_t> keys{key};
  const auto pending = session_->EraseAsync(object_, keys, [&](BatchResult result) {
    second = result.status;
    ended.fetch_add(1);
  });
  ASSERT_TRUE(pending.ok());
  session_.reset();
  (*pending)->Cancel(absl::CancelledError("not wanted"));
  moving_->Publish();
  engine_.StepUntil([&] { return ended.load() == 2 && InFlight() == 0; });
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(absl::IsCancelled(second)) << second;
}

// The completion thread is busy with the callback: what it waits for goes on without it.
TEST_F(SendOrderTest, ACallbackMayWaitForACallOfItsSession) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);
  moving_->While([&] {
    for (uint64_t round = 1; round <= 100; ++round) {
      std::atomic<bool> done{false};
      const uint64_t key = random() % kSentKeys;
      Upsert({key}, {round}, [&](BatchResult) {
        EXPECT_EQ(Look(key), round);
        done.store(true);
      });
      test::HandEngine::Await([&] { return done.load(); });
    }
  });
  moving_->Settle();
}

}  // namespace
}  // namespace eris::engine
