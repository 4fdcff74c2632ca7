// Conditional writes through the embedding interface, with running AEUs: against a map, by several
// sessions at once on the same keys, at the memory limit, and with input that is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "eris/engine.h"
#include "tests/support/seed.h"
#include "tests/support/write_model.h"

namespace eris {
namespace {

using storage::KeyState;
using storage::Operation;

constexpr uint64_t kMaxKey = std::numeric_limits<uint64_t>::max();
constexpr uint32_t kAeus = 4;

std::unique_ptr<Engine> OpenOrDie(uint64_t memory_limit_bytes = uint64_t{1} << 30) {
  Options options;
  options.topology = "numa:2 core:2 pu:1";
  options.aeu_count = kAeus;
  options.memory_limit_bytes = memory_limit_bytes;
  auto engine = Engine::Open(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

// The answers to one waiting call.
struct Answers {
  explicit Answers(size_t n, uint8_t before = 9)
      : applied(n, before), existed(n, before), executed(n, before), values(n, before) {}
  WriteColumns columns() {
    return {absl::MakeSpan(applied), absl::MakeSpan(existed), absl::MakeSpan(values),
            absl::MakeSpan(executed)};
  }
  std::vector<uint8_t> applied, existed, executed;
  std::vector<uint64_t> values;
};

Operation OperationOf(WriteMode mode) { return static_cast<Operation>(static_cast<int>(mode) + 3); }

bool Bit(const std::string& bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

class ConditionalWriteTest : public testing::Test {
 protected:
  ConditionalWriteTest() : random_(test::Seed()) {
    EXPECT_TRUE(engine_->Create("o", {.expected = {0, 10'000}}).ok());
    session_ = engine_->NewSession();
  }
  uint64_t AnyKey() {
    switch (random_() % 8) {
      case 0:
        return kMaxKey - random_() % 3;
      case 1:
        return random_();
      default:
        return random_() % 10'000;
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_ = OpenOrDie();
  std::unique_ptr<Session> session_;
};

// Waiting and asynchronous calls in turn; keys that stand twice in a batch are written in order.
TEST_F(ConditionalWriteTest, RandomBatchesAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::map<uint64_t, uint64_t> model;
  for (int round = 0; round < 400; ++round) {
    const size_t n = 1 + random_() % (round % 10 == 0 ? 3000 : 300);
    const auto mode = static_cast<WriteMode>(1 + random_() % 4);
    std::vector<uint64_t> keys(n), values(n), expected;
    for (size_t i = 0; i < n; ++i) {
      keys[i] = i > 0 && random_() % 5 == 0 ? keys[random_() % i] : AnyKey();
      values[i] = random_() % 5;
    }
    if (mode == WriteMode::kCompareAndSet) {
      for (size_t i = 0; i < n; ++i) expected.push_back(random_() % 5);
    }
    Answers answers(n);
    if (round % 2 == 0) {
      ASSERT_TRUE(session_->Write("o", {mode, keys, values, expected}, answers.columns()).ok());
    } else {
      std::promise<BatchResult> promise;
      ASSERT_TRUE(
          session_
              ->WriteAsync("o", {mode, keys, values, expected},
                           [&](BatchResult result) { promise.set_value(std::move(result)); })
              .ok());
      const BatchResult result = promise.get_future().get();
      ASSERT_TRUE(result.status.ok()) << result.status;
      ASSERT_EQ(result.values.size(), 8 * n);
      std::memcpy(answers.values.data(), result.values.data(), 8 * n);
      for (size_t i = 0; i < n; ++i) {
        answers.applied[i] = Bit(result.applied, i);
        answers.existed[i] = Bit(result.present, i);
        answers.executed[i] = Bit(result.executed, i);
      }
    }
    for (size_t i = 0; i < n; ++i) {
      const bool there = model.contains(keys[i]);
      const test::ModelAnswer answer = test::RunOnModel(
          model, OperationOf(mode), keys[i], values[i], expected.empty() ? 0 : expected[i]);
      const bool applied =
          mode == WriteMode::kAdd ||
          (mode == WriteMode::kInsertIfAbsent ? !there : answer.state == KeyState::kPresent);
      ASSERT_EQ(answers.applied[i], applied) << "round " << round << ", key " << i;
      ASSERT_EQ(answers.existed[i], there);
      ASSERT_EQ(answers.values[i], answer.value.value_or(0));
      ASSERT_EQ(answers.executed[i], 1);
    }
  }
  const auto info = engine_->Describe("o");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->keys, model.size());
}

// Adds from several sessions, waiting and not, with counters often twice in a batch.
TEST_F(ConditionalWriteTest, SessionsAddingToTheSameCountersLoseNothing) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr int kSessions = 4;
  constexpr uint64_t kCounters = 200;
  std::vector<std::vector<uint64_t>> added(kSessions, std::vector<uint64_t>(kCounters));
  std::vector<std::string> errors(kSessions);
  std::vector<std::thread> threads;
  for (int t = 0; t < kSessions; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(test::Seed() + static_cast<uint64_t>(t));
      const auto session = engine_->NewSession();
      std::atomic<int> under_way{0};
      std::atomic<bool> failed{false};
      for (int batch = 0; batch < 300; ++batch) {
        const size_t n = 1 + random() % 400;
        std::vector<uint64_t> keys(n), deltas(n);
        for (size_t i = 0; i < n; ++i) {
          const uint64_t counter = random() % kCounters;
          keys[i] = counter * 50;  // over all AEUs
          deltas[i] = random();    // wraps
          added[t][counter] += deltas[i];
        }
        const WriteBatch adds{.mode = WriteMode::kAdd, .keys = keys, .values = deltas};
        if (batch % 3 == 0) {
          const absl::Status status = session->Write("o", adds);
          if (!status.ok()) failed.store(true);
          continue;
        }
        while (under_way.load() >= 8) std::this_thread::yield();
        under_way.fetch_add(1);
        const auto call = session->WriteAsync("o", adds, [&](BatchResult result) {
          if (!result.status.ok()) failed.store(true);
          under_way.fetch_sub(1);
        });
        if (!call.ok()) {
          errors[t] = call.status().ToString();
          under_way.fetch_sub(1);
        }
      }
      while (under_way.load() > 0) std::this_thread::yield();
      if (failed.load()) errors[t] += " a batch failed";
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& error : errors) ASSERT_EQ(error, "");
  for (uint64_t counter = 0; counter < kCounters; ++counter) {
    uint64_t sum = 0;
    for (const auto& of_session : added) sum += of_session[counter];
    uint64_t value = 0;
    uint8_t found = 0;
    ASSERT_TRUE(session_->Lookup("o", {counter * 50}, {&value, 1}, {&found, 1}).ok());
    ASSERT_EQ(found, 1);
    ASSERT_EQ(value, sum) << "counter " << counter;
  }
}

// Each session increments by compare-and-set until it has its share: every swap saw the value that
// the one before it had left.
TEST_F(ConditionalWriteTest, CompareAndSetLoopsOfSeveralSessionsCountEverything) {
  constexpr int kSessions = 3;
  constexpr uint64_t kSwaps = 300;
  const std::vector<uint64_t> keys{7}, zero{0};
  ASSERT_TRUE(session_->Upsert("o", keys, zero).ok());
  std::vector<std::thread> threads;
  std::vector<uint64_t> swaps(kSessions);
  for (int t = 0; t < kSessions; ++t) {
    threads.emplace_back([&, t] {
      const auto session = engine_->NewSession();
      std::vector<uint64_t> seen{0};
      while (swaps[t] < kSwaps) {
        const std::vector<uint64_t> next{seen[0] + 1}, expected = seen;
        uint8_t applied = 0;
        if (!session
                 ->Write("o", {WriteMode::kCompareAndSet, keys, next, expected},
                         {.applied = {&applied, 1}, .values = absl::MakeSpan(seen)})
                 .ok()) {
          return;
        }
        if (applied == 0) continue;
        ++swaps[t];
        seen = next;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(swaps, std::vector<uint64_t>(kSessions, kSwaps));
  uint64_t value = 0;
  uint8_t found = 0;
  ASSERT_TRUE(session_->Lookup("o", keys, {&value, 1}, {&found, 1}).ok());
  EXPECT_EQ(value, kSessions * kSwaps);
}

TEST_F(ConditionalWriteTest, OfSeveralSessionsThatInsertAKeyOneWins) {
  constexpr int kSessions = 4;
  constexpr size_t kKeys = 5000;
  std::vector<uint64_t> keys(kKeys);
  for (size_t i = 0; i < kKeys; ++i) keys[i] = 2 * i;
  std::vector<Answers> answers(kSessions, Answers(kKeys));
  std::vector<std::thread> threads;
  for (int t = 0; t < kSessions; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<uint64_t> mine(kKeys, 100 + t);
      const auto session = engine_->NewSession();
      const absl::Status status =
          session->Write("o", {WriteMode::kInsertIfAbsent, keys, mine, {}}, answers[t].columns());
      EXPECT_TRUE(status.ok()) << status;
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<uint64_t> values(kKeys);
  std::vector<uint8_t> found(kKeys);
  ASSERT_TRUE(session_->Lookup("o", keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  for (size_t i = 0; i < kKeys; ++i) {
    int winners = 0;
    for (uint64_t t = 0; t < kSessions; ++t) {
      winners += answers[t].applied[i];
      ASSERT_EQ(answers[t].applied[i], values[i] == 100 + t);
      ASSERT_EQ(answers[t].values[i], answers[t].applied[i] ? 0 : values[i]);
    }
    ASSERT_EQ(winners, 1);
  }
}

// At the limit new counters are refused, and each key says so; counters that are there go on.
TEST(ConditionalWriteLimitTest, AtTheMemoryLimitEachKeyTellsWhetherItCounted) {
  const auto engine = OpenOrDie(uint64_t{16} << 20);
  ASSERT_TRUE(engine->Create("o", {}).ok());
  const auto session = engine->NewSession();
  std::mt19937_64 random(test::Seed());
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr size_t kKeys = 10'000;
  const std::vector<uint64_t> ones(kKeys, 1);
  std::map<uint64_t, uint64_t> model;
  bool refused = false;
  for (int batch = 0; batch < 1000 && !refused; ++batch) {
    std::vector<uint64_t> keys(kKeys);
    for (uint64_t& key : keys) key = random();
    for (size_t i = 0; i < kKeys; i += 10) {
      if (!model.empty()) keys[i] = model.lower_bound(random() / 2)->first;
    }
    Answers answers(kKeys);
    const absl::Status status =
        session->Write("o", {WriteMode::kAdd, keys, ones, {}}, answers.columns());
    refused = !status.ok();
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(answers.applied[i], answers.executed[i]);
      if (answers.executed[i]) {
        ASSERT_EQ(answers.values[i], ++model[keys[i]]);
      } else {
        ASSERT_TRUE(refused);
        ASSERT_FALSE(model.contains(keys[i]));
        ASSERT_EQ(answers.values[i], 0u);
      }
    }
    if (refused) {
      EXPECT_GT(std::count(answers.executed.begin(), answers.executed.end(), 0), 0);
      EXPECT_GT(std::count(answers.executed.begin(), answers.executed.end(), 1), 0);
    }
  }
  EXPECT_TRUE(refused);
}

TEST_F(ConditionalWriteTest, BadInputIsRefusedWithValueAndLimit) {
  const std::vector<uint64_t> one{1}, two{1, 2}, none;
  const auto refusal = [&](const WriteBatch& batch, const WriteColumns& out = {}) {
    const absl::Status status = session_->Write("o", batch, out);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    if (out.applied.empty()) {
      const auto started = session_->WriteAsync("o", batch, [](BatchResult) { FAIL(); });
      EXPECT_EQ(started.status(), status);
    }
    return std::string(status.message());
  };
  EXPECT_EQ(refusal({WriteMode::kAdd, two, one, none}),
            "as many values as keys are needed: 1 for 2 keys");
  EXPECT_EQ(refusal({WriteMode::kCompareAndSet, two, two, one}),
            "as many expected values as keys are needed: 1 for 2 keys");
  EXPECT_EQ(refusal({WriteMode::kCompareAndSet, two, two, none}),
            "as many expected values as keys are needed: 0 for 2 keys");
  EXPECT_EQ(refusal({WriteMode::kAdd, two, two, two}),
            "expected values belong to compare-and-set alone: 2 for another mode");
  EXPECT_EQ(refusal({static_cast<WriteMode>(0), two, two, none}), "write mode 0 is none of 1 to 4");
  EXPECT_EQ(refusal({static_cast<WriteMode>(5), two, two, none}), "write mode 5 is none of 1 to 4");
  EXPECT_EQ(refusal({WriteMode::kAdd, none, none, none}), "a batch needs at least one key");
  const std::vector<uint64_t> many(kBatchKeysMax + 1);
  EXPECT_EQ(refusal({WriteMode::kAdd, many, many, none}),
            "a batch has at most 1048576 keys, this one has 1048577");
  std::vector<uint8_t> column(3);
  EXPECT_EQ(refusal({WriteMode::kAdd, two, two, none}, {.applied = absl::MakeSpan(column)}),
            "as many applied bytes as keys are needed: 3 for 2 keys");
  EXPECT_EQ(session_->Write("none", {WriteMode::kAdd, two, two, none}).code(),
            absl::StatusCode::kNotFound);
  // Nothing has changed, and what was in the columns does not look like an answer.
  Answers answers(2);
  EXPECT_FALSE(session_->Write("none", {WriteMode::kAdd, two, two, none}, answers.columns()).ok());
  EXPECT_EQ(answers.executed, std::vector<uint8_t>(2, 0));
  EXPECT_EQ(answers.applied, std::vector<uint8_t>(2, 0));
  EXPECT_EQ(engine_->Describe("o")->keys, 0u);
}

}  // namespace
}  // namespace eris
