// Byte-string values through the embedding interface, with running AEUs: against a map, at every
// limit, and where requests end before their AEUs do (the address sanitizer sees what is freed too
// early).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using testing::HasSubstr;

constexpr uint32_t kAeus = 4;
constexpr uint64_t kKeys = 10'000;

std::unique_ptr<Engine> OpenOrDie(uint64_t memory_limit_bytes = uint64_t{1} << 30) {
  Options options;
  options.topology = "numa:2 core:2 pu:1";
  options.aeu_count = kAeus;
  options.memory_limit_bytes = memory_limit_bytes;
  auto engine = Engine::Open(options);
  EXPECT_TRUE(engine.ok()) << engine.status();
  return engine.ok() ? *std::move(engine) : nullptr;
}

std::vector<absl::string_view> Views(const std::vector<std::string>& strings) {
  return {strings.begin(), strings.end()};
}

bool Bit(const std::string& bits, size_t i) { return (bits[i / 8] >> (i % 8) & 1) != 0; }

// The strings of an asynchronous answer.
std::vector<std::string> StringsOf(const BatchResult& result) {
  std::vector<uint32_t> offsets(result.offsets.size() / sizeof(uint32_t));
  std::memcpy(offsets.data(), result.offsets.data(), result.offsets.size());
  std::vector<std::string> strings;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) {
    strings.push_back(result.values.substr(offsets[i], offsets[i + 1] - offsets[i]));
  }
  return strings;
}

class BytesTest : public testing::Test {
 protected:
  explicit BytesTest(uint64_t limit = uint64_t{1} << 30)
      : random_(test::Seed()), engine_(OpenOrDie(limit)) {
    EXPECT_TRUE(
        engine_->Create("b", {.expected = {0, kKeys}, .value_type = ColumnType::kString}).ok());
    EXPECT_TRUE(engine_->Create("u", {.expected = {0, kKeys}}).ok());
    session_ = engine_->NewSession();
  }
  std::string Value(size_t size) {
    std::string value(size, '\0');
    uint64_t draw = random_();
    for (char& c : value) c = static_cast<char>(draw = draw * 6364136223846793005u + 1);
    return value;
  }
  std::string AnyValue() {
    constexpr size_t kSizes[] = {0, 1, 7, 8, 63, 64, 4095};
    const uint64_t kind = random_() % 16;
    if (kind < std::size(kSizes)) return Value(kSizes[kind]);
    return Value(random_() % (kind == 15 ? 20'000 : 200));
  }
  void Put(const std::vector<uint64_t>& keys, const std::vector<std::string>& values) {
    std::vector<uint8_t> existed(keys.size(), 9);
    const absl::Status status =
        session_->UpsertBytes("b", keys, Views(values), absl::MakeSpan(existed));
    ASSERT_TRUE(status.ok()) << status;
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(existed[i] != 0, model_.contains(keys[i]));
      model_[keys[i]] = values[i];
    }
  }
  void ExpectValues(const std::vector<uint64_t>& keys) {
    BytesColumn values;
    std::vector<uint8_t> found(keys.size(), 9);
    const absl::Status status = session_->LookupBytes("b", keys, values, absl::MakeSpan(found));
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(values.size(), keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto wanted = model_.find(keys[i]);
      ASSERT_EQ(found[i] != 0, wanted != model_.end());
      ASSERT_EQ(values[i], wanted == model_.end() ? "" : wanted->second) << "key " << keys[i];
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  std::map<uint64_t, std::string> model_;
};

TEST_F(BytesTest, RandomBatchesAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (int round = 0; round < 60; ++round) {
    const size_t n = round % 10 == 9 ? 5000 : 1 + random_() % 300;
    std::vector<uint64_t> keys;
    std::vector<std::string> values;
    for (size_t i = 0; i < n; ++i) {
      keys.push_back(random_() % 20 == 0 ? ~(random_() % 3) : random_() % kKeys);
      values.push_back(AnyValue());
    }
    if (round % 3 == 2) {
      ASSERT_TRUE(session_->Erase("b", keys).ok());
      for (const uint64_t key : keys) model_.erase(key);
    } else {
      Put(keys, values);
    }
    ExpectValues(keys);
  }
  EXPECT_EQ(engine_->Describe("b")->value_type, ColumnType::kString);
  EXPECT_EQ(*session_->ValueTypeOf("b"), ColumnType::kString);
  EXPECT_EQ(*session_->ValueTypeOf("u"), ColumnType::kUint64);
}

// An AEU with several ranges sorts a command's keys into copies; answers find their places all the
// same.
TEST_F(BytesTest, AeusWithSeveralRanges) {
  ASSERT_TRUE(engine_->Drop("b").ok());
  CreateOptions options{.value_type = ColumnType::kString};
  for (uint64_t point = 500; point < kKeys; point += 500) options.split_points.push_back(point);
  ASSERT_TRUE(engine_->Create("b", options).ok());
  std::vector<uint64_t> keys;
  std::vector<std::string> values;
  for (int i = 0; i < 5000; ++i) {
    keys.push_back(random_() % kKeys);
    values.push_back(AnyValue());
  }
  Put(keys, values);
  std::shuffle(keys.begin(), keys.end(), random_);
  ExpectValues(keys);
}

TEST_F(BytesTest, LargestValueComesBack) {
  Put({1, 9999}, {Value(kValueBytesMax), Value(kValueBytesMax)});
  ExpectValues({1, 2, 9999});
}

TEST_F(BytesTest, ConditionalWritesAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (int round = 0; round < 90; ++round) {
    const auto mode = static_cast<WriteMode>(1 + round % 3);
    std::vector<uint64_t> keys;
    std::vector<std::string> values, expected;
    for (size_t i = 1 + random_() % 200; i > 0; --i) {
      keys.push_back(random_() % 300 * 33);
      values.push_back(AnyValue());
      const auto there = model_.find(keys.back());
      expected.push_back(there != model_.end() && random_() % 2 ? there->second : AnyValue());
    }
    if (mode != WriteMode::kCompareAndSet) expected.clear();
    const size_t n = keys.size();
    const auto value_views = Views(values);
    const auto expected_views = Views(expected);
    const BytesWriteBatch batch{mode, keys, value_views, expected_views};
    std::vector<uint8_t> applied(n, 9), existed(n, 9), executed(n, 9);
    std::vector<std::string> answers;
    if (round % 2 == 0) {
      BytesColumn column;
      const absl::Status status = session_->WriteBytes(
          "b", batch,
          {absl::MakeSpan(applied), absl::MakeSpan(existed), absl::MakeSpan(executed), &column});
      ASSERT_TRUE(status.ok()) << status;
      for (size_t i = 0; i < n; ++i) answers.emplace_back(column[i].data(), column[i].size());
    } else {
      std::promise<BatchResult> promise;
      ASSERT_TRUE(
          session_
              ->WriteBytesAsync("b", batch, [&](BatchResult r) { promise.set_value(std::move(r)); })
              .ok());
      const BatchResult result = promise.get_future().get();
      ASSERT_TRUE(result.status.ok()) << result.status;
      for (size_t i = 0; i < n; ++i) {
        applied[i] = Bit(result.applied, i);
        existed[i] = Bit(result.present, i);
        executed[i] = Bit(result.executed, i);
      }
      answers = StringsOf(result);
    }
    ASSERT_EQ(answers.size(), n);
    for (size_t i = 0; i < n; ++i) {
      const auto there = model_.find(keys[i]);
      const bool was = there != model_.end();
      bool writes = was == (mode != WriteMode::kInsertIfAbsent);
      if (was && mode == WriteMode::kCompareAndSet) writes = there->second == expected[i];
      EXPECT_EQ(executed[i], 1);
      EXPECT_EQ(existed[i], was);
      EXPECT_EQ(applied[i], writes) << "mode " << static_cast<int>(mode) << " key " << keys[i];
      EXPECT_EQ(answers[i], was ? there->second : "");
      if (writes) model_[keys[i]] = values[i];
    }
  }
  std::vector<uint64_t> all;
  for (uint64_t i = 0; i < 300; ++i) all.push_back(i * 33);
  ExpectValues(all);
}

TEST_F(BytesTest, LimitsAreRefusedByNameAndValue) {
  const std::string too_long(kValueBytesMax + 1, 'x');
  absl::Status status = session_->UpsertBytes("b", {7, 8}, {"short", too_long});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      testing::AllOf(HasSubstr("value 1, of key 8"), HasSubstr("1048577"), HasSubstr("1048576")));
  const std::string largest(kValueBytesMax, 'x');
  std::vector<uint64_t> keys(33);
  std::iota(keys.begin(), keys.end(), 0);
  status = session_->UpsertBytes("b", keys, std::vector<absl::string_view>(33, largest));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("value 32, of key 32"), HasSubstr("33554432")));
  EXPECT_EQ(session_->UpsertBytes("b", {1}, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->WriteBytes("b", {WriteMode::kAdd, keys, {}}).code(),
            absl::StatusCode::kInvalidArgument);
  ExpectValues(keys);  // nothing was written
}

TEST_F(BytesTest, FormsThatAreNotTheObjectsAreRefused) {
  std::vector<uint64_t> keys{1}, values{2};
  std::vector<uint8_t> found{0};
  BytesColumn column;
  const auto expect = [](const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_THAT(std::string(status.message()),
                testing::AllOf(HasSubstr("byte strings"), HasSubstr("u64")));
  };
  expect(session_->Lookup("b", keys, absl::MakeSpan(values), absl::MakeSpan(found)));
  expect(session_->Upsert("b", keys, values));
  expect(session_->Write("b", {WriteMode::kAdd, keys, values}));
  expect(session_->LookupAsync("b", keys, [](BatchResult) {}).status());
  expect(session_->LookupBytes("u", keys, column, absl::MakeSpan(found)));
  expect(session_->UpsertBytes("u", keys, {"x"}));
  expect(session_->WriteBytes("u", {WriteMode::kInsertIfAbsent, keys, {"x"}}));
  expect(session_->OpenScan("b", {.values = ValueRange{}}).status());
  expect(session_->Aggregate("b", {}).status());
  expect(session_->OpenJoin("b", "u", {}).status());
  expect(session_->OpenJoin("u", "b", {}).status());
}

TEST_F(BytesTest, AnswersBeyondTheLimitAreAskedForAgain) {
  std::vector<uint64_t> keys(40);
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = i * 250;
  for (const uint64_t key : keys) Put({key}, {Value(kValueBytesMax)});
  std::vector<uint64_t> left = keys;
  int rounds = 0;
  while (!left.empty()) {
    ASSERT_LT(++rounds, 10);
    BytesColumn values;
    std::vector<uint8_t> found(left.size()), executed(left.size());
    const absl::Status status =
        session_->LookupBytes("b", left, values, absl::MakeSpan(found), absl::MakeSpan(executed));
    EXPECT_EQ(status.ok(), rounds == 2) << status;
    std::vector<uint64_t> again;
    for (size_t i = 0; i < left.size(); ++i) {
      if (!executed[i]) {
        EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
        EXPECT_EQ(values[i], "");
        again.push_back(left[i]);
        continue;
      }
      ASSERT_TRUE(found[i]);
      ASSERT_EQ(values[i], model_[left[i]]);
    }
    ASSERT_LT(again.size(), left.size());
    left = again;
  }
  EXPECT_EQ(rounds, 2);
  // Less room, as for a client with smaller messages.
  std::promise<BatchResult> promise;
  ASSERT_TRUE(session_
                  ->LookupBytesAsync("b", keys, 2 * (kValueBytesMax + 8),
                                     [&](BatchResult r) { promise.set_value(std::move(r)); })
                  .ok());
  const BatchResult result = promise.get_future().get();
  EXPECT_EQ(result.status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("38 of 40"));
  EXPECT_EQ(result.refused, 38u);
}

TEST_F(BytesTest, ScansGiveTheStringsInOrder) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::vector<uint64_t> keys;
  std::vector<std::string> values;
  for (int i = 0; i < 4000; ++i) {
    keys.push_back(random_() % kKeys);
    values.push_back(AnyValue());
  }
  Put(keys, values);
  Put({5, 5000, 9990}, {Value(kValueBytesMax), Value(kValueBytesMax), Value(kValueBytesMax)});
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    auto scan = session_->OpenScan("b", {.direction = direction});
    ASSERT_TRUE(scan.ok()) << scan.status();
    std::vector<std::pair<uint64_t, std::string>> got;
    for (;;) {
      auto chunk = (*scan)->Next();
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (!*chunk) break;
      EXPECT_TRUE((*chunk)->values().empty());
      for (size_t i = 0; i < (*chunk)->keys().size(); ++i) {
        const absl::string_view one = (*chunk)->bytes(i);
        got.emplace_back((*chunk)->keys()[i], std::string(one.data(), one.size()));
      }
      // The rows change under way: what a chunk shows is its own.
      ASSERT_TRUE(session_->UpsertBytes("b", {keys[0]}, {model_[keys[0]]}).ok());
    }
    if (direction == ScanDirection::kBackward) std::reverse(got.begin(), got.end());
    ASSERT_EQ(got.size(), model_.size());
    ASSERT_TRUE(std::equal(
        got.begin(), got.end(), model_.begin(),
        [](const auto& a, const auto& b) { return a.first == b.first && a.second == b.second; }));
  }
  auto scan = session_->OpenScan("b", {.limit = 3, .keys_only = true});
  auto chunk = (*scan)->Next();
  ASSERT_TRUE(chunk.ok() && *chunk);
  EXPECT_EQ((*chunk)->keys()[0], model_.begin()->first);
  EXPECT_EQ((*chunk)->bytes(0), "");
  EXPECT_EQ(session_->Aggregate("b", {.count_only = true})->count, model_.size());
}

// A reader that keeps a chunk while its rows go away and the object is dropped.
TEST_F(BytesTest, ChunkOutlivesItsRows) {
  std::vector<uint64_t> keys(2000);
  std::iota(keys.begin(), keys.end(), 0);
  const std::string value = Value(400);
  ASSERT_TRUE(session_->UpsertBytes("b", keys, std::vector<absl::string_view>(2000, value)).ok());
  auto scan = session_->OpenScan("b", {});
  auto chunk = (*scan)->Next();
  ASSERT_TRUE(chunk.ok() && *chunk);
  ASSERT_TRUE(session_->Erase("b", keys).ok());
  ASSERT_TRUE(engine_->Drop("b").ok());
  for (size_t i = 0; i < (*chunk)->keys().size(); ++i) ASSERT_EQ((*chunk)->bytes(i), value);
}

TEST_F(BytesTest, RequestsThatEndEarlyLeaveNothingBehind) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::vector<uint64_t> keys(2000);
  std::vector<std::string> values;
  for (size_t i = 0; i < keys.size(); ++i) {
    keys[i] = i * 5;
    values.push_back(Value(2000));
  }
  Put(keys, values);
  std::atomic<int> done{0};
  int started = 0;
  for (int round = 0; round < 100; ++round) {
    const auto count_done = [&](BatchResult) { done.fetch_add(1); };
    auto pending = round % 2 == 0
                       ? session_->LookupBytesAsync("b", keys, kBatchValueBytesMax, count_done)
                       : session_->UpsertBytesAsync("b", keys, Views(values), count_done);
    if (!pending.ok()) {  // what was cancelled is still in flight
      EXPECT_EQ(pending.status().code(), absl::StatusCode::kResourceExhausted);
      continue;
    }
    ++started;
    if (round % 4 < 2) (*pending)->Cancel(absl::CancelledError("enough"));
    BytesColumn column;
    std::vector<uint8_t> found(keys.size());
    const absl::Status late = session_->LookupBytes("b", keys, column, absl::MakeSpan(found), {},
                                                    absl::Now() + absl::Microseconds(50));
    if (!late.ok() && late.code() != absl::StatusCode::kResourceExhausted) {
      EXPECT_EQ(late.code(), absl::StatusCode::kDeadlineExceeded) << late;
    }
  }
  engine_->Close();
  EXPECT_GT(started, 10);
  EXPECT_EQ(done.load(), started);
}

TEST_F(BytesTest, DropWhileLookUpsAreUnderWay) {
  std::vector<uint64_t> keys(1000);
  std::iota(keys.begin(), keys.end(), 0);
  const std::string value = Value(3000);
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(session_->UpsertBytes("b", keys, std::vector<absl::string_view>(1000, value)).ok());
    std::atomic<bool> dropped{false};
    std::thread reader([&] {
      const auto session = engine_->NewSession();
      while (!dropped.load()) {
        BytesColumn column;
        std::vector<uint8_t> found(keys.size());
        const absl::Status status = session->LookupBytes("b", keys, column, absl::MakeSpan(found));
        if (status.ok()) {
          for (size_t i = 0; i < keys.size(); ++i) {
            ASSERT_EQ(column[i], found[i] ? absl::string_view(value) : "");
          }
        } else {
          ASSERT_EQ(status.code(), absl::StatusCode::kNotFound) << status;
        }
      }
    });
    ASSERT_TRUE(engine_->Drop("b").ok());
    dropped.store(true);
    reader.join();
    ASSERT_TRUE(
        engine_->Create("b", {.expected = {0, kKeys}, .value_type = ColumnType::kString}).ok());
  }
}

class SmallBytesTest : public BytesTest {
 protected:
  SmallBytesTest() : BytesTest(uint64_t{64} << 20) {}
};

TEST_F(SmallBytesTest, RefusedForWantOfMemoryLeavesTheOldValue) {
  const std::vector<uint64_t> keys{1, 2600, 5100, 7600};
  std::vector<std::string> values;
  for (size_t i = 0; i < keys.size(); ++i) values.push_back(Value(10));
  Put(keys, values);
  uint64_t key = 100;
  absl::Status status;
  while (status.ok() && key < 200) {
    status = session_->UpsertBytes("b", {key++}, {Value(kValueBytesMax)});
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  for (int i = 0; i < 20; ++i) {
    status = session_->UpsertBytes("b", keys, std::vector<absl::string_view>(4, Value(600'000)));
    if (status.ok()) break;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    BytesColumn column;
    std::vector<uint8_t> found(4);
    ASSERT_TRUE(session_->LookupBytes("b", keys, column, absl::MakeSpan(found)).ok());
    for (size_t j = 0; j < 4; ++j) {
      ASSERT_TRUE(found[j]);
      ASSERT_TRUE(column[j] == values[j] || column[j].size() == 600'000);
    }
  }
}

}  // namespace
}  // namespace eris
