// What sessions do to an object of any kind, with running AEUs: every operation against a map,
// several sessions on the same keys, and calls that end before their AEUs do (the address sanitizer
// sees what is freed too early).
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/support/any_model.h"
#include "tests/support/any_object.h"
#include "tests/support/seed.h"
#include "tests/support/window.h"

namespace eris {
namespace {

using test::AnyAnswer;
using test::AnyBatch;
using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;
using test::Window;

constexpr uint64_t kHighestKey = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kSpan = 10'000;  // of most keys

// --- Batches of one session.

struct OperationCase {
  AnyKind kind;
  std::string machine = "";
  Options options = test::SmallOptions();
  // An AEU with several ranges sorts a batch's keys into copies; answers find their places all the
  // same.
  bool many_ranges = false;
};

class RandomBatchesTest : public testing::TestWithParam<OperationCase> {
 protected:
  void SetUp() override {
    CreateOptions options = test::OptionsOf(kind_);
    options.expected = {0, kSpan};
    for (uint64_t point = 500; GetParam().many_ranges && point < kSpan; point += 500) {
      options.split_points.push_back(point);
    }
    ASSERT_TRUE(model_.object().Create(options).ok());
  }
  uint64_t AnyFirst() {
    switch (random_() % 10) {
      case 0:
        return kHighestKey - random_() % 3;
      case 1:
        return random_();
      case 2:
        return (random_() % 64) << 32;  // equal low bits
      default:
        return random_() % kSpan;
    }
  }
  uint64_t AnySecond() {
    if (kind_ != AnyKind::kTwoParts) return 0;
    return random_() % 10 == 0 ? kHighestKey - random_() % 2 : random_() % 30;
  }
  // Some keys stand twice, or have the same first part; small values are often equal.
  AnyRows AnyBatchOf(size_t n) {
    AnyRows rows;
    const uint64_t first = AnyFirst();
    const bool one_first = kind_ == AnyKind::kTwoParts && random_() % 4 == 0;
    for (size_t i = 0; i < n; ++i) {
      AnyKey key{one_first ? first : AnyFirst(), AnySecond()};
      if (i > 0 && random_() % 5 == 0) key = rows[random_() % i].first;
      rows.push_back({key, random_() % 3 == 0 ? random_() : random_() % 5});
    }
    return rows;
  }
  WriteMode AnyMode() {
    for (;;) {
      const auto mode = static_cast<WriteMode>(1 + random_() % 7);
      if (Takes(kind_, mode)) return mode;
    }
  }
  uint64_t LikelyValue(const AnyKey& key) {
    const auto there = model_.rows().find(key);
    return there != model_.rows().end() && random_() % 2 == 0 ? there->second : random_() % 5;
  }
  const AnyKind kind_ = GetParam().kind;
  std::mt19937_64 random_{test::Seed()};
  std::unique_ptr<Engine> engine_ = test::OpenEngine(GetParam().options);
  test::AnyModel model_{*engine_, kind_, "o"};
};

// Waiting and asynchronous calls in turn; keys that stand twice in a batch are written in order.
TEST_P(RandomBatchesTest, EveryOperationAgreesWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const AnyRows rows = AnyBatchOf(1 + random_() % (round % 10 == 9   ? 3000
                                                     : round % 50 == 0 ? 20'000
                                                                       : 300));
    const auto way = round % 2 == 0 ? AnyObject::Way::kWaiting : AnyObject::Way::kAsync;
    std::optional<WriteMode> mode;
    if (random_() % 4 > 0) mode = AnyMode();
    SCOPED_TRACE(absl::StrCat("round ", round, ", mode ", mode ? static_cast<int>(*mode) : 0));
    std::vector<uint64_t> expected;
    for (size_t i = 0; mode == WriteMode::kCompareAndSet && i < rows.size(); ++i) {
      expected.push_back(LikelyValue(rows[i].first));
    }
    ASSERT_NO_FATAL_FAILURE(model_.Run(mode, rows, expected, way));
    if (!model_.object().scans() || round % 50 != 49) continue;
    ASSERT_EQ(test::OrDie(model_.object().All()), model_.all());
  }
  const ObjectInfo info = test::OrDie(engine_->Describe("o"));
  EXPECT_EQ(info.keys, model_.rows().size());
  EXPECT_EQ(info.kind, test::OptionsOf(kind_).kind);
  EXPECT_EQ(info.schema, test::SchemaOf(kind_));
  EXPECT_EQ(info.partition_starts.size(),
            GetParam().many_ranges ? 20 : GetParam().options.aeu_count);
  EXPECT_EQ(engine_->Stats().objects.at(0).kind, info.kind);
  EXPECT_EQ(model_.object().object().schema(), info.schema);
  EXPECT_EQ(model_.object().object().id(), info.id);
}

std::vector<OperationCase> Cases() {
  std::vector<OperationCase> cases{
      {AnyKind::kIndex, "OneAeu", test::SmallOptions(1, "")},
      {AnyKind::kIndex, "TwoAeus", test::SmallOptions(2, "")},
      {AnyKind::kIndex, "SevenAeus", test::SmallOptions(7, "")},
      {AnyKind::kIndex, "FourNumaNodes", test::SmallOptions(8, "numa:4 core:2 pu:1")}};
  for (const AnyKind kind : test::KindsThat(test::HasKeys)) {
    cases.push_back({.kind = kind});
    cases.push_back({.kind = kind, .machine = "ManyRanges", .many_ranges = true});
  }
  return cases;
}
INSTANTIATE_TEST_SUITE_P(Kinds, RandomBatchesTest, testing::ValuesIn(Cases()),
                         [](const auto& of) { return NameOf(of.param.kind) + of.param.machine; });

// --- Sessions side by side on the same keys.

class KindTest : public testing::TestWithParam<AnyKind> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(object_.Create(OptionsWithRange()).ok());
    ASSERT_TRUE(object_.Ready().ok());
  }
  static CreateOptions OptionsWithRange() {
    CreateOptions options = test::OptionsOf(GetParam());
    options.expected = {0, kSpan};
    return options;
  }
  // Key number i < 500: over all AEUs; two-part ones with several under one first part.
  static AnyKey KeyOf(uint64_t i) {
    if (GetParam() == AnyKind::kTwoParts) return {i % 5 * 2000, i};
    return {i * 20, 0};
  }
  // Runs `work(session number, object)` on threads of their own.
  template <class Work>
  void OnSessions(uint32_t sessions, Work work) {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < sessions; ++i) {
      threads.emplace_back([&, i] {
        AnyObject object(*engine_, GetParam(), "o");
        ASSERT_TRUE(object.Ready().ok());
        work(i, object);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::unique_ptr<Engine> engine_ = test::OpenEngine();
  AnyObject object_{*engine_, GetParam(), "o"};
};

class CounterTest : public KindTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, CounterTest,
                         testing::ValuesIn(test::KindsThatTake(WriteMode::kAdd)),
                         test::kNameOfKind);

// Large batches, in which counters often stand twice, and batches of a few keys, of which an AEU
// runs those of one turn as one batch; waiting and not, with lookups between them.
TEST_P(CounterTest, SessionsAddingToTheSameCountersLoseNothing) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr uint32_t kSessions = 4;
  constexpr uint64_t kCounters = 500;
  std::vector<std::vector<uint64_t>> added(kSessions, std::vector<uint64_t>(kCounters));
  std::atomic<int> failed{0};
  OnSessions(kSessions, [&](uint32_t self, AnyObject& object) {
    std::mt19937_64 random(test::Seed() + self);
    Window window(64);
    for (int round = 0; round < 3000; ++round) {
      AnyRows rows;
      const bool looks_up = round % 4 == 0;
      for (uint64_t n = 1 + random() % (round % 10 == 5 ? 400 : 3); n > 0; --n) {
        const uint64_t counter = random() % kCounters;
        rows.push_back({KeyOf(counter), random()});  // wraps
        if (!looks_up) added[self][counter] += rows.back().second;
      }
      if (round % 5 == 1 && !looks_up) {
        failed.fetch_add(!object.Write(WriteMode::kAdd, rows).status.ok());
        continue;
      }
      window.Enter();
      const auto done = [&](BatchResult result) {
        failed.fetch_add(!result.status.ok());
        window.Leave();
      };
      AnyBatch batch(GetParam(), rows);
      const auto call = looks_up ? object.session().LookupAsync(
                                       object.object(), LookupBatch{.keys = batch.keys()}, done)
                                 : object.session().WriteAsync(object.object(),
                                                               batch.write(WriteMode::kAdd), done);
      if (!call.ok()) failed.fetch_add(1), window.Leave();
    }
  });
  ASSERT_EQ(failed.load(), 0);
  for (uint64_t counter = 0; counter < kCounters; ++counter) {
    uint64_t sum = 0;
    for (const auto& of_session : added) sum += of_session[counter];
    const AnyAnswer answer = object_.Lookup({KeyOf(counter)});
    ASSERT_TRUE(answer.status.ok()) << answer.status;
    ASSERT_EQ(answer.existed[0], 1);
    ASSERT_EQ(answer.values[0], sum) << "counter " << counter;
  }
}

class SwapTest : public KindTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, SwapTest,
                         testing::ValuesIn(test::KindsThatTake(WriteMode::kCompareAndSet)),
                         test::kNameOfKind);

// Each session increments by compare-and-set until it has its share: every swap saw the value that
// the one before it had left.
TEST_P(SwapTest, CompareAndSetLoopsOfSeveralSessionsCountEverything) {
  constexpr uint32_t kSessions = 3;
  constexpr uint64_t kSwaps = 300;
  ASSERT_TRUE(object_.Put({{KeyOf(7), 0}}).ok());
  std::vector<uint64_t> swaps(kSessions);
  OnSessions(kSessions, [&](uint32_t self, AnyObject& object) {
    uint64_t seen = 0;
    while (swaps[self] < kSwaps) {
      const AnyAnswer answer =
          object.Write(WriteMode::kCompareAndSet, {{KeyOf(7), seen + 1}}, {seen});
      ASSERT_TRUE(answer.status.ok()) << answer.status;
      swaps[self] += answer.applied[0];
      seen = answer.values[0] + answer.applied[0];
    }
  });
  EXPECT_EQ(swaps, std::vector<uint64_t>(kSessions, kSwaps));
  EXPECT_EQ(object_.Lookup({KeyOf(7)}).values[0], kSessions * kSwaps);
}

TEST_P(SwapTest, OfSeveralSessionsThatInsertAKeyOneWins) {
  constexpr uint32_t kSessions = 4;
  constexpr size_t kKeys = 5000;
  std::vector<AnyKey> keys;
  for (size_t i = 0; i < kKeys; ++i) keys.push_back({2 * i, 0});
  std::vector<AnyAnswer> answers(kSessions);
  OnSessions(kSessions, [&](uint32_t self, AnyObject& object) {
    AnyRows mine;
    for (const AnyKey& key : keys) mine.push_back({key, 100 + self});
    answers[self] = object.Write(WriteMode::kInsertIfAbsent, mine);
    EXPECT_TRUE(answers[self].status.ok()) << answers[self].status;
  });
  const AnyAnswer there = object_.Lookup(keys);
  ASSERT_TRUE(there.status.ok()) << there.status;
  for (size_t i = 0; i < kKeys; ++i) {
    int winners = 0;
    for (uint64_t self = 0; self < kSessions; ++self) {
      const uint8_t applied = answers[self].applied[i];
      winners += applied;
      ASSERT_EQ(applied, there.values[i] == 100 + self);
      ASSERT_EQ(answers[self].values[i], applied ? 0 : there.values[i]);
    }
    ASSERT_EQ(winners, 1);
  }
}

// --- Calls that end early, and what becomes of their memory.

class CallTest : public KindTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, CallTest, testing::ValuesIn(test::KindsThat(test::HasKeys)),
                         test::kNameOfKind);

TEST_P(CallTest, EachAnswersOnceAndLetsItsMemoryGo) {
  constexpr uint64_t kRows = 5000;
  auto rows = std::make_shared<AnyBatch>(GetParam());
  for (uint64_t i = 0; i < kRows; ++i) rows->Add({2 * i, 0}, i);
  const std::weak_ptr<AnyBatch> watched = rows;
  const auto gone = [&] {
    for (int i = 0; i < 10'000 && !watched.expired(); ++i) absl::SleepFor(absl::Milliseconds(1));
    return watched.expired();
  };
  Session& session = object_.session();
  const Object& object = object_.object();
  WriteBatch write = rows->write(WriteMode::kUpsert);
  write.holder = std::exchange(rows, nullptr);
  absl::StatusOr<BatchResult> result = test::Await([&](auto done) {
    return session.WriteAsync(object, std::exchange(write, {}), std::move(done));
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->status.ok()) << result->status;
  EXPECT_EQ(result->count, kRows);
  EXPECT_EQ(result->refused, 0u);
  EXPECT_EQ(result->existed, std::string(kRows / 8, '\0'));
  EXPECT_TRUE(result->columns.empty());
  EXPECT_TRUE(gone());

  AnyBatch keys(GetParam());
  for (uint64_t i = 0; i < 10; ++i) keys.Add({i * 2000, 0}, 0);
  result = test::Await([&](auto done) {
    return session.LookupAsync(object, LookupBatch{.keys = keys.keys()}, std::move(done));
  });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->status.ok()) << result->status;
  EXPECT_EQ(result->existed, std::string("\x1f\0", 2));
  ASSERT_EQ(result->columns.size(), GetParam() == AnyKind::kTable ? 2u : 1u);
  const AnyAnswer answer = test::AnswerOf(GetParam(), true, *result, 10);
  EXPECT_EQ(answer.values, (std::vector<uint64_t>{0, 1000, 2000, 3000, 4000, 0, 0, 0, 0, 0}));
}

// Without a holder the caller's columns may change as soon as the call has returned.
TEST_P(CallTest, ColumnsThatNobodyHoldsAreCopied) {
  std::atomic<int> calls{0};
  {
    Window window(1000);
    for (uint64_t round = 0; round < 300; ++round) {
      AnyBatch batch(GetParam());
      for (uint64_t i = 0; i < 100; ++i) batch.Add({round * 100 + i, 0}, round);
      window.Enter();
      const auto call = object_.session().WriteAsync(
          object_.object(), batch.write(WriteMode::kUpsert), [&](BatchResult result) {
            EXPECT_TRUE(result.status.ok()) << result.status;
            calls.fetch_add(1);
            window.Leave();
          });
      ASSERT_TRUE(call.ok()) << call.status();
    }
  }
  EXPECT_EQ(calls.load(), 300);
  std::vector<AnyKey> keys;
  for (uint64_t i = 0; i < 30'001; ++i) keys.push_back({i, 0});
  const AnyAnswer answer = object_.Lookup(keys);
  for (uint64_t i = 0; i < 30'000; ++i) ASSERT_EQ(answer.values[i], i / 100);
  EXPECT_EQ(answer.existed.back(), 0);
}

TEST_P(CallTest, ThoseThatEndEarlyLeaveNothingBehind) {
  AnyRows rows;
  std::vector<AnyKey> keys;
  for (uint64_t i = 0; i < 2000; ++i) {
    rows.push_back({{i * 5, 0}, i % 8 == 0 ? 77 + i * 1024 : i});  // some long strings
    keys.push_back(rows.back().first);
  }
  ASSERT_TRUE(object_.Put(rows).ok());
  AnyBatch batch(GetParam(), rows), asked(GetParam(), keys);
  Session& session = object_.session();
  std::atomic<int> done{0};
  int started = 0;
  for (int round = 0; round < 100; ++round) {
    const auto count_done = [&](BatchResult) { done.fetch_add(1); };
    auto pending =
        round % 2 == 0
            ? session.LookupAsync(object_.object(), LookupBatch{.keys = asked.keys()}, count_done)
            : session.WriteAsync(object_.object(), batch.write(WriteMode::kUpsert), count_done);
    if (!pending.ok()) {  // what was cancelled is still in flight
      EXPECT_EQ(pending.status().code(), absl::StatusCode::kResourceExhausted);
      continue;
    }
    ++started;
    if (round % 4 < 2) (*pending)->Cancel(absl::CancelledError("enough"));
    const absl::Status late =
        session
            .Lookup(object_.object(), {.keys = asked.keys()}, absl::Now() + absl::Microseconds(50))
            .status;
    EXPECT_TRUE(late.ok() || absl::IsResourceExhausted(late) || absl::IsDeadlineExceeded(late))
        << late;
  }
  engine_->Close();
  EXPECT_GT(started, 10);
  EXPECT_EQ(done.load(), started);
}

// What was meant for the dropped object never reaches the next one of its name.
TEST_P(CallTest, ADropUnderLoadEndsEveryCallAndItsHandleStaysDead) {
  for (int round = 0; round < 4; ++round) {
    std::atomic<bool> stop{false};
    std::atomic<int> open{0}, strange{0}, not_found{0};
    std::thread sessions([&] {
      OnSessions(3, [&](uint32_t self, AnyObject& object) {
        open.fetch_add(1);
        std::mt19937_64 random(test::Seed() + self);
        // The callbacks' too, which come until the window ends.
        const auto judge = [&](const absl::Status& status) {
          strange.fetch_add(!status.ok() && !absl::IsNotFound(status));
          not_found.fetch_add(absl::IsNotFound(status));
        };
        Window window(8);
        while (!stop.load()) {
          AnyBatch batch(GetParam());
          const size_t n = 1 + random() % 500;
          for (size_t i = 0; i < n; ++i) batch.Add({random() % (2 * kSpan), 0}, 5);
          const uint64_t what = random() % 4;
          const auto done = [&, n, what](BatchResult result) {
            judge(result.status);
            const AnyAnswer answer = test::AnswerOf(GetParam(), what == 0, std::move(result), n);
            for (size_t i = 0; answer.status.ok() && i < n; ++i) {
              strange.fetch_add(what == 0 && answer.existed[i] && answer.values[i] != 5);
            }
            window.Leave();
          };
          window.Enter();
          const auto mode = what == 1 ? WriteMode::kErase : WriteMode::kUpsert;
          const auto call =
              what == 0 ? object.session().LookupAsync(object.object(),
                                                       LookupBatch{.keys = batch.keys()}, done)
                        : object.session().WriteAsync(object.object(), batch.write(mode), done);
          if (!call.ok()) judge(call.status()), window.Leave();
        }
      });
    });
    while (open.load() < 3 || engine_->Describe("o")->keys < 5000) std::this_thread::yield();
    EXPECT_TRUE(engine_->Drop("o").ok());
    EXPECT_EQ(engine_->Memory().objects.size(), 0u);
    // The new object sometimes has another kind.
    const AnyKind kind = round % 2 == 0 ? AnyKind::kHash : GetParam();
    EXPECT_TRUE(engine_->Create("o", test::OptionsOf(kind)).ok());
    const int before = not_found.load();
    while (not_found.load() < before + 100) std::this_thread::yield();
    stop.store(true);
    sessions.join();
    EXPECT_EQ(strange.load(), 0);
    EXPECT_EQ(engine_->Describe("o")->keys, 0u);
    EXPECT_EQ(engine_->Describe("o")->kind, test::OptionsOf(kind).kind);
    ASSERT_TRUE(engine_->Drop("o").ok());
    ASSERT_TRUE(engine_->Create("o", OptionsWithRange()).ok());
  }
}

}  // namespace
}  // namespace eris
