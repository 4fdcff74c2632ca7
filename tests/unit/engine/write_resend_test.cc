// Conditional writes while ranges move between AEUs: keys are passed on, sent back and sent again,
// and each takes effect exactly once. AEUs are stepped by hand; ranges move between their turns.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "tests/support/hand_engine.h"
#include "tests/support/moving_ranges.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

constexpr uint32_t kAeus = 3;
constexpr uint64_t kKeys = 600;

class WriteResendTest : public testing::Test {
 protected:
  WriteResendTest() : random_(test::Seed()) {
    EXPECT_TRUE(
        engine_.While([&] {
                 return engine_->Create("o", {.expected = {0, kKeys}}).status();
               })
            .ok());
    moving_.emplace(engine_, random_, "o", test::MovingRanges::Options{.keys = kKeys});
    session_ = engine_->NewSession();
  }
  ~WriteResendTest() override { moving_->Settle(); }

  static std::vector<uint64_t> SomeKeys(std::mt19937_64& random, size_t keys_max) {
    std::vector<uint64_t> keys(1 + random() % keys_max);
    for (uint64_t& key : keys) key = random() % kKeys;
    return keys;
  }

  std::mt19937_64 random_;
  test::HandEngine engine_{kAeus};
  std::optional<test::MovingRanges> moving_;
  std::unique_ptr<Session> session_;
};

// Each add of 1 answers the new count: over all adds of a counter that is 1, 2, 3 ..., each once.
TEST_F(WriteResendTest, EveryAddCountsOnceAndNoTwoAnswerTheSameSum) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  struct Call {
    std::vector<uint64_t> keys;
    BatchResult result;
    std::atomic<bool> done{false};
  };
  std::vector<std::unique_ptr<Call>> calls;
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  moving_->While([&] {
    for (int i = 0; i < 400; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      call.keys = SomeKeys(random, 200);
      const std::vector<uint64_t> ones(call.keys.size(), 1);
      const WriteBatch adds{.mode = WriteMode::kAdd, .keys = call.keys, .values = ones};
      const auto pending = session_->WriteAsync("o", adds, [&call](BatchResult result) {
        call.result = std::move(result);
        call.done.store(true);
      });
      EXPECT_TRUE(pending.ok()) << pending.status();
    }
  });
  for (int i = 0; i < 2000; ++i) moving_->StepOne();
  moving_->Settle();
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
  std::map<uint64_t, std::multiset<uint64_t>> sums;
  for (const auto& call : calls) {
    test::HandEngine::Await([&] { return call->done.load(); });
    ASSERT_TRUE(call->result.status.ok()) << call->result.status;
    for (size_t i = 0; i < call->keys.size(); ++i) {
      uint64_t sum;
      std::memcpy(&sum, call->result.values.data() + 8 * i, 8);
      sums[call->keys[i]].insert(sum);
      ASSERT_TRUE(call->result.applied[i / 8] >> (i % 8) & 1);
      ASSERT_EQ(call->result.present[i / 8] >> (i % 8) & 1, sum > 1);
    }
  }
  for (const auto& [key, of_key] : sums) {
    uint64_t next = 1;
    for (const uint64_t sum : of_key) ASSERT_EQ(sum, next++) << "counter " << key;
  }
}

// The same through calls that wait, with every mode, against a map: one caller's writes of a key
// have one order.
TEST_F(WriteResendTest, WaitingCallsAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed() + 1);  // the caller's; random_ is the stepping thread's
  std::map<uint64_t, uint64_t> model;
  std::string error;
  moving_->While([&] {
    for (int round = 0; round < 300 && error.empty(); ++round) {
      // Some stand there more than once.
      std::vector<uint64_t> keys;
      for (uint64_t i = 1 + random() % 300; i > 0; --i) keys.push_back(random() % kKeys);
      const size_t n = keys.size();
      const auto mode = static_cast<WriteMode>(1 + random() % 4);
      std::vector<uint64_t> values(n), expected, values_out(n);
      for (uint64_t& value : values) value = random() % 3;
      if (mode == WriteMode::kCompareAndSet) {
        for (size_t i = 0; i < n; ++i) expected.push_back(random() % 3);
      }
      std::vector<uint8_t> applied(n), existed(n), executed(n);
      const absl::Status status = session_->Write("o", {mode, keys, values, expected},
                                                  {.applied = absl::MakeSpan(applied),
                                                   .existed = absl::MakeSpan(existed),
                                                   .values = absl::MakeSpan(values_out),
                                                   .executed = absl::MakeSpan(executed)});
      if (!status.ok()) error = status.ToString();
      for (size_t i = 0; i < n; ++i) {
        const auto row = model.find(keys[i]);
        const bool there = row != model.end();
        const uint64_t before = there ? row->second : 0;
        bool applies = true;
        uint64_t after = values[i], answer = before;
        switch (mode) {
          case WriteMode::kInsertIfAbsent:
            applies = !there;
            break;
          case WriteMode::kReplaceIfPresent:
            applies = there;
            break;
          case WriteMode::kCompareAndSet:
            applies = there && before == expected[i];
            break;
          case WriteMode::kAdd:
            answer = after = before + values[i];
            break;
        }
        if (applies) model[keys[i]] = after;
        if (applied[i] != applies || existed[i] != there || values_out[i] != answer ||
            executed[i] != 1) {
          error = "key " + std::to_string(keys[i]) + " in round " + std::to_string(round);
        }
      }
    }
  });
  EXPECT_EQ(error, "");
  EXPECT_GT(moving_->Sum(&RoutingStats::redirected), 0u);
}

}  // namespace
}  // namespace eris
