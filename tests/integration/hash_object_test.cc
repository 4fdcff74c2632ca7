// Hash objects through the embedding interface, with running AEUs: every operation against a map,
// small batches of many sessions, a drop under load, the memory limit, joins, and what is refused.
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
#include <tuple>
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
  options.balancer.enabled = false;  // counts miss rows that are under way
  auto engine = Engine::Open(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

bool Bit(const std::string& bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

class HashObjectTest : public testing::Test {
 protected:
  HashObjectTest() : random_(test::Seed()) {
    const auto info = engine_->Create("h", {.kind = ObjectKind::kHash, .expected = {0, 10'000}});
    EXPECT_TRUE(info.ok()) << info.status();
    session_ = engine_->NewSession();
  }
  uint64_t AnyKey() {
    switch (random_() % 8) {
      case 0:
        return kMaxKey - random_() % 3;
      case 1:
        return random_();
      case 2:
        return (random_() % 64) << 32;  // equal low bits
      default:
        return random_() % 10'000;
    }
  }
  void Fill(absl::string_view object, const std::map<uint64_t, uint64_t>& rows) {
    std::vector<uint64_t> keys, values;
    for (const auto& [key, value] : rows) keys.push_back(key), values.push_back(value);
    ASSERT_TRUE(session_->Upsert(object, keys, values).ok());
  }

  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_ = OpenOrDie();
  std::unique_ptr<Session> session_;
};

struct Answers {
  explicit Answers(size_t n) : values(n), existed(n), applied(n) {}
  std::vector<uint64_t> values;
  std::vector<uint8_t> existed, applied;
};

WriteMode ModeOf(Operation operation) {
  return static_cast<WriteMode>(static_cast<int>(operation) - 3);
}

absl::Status RunWaiting(Session& session, Operation operation, const std::vector<uint64_t>& keys,
                        const std::vector<uint64_t>& values, const std::vector<uint64_t>& expected,
                        Answers& answers) {
  switch (operation) {
    case Operation::kLookup:
      return session.Lookup("h", keys, absl::MakeSpan(answers.values),
                            absl::MakeSpan(answers.existed));
    case Operation::kUpsert:
      return session.Upsert("h", keys, values, absl::MakeSpan(answers.existed));
    case Operation::kErase:
      return session.Erase("h", keys, absl::MakeSpan(answers.existed));
    default:
      return session.Write("h", {ModeOf(operation), keys, values, expected},
                           {.applied = absl::MakeSpan(answers.applied),
                            .existed = absl::MakeSpan(answers.existed),
                            .values = absl::MakeSpan(answers.values)});
  }
}

absl::Status RunAsync(Session& session, Operation operation, const std::vector<uint64_t>& keys,
                      const std::vector<uint64_t>& values, const std::vector<uint64_t>& expected,
                      Answers& answers) {
  std::promise<BatchResult> promise;
  const auto done = [&](BatchResult result) { promise.set_value(std::move(result)); };
  absl::StatusOr<std::shared_ptr<Pending>> call;
  switch (operation) {
    case Operation::kLookup:
      call = session.LookupAsync("h", keys, done);
      break;
    case Operation::kUpsert:
      call = session.UpsertAsync("h", keys, values, done);
      break;
    case Operation::kErase:
      call = session.EraseAsync("h", keys, done);
      break;
    default:
      call = session.WriteAsync("h", {ModeOf(operation), keys, values, expected}, done);
      break;
  }
  if (!call.ok()) return call.status();
  const BatchResult result = promise.get_future().get();
  std::memcpy(answers.values.data(), result.values.data(), result.values.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    answers.existed[i] = Bit(result.present, i);
    if (IsConditional(operation)) answers.applied[i] = Bit(result.applied, i);
  }
  return result.status;
}

TEST_F(HashObjectTest, EveryOperationOnSeveralAeusAgreesWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::map<uint64_t, uint64_t> model;
  for (int round = 0; round < 600; ++round) {
    const size_t n = 1 + random_() % (round % 10 == 0 ? 3000 : 300);
    const auto operation = static_cast<Operation>(1 + random_() % 7);
    std::vector<uint64_t> keys(n), values(n), expected;
    for (size_t i = 0; i < n; ++i) {
      keys[i] = i > 0 && random_() % 5 == 0 ? keys[random_() % i] : AnyKey();
      values[i] = random_() % 5;
      if (operation == Operation::kCompareAndSet) expected.push_back(random_() % 5);
    }
    Answers answers(n);
    const absl::Status status = (round % 2 == 0 ? RunWaiting : RunAsync)(*session_, operation, keys,
                                                                         values, expected, answers);
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < n; ++i) {
      const bool there = model.contains(keys[i]);
      const test::ModelAnswer answer = test::RunOnModel(model, operation, keys[i], values[i],
                                                        expected.empty() ? 0 : expected[i]);
      ASSERT_EQ(answers.existed[i], there) << "round " << round << ", key " << i;
      if (answer.value) {
        ASSERT_EQ(answers.values[i], *answer.value);
      }
      if (!IsConditional(operation)) continue;
      const bool applied =
          operation == Operation::kAdd ||
          (operation == Operation::kInsertIfAbsent ? !there : answer.state == KeyState::kPresent);
      ASSERT_EQ(answers.applied[i], applied) << "round " << round << ", key " << i;
    }
  }
  const auto info = engine_->Describe("h");
  ASSERT_TRUE(info.ok());
  EXPECT_EQ(info->keys, model.size());
  EXPECT_EQ(info->kind, ObjectKind::kHash);
}

// Batches of a few keys, many under way: an AEU runs those of one turn as one batch.
TEST_F(HashObjectTest, SmallBatchesOfManySessionsAllTakeEffect) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr int kSessions = 4;
  constexpr int kBatches = 3000;
  constexpr uint64_t kCounters = 500;
  std::vector<std::vector<uint64_t>> added(kSessions, std::vector<uint64_t>(kCounters));
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kSessions; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(test::Seed() + static_cast<uint64_t>(t));
      const auto session = engine_->NewSession();
      std::atomic<int> under_way{0};
      for (int batch = 0; batch < kBatches; ++batch) {
        std::vector<uint64_t> keys, deltas;
        for (uint64_t i = random() % 3; keys.empty() || i > 0; i -= i > 0) {
          const uint64_t counter = random() % kCounters;
          keys.push_back(counter * 20);  // over all AEUs
          deltas.push_back(random() % 100);
          added[t][counter] += deltas.back();
        }
        while (under_way.load() >= 64) std::this_thread::yield();
        under_way.fetch_add(1);
        const auto done = [&](BatchResult result) {
          if (!result.status.ok()) failed.fetch_add(1);
          under_way.fetch_sub(1);
        };
        const auto call =
            batch % 4 == 0
                ? session->LookupAsync("h", keys, done)
                : session->WriteAsync(
                      "h", {.mode = WriteMode::kAdd, .keys = keys, .values = deltas}, done);
        if (batch % 4 == 0) {
          for (size_t i = 0; i < keys.size(); ++i) added[t][keys[i] / 20] -= deltas[i];
        }
        if (!call.ok()) failed.fetch_add(1), under_way.fetch_sub(1);
      }
      while (under_way.load() > 0) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(failed.load(), 0);
  std::vector<uint64_t> keys(kCounters), values(kCounters);
  std::vector<uint8_t> found(kCounters);
  for (uint64_t i = 0; i < kCounters; ++i) keys[i] = i * 20;
  ASSERT_TRUE(session_->Lookup("h", keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
  for (uint64_t i = 0; i < kCounters; ++i) {
    uint64_t sum = 0;
    for (const auto& of_session : added) sum += of_session[i];
    ASSERT_EQ(values[i], sum) << "counter " << i;
  }
}

TEST_F(HashObjectTest, ADropUnderLoadEndsEveryCallAndTheNameIsFree) {
  constexpr int kSessions = 3;
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> stop{false};
    std::atomic<int> strange{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kSessions; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(test::Seed() + static_cast<uint64_t>(t));
        const auto session = engine_->NewSession();
        std::atomic<int> under_way{0};
        while (!stop.load()) {
          std::vector<uint64_t> keys(1 + random() % 500);
          for (uint64_t& key : keys) key = random() % 20'000;
          while (under_way.load() >= 8) std::this_thread::yield();
          under_way.fetch_add(1);
          const auto done = [&](BatchResult result) {
            if (!result.status.ok() && !absl::IsNotFound(result.status)) strange.fetch_add(1);
            under_way.fetch_sub(1);
          };
          const auto call = random() % 2 == 0 ? session->UpsertAsync("h", keys, keys, done)
                                              : session->EraseAsync("h", keys, done);
          if (call.ok()) continue;
          under_way.fetch_sub(1);
          if (!absl::IsNotFound(call.status())) strange.fetch_add(1);
        }
        while (under_way.load() > 0) std::this_thread::yield();
      });
    }
    while (engine_->Describe("h")->keys < 5000) std::this_thread::yield();
    EXPECT_TRUE(engine_->Drop("h").ok());
    // Of the other kind now and then: what was meant for the hash never reaches it.
    const ObjectKind kind = round % 2 == 0 ? ObjectKind::kIndex : ObjectKind::kHash;
    EXPECT_TRUE(engine_->Create("h", {.kind = kind, .expected = {0, 10'000}}).ok());
    while (engine_->Describe("h")->keys < 5000) std::this_thread::yield();
    stop.store(true);
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(strange.load(), 0);
    EXPECT_EQ(engine_->Describe("h")->kind, kind);
    ASSERT_TRUE(engine_->Drop("h").ok());
    EXPECT_EQ(engine_->Memory().objects.size(), 0u);
    ASSERT_TRUE(engine_->Create("h", {.kind = ObjectKind::kHash, .expected = {0, 10'000}}).ok());
  }
}

TEST(HashObjectLimitTest, AtTheMemoryLimitNewKeysAreRefusedAndTheOthersServed) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const auto engine = OpenOrDie(uint64_t{16} << 20);
  ASSERT_TRUE(engine->Create("h", {.kind = ObjectKind::kHash}).ok());
  const auto session = engine->NewSession();
  std::mt19937_64 random(test::Seed());
  std::map<uint64_t, uint64_t> model;
  bool refused = false;
  for (int batch = 0; batch < 1000 && !refused; ++batch) {
    constexpr size_t kKeys = 10'000;
    std::vector<uint64_t> keys(kKeys);
    for (uint64_t& key : keys) key = random();
    Answers answers(kKeys);
    std::vector<uint8_t> executed(kKeys);
    const absl::Status status = session->Write("h", {WriteMode::kInsertIfAbsent, keys, keys, {}},
                                               {.executed = absl::MakeSpan(executed)});
    refused = !status.ok();
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    for (size_t i = 0; i < kKeys; ++i) {
      if (executed[i]) model[keys[i]] = keys[i];
    }
  }
  ASSERT_TRUE(refused);
  EXPECT_EQ(engine->Describe("h")->keys, model.size());
  std::vector<uint64_t> keys, values(1000);
  std::vector<uint8_t> found(1000);
  for (const auto& [key, value] : model) {
    keys.push_back(key);
    if (keys.size() < 1000) continue;
    ASSERT_TRUE(session->Lookup("h", keys, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
    ASSERT_EQ(values, keys);
    ASSERT_TRUE(session->Upsert("h", keys, keys).ok());  // what is there needs no memory
    keys.clear();
  }
}

TEST_F(HashObjectTest, ItIsTheInnerSideOfAJoin) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  ASSERT_TRUE(engine_->Create("outer", {.expected = {0, 50'000}}).ok());
  std::map<uint64_t, uint64_t> outer, inner;
  for (int i = 0; i < 30'000; ++i) outer[random_() % 50'000] = AnyKey();
  for (int i = 0; i < 20'000; ++i) inner[AnyKey()] = random_() % 1000;
  Fill("outer", outer);
  Fill("h", inner);
  using Joined = std::tuple<uint64_t, uint64_t, uint64_t>;
  for (const std::optional<KeyRange>& values :
       {std::optional<KeyRange>{}, std::optional<KeyRange>{{100, 400}}}) {
    std::vector<Joined> expected, joined;
    for (const auto& [key, value] : outer) {
      const auto row = inner.find(value);
      if (row == inner.end() || (values && !values->Contains(row->second))) continue;
      expected.emplace_back(key, value, row->second);
    }
    const auto join = session_->OpenJoin("outer", "h", {.range = {}, .inner_values = values});
    ASSERT_TRUE(join.ok()) << join.status();
    for (;;) {
      const auto chunk = (*join)->Next();
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (!*chunk) break;
      for (size_t i = 0; i < (*chunk)->values().size(); ++i) {
        joined.emplace_back((*chunk)->outer_keys()[i], (*chunk)->join_keys()[i],
                            (*chunk)->values()[i]);
      }
    }
    std::sort(joined.begin(), joined.end());
    ASSERT_FALSE(expected.empty());
    ASSERT_EQ(joined, expected);
  }
}

TEST_F(HashObjectTest, WhatNeedsKeyOrderIsRefusedByName) {
  ASSERT_TRUE(engine_->Create("i", {}).ok());
  const absl::Status scan = session_->OpenScan("h", {}).status();
  EXPECT_EQ(scan, absl::FailedPreconditionError(
                      "object \"h\" is a hash, which has no key order: it cannot be scanned"));
  EXPECT_EQ(session_->OpenJoin("h", "i", {}).status(),
            absl::FailedPreconditionError("object \"h\" is a hash, which has no key order: it "
                                          "cannot be the outer side of a join"));
  EXPECT_EQ(session_->OpenJoin("h", "h", {}).status().code(),
            absl::StatusCode::kFailedPrecondition);
  for (const bool count_only : {false, true}) {
    EXPECT_EQ(session_->Aggregate("h", {.count_only = count_only}).status(),
              absl::FailedPreconditionError(
                  "object \"h\" is a hash, which has no key order: it cannot be aggregated"));
  }
  EXPECT_EQ(
      session_->OpenScan("h", {.direction = ScanDirection::kBackward, .keys_only = true}).status(),
      scan);
  EXPECT_TRUE(session_->OpenJoin("i", "h", {}).ok());
  EXPECT_TRUE(session_->OpenScan("i", {}).ok());
}

TEST_F(HashObjectTest, ByteStringsAreRefusedAtCreationAndTheNameStaysFree) {
  EXPECT_EQ(
      engine_->Create("b", {.kind = ObjectKind::kHash, .value_type = ColumnType::kString}).status(),
      absl::InvalidArgumentError("kind is hash and value_type is bytes: a hash has values of "
                                 "u64, only an index byte strings"));
  EXPECT_TRUE(engine_->Create("b", {.value_type = ColumnType::kString}).ok());
  EXPECT_EQ(session_->UpsertBytes("h", {1}, {"one"}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(HashObjectTest, KindsAreShownAndUnknownOnesRefused) {
  EXPECT_EQ(engine_->Create("k", {.kind = static_cast<ObjectKind>(9)}).status(),
            absl::InvalidArgumentError("kind of object 9 is none of 1 (index), 2 (hash)"));
  ASSERT_TRUE(engine_->Create("i", {}).ok());
  const std::vector<ObjectInfo> objects = engine_->List();
  ASSERT_EQ(objects.size(), 2u);
  EXPECT_EQ(objects[0].kind, ObjectKind::kHash);
  EXPECT_EQ(objects[0].partition_starts.size(), kAeus);
  EXPECT_EQ(objects[1].kind, ObjectKind::kIndex);
  EXPECT_EQ(engine_->Stats().objects[0].kind, ObjectKind::kHash);
}

}  // namespace
}  // namespace eris
