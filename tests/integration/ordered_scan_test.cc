// Ordered scans and aggregates of a running engine against a map: across partitions of several
// AEUs, in both directions, resumed from every rest, and with writers beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

constexpr uint64_t kMaxKey = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kSpan = 400'000;
using Rows = std::vector<std::pair<uint64_t, uint64_t>>;

class OrderedScanTest : public testing::Test {
 protected:
  OrderedScanTest() : random_(test::Seed()) {
    Options options;
    options.topology = "numa:2 core:2 pu:1";
    options.aeu_count = 4;
    options.memory_limit_bytes = uint64_t{1} << 30;
    auto engine = Engine::Open(options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    // The last AEU's partition goes to the end of the key space.
    EXPECT_TRUE(engine_->Create("o", {.expected = {0, kSpan}}).ok());
    session_ = engine_->NewSession();
    // A dense stretch, a sparse one, and both ends.
    for (uint64_t key = 0; key < kSpan; key += key < kSpan / 2 ? 1 : 1 + random_() % 8) Put(key);
    for (int i = 0; i < 1000; ++i) Put(random_());
    for (const uint64_t key : {uint64_t{0}, kMaxKey, kMaxKey - 1}) Put(key);
    std::vector<uint64_t> keys, values;
    for (const auto& [key, value] : model_) {
      keys.push_back(key), values.push_back(value);
      if (keys.size() < 10'000 && key != kMaxKey) continue;
      EXPECT_TRUE(session_->Upsert("o", keys, values).ok());
      keys.clear(), values.clear();
    }
  }
  void Put(uint64_t key) { model_[key] = random_() % 1000 == 0 ? kMaxKey : random_() % 1000; }

  Rows Expected(const ScanOptions& options) const {
    Rows rows;
    for (const auto& row : model_) {
      if (options.range.Contains(row.first) &&
          (!options.values || options.values->Contains(row.second))) {
        rows.push_back(row);
      }
    }
    if (options.direction == ScanDirection::kBackward) std::reverse(rows.begin(), rows.end());
    if (options.limit > 0 && rows.size() > options.limit) rows.resize(options.limit);
    return rows;
  }
  // One scan to its end; or each chunk by a scan of its own, opened on the rest of the one before.
  Rows Read(ScanOptions options, bool resume) {
    Rows rows;
    for (;;) {
      auto scan = session_->OpenScan("o", options);
      EXPECT_TRUE(scan.ok()) << scan.status();
      for (;;) {
        auto chunk = (*scan)->Next();
        EXPECT_TRUE(chunk.ok()) << chunk.status();
        if (!chunk.ok() || !*chunk) return rows;
        const auto keys = (*chunk)->keys();
        for (size_t i = 0; i < keys.size(); ++i) {
          rows.emplace_back(keys[i], options.keys_only ? model_[keys[i]] : (*chunk)->values()[i]);
        }
        if (!resume) continue;
        if (!(*chunk)->rest()) return rows;
        options.range = *(*chunk)->rest();
        if (options.limit > 0) options.limit -= keys.size();
        break;
      }
    }
  }
  KeyRange AnyRange() {
    const uint64_t a = random_() % 8 == 0 ? random_() : random_() % kSpan;
    const uint64_t b = random_() % 8 == 0 ? random_() : random_() % kSpan;
    KeyRange range{std::min(a, b), std::max(a, b)};
    if (random_() % 3 == 0) range.lo = 0;
    if (random_() % 3 == 0) range.hi.reset();
    return range;
  }
  std::optional<ValueRange> AnyValues() {
    switch (random_() % 4) {
      case 0:
        return ValueRange{500, 509};
      case 1:
        return ValueRange{kMaxKey, kMaxKey};
      default:
        return std::nullopt;
    }
  }

  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  std::map<uint64_t, uint64_t> model_;
};

TEST_F(OrderedScanTest, BothDirectionsAgreeWithAMapAlsoFromEveryRest) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (int round = 0; round < test::Fewer(24, 10); ++round) {
    ScanOptions options{.range = AnyRange(), .values = AnyValues()};
    if (round % 2 == 0) options.direction = ScanDirection::kBackward;
    if (random_() % 2 == 0) options.limit = 1 + random_() % 100'000;
    options.keys_only = random_() % 3 == 0;
    const Rows expected = Expected(options);
    ASSERT_EQ(Read(options, false), expected) << "round " << round;
    ASSERT_EQ(Read(options, true), expected) << "round " << round;
  }
}

TEST_F(OrderedScanTest, ABackwardScanEndsAtKeyZeroWithoutARest) {
  auto scan = session_->OpenScan("o", {.range = {0, 3}, .direction = ScanDirection::kBackward});
  ASSERT_TRUE(scan.ok());
  auto chunk = (*scan)->Next();
  ASSERT_TRUE(chunk.ok() && *chunk);
  EXPECT_EQ((*chunk)->keys(), (std::vector<uint64_t>{2, 1, 0}));
  EXPECT_FALSE((*chunk)->rest());
}

TEST_F(OrderedScanTest, AggregatesAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  for (int round = 0; round < test::Fewer(40, 15); ++round) {
    AggregateOptions options{.range = AnyRange(), .values = AnyValues()};
    RangeAggregate expected;
    for (const auto& [key, value] : Expected({.range = options.range, .values = options.values})) {
      expected.Add({1, value, value, value, 0, key, key});
    }
    auto got = session_->Aggregate("o", options);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(*got, expected) << "round " << round;
    options.count_only = true;
    got = session_->Aggregate("o", options);
    ASSERT_TRUE(got.ok()) << got.status();
    ASSERT_EQ(got->count, expected.count) << "round " << round;
  }
}

TEST_F(OrderedScanTest, InvertedRangesAreRefusedAndEmptyOnesHaveNoRows) {
  const auto code = [&](const ScanOptions& options) {
    return session_->OpenScan("o", options).status().code();
  };
  EXPECT_EQ(code({.range = {5, 4}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.values = ValueRange{5, 4}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.direction = static_cast<ScanDirection>(2)}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->Aggregate("o", {.range = {5, 4}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->Aggregate("o", {.values = ValueRange{5, 4}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(session_->Aggregate("nothing", {}).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Read({.range = {7, 7}, .direction = ScanDirection::kBackward}, false).empty());
  const auto none = session_->Aggregate("o", {.range = {7, 7}});
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ(*none, RangeAggregate{});
}

// Rows that nobody touches are in each scan and each sum, whatever is written around them.
TEST_F(OrderedScanTest, WritersBesideThemDisturbNoUntouchedRow) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::vector<uint64_t> odd;
  RangeAggregate expected;
  for (const auto& [key, value] : model_) {
    if (key % 2 == 1) odd.push_back(key);
  }
  // Untouched rows have values that no writer uses.
  constexpr uint64_t kMark = 1'000'000;
  std::vector<uint64_t> marks(odd.size());
  for (size_t i = 0; i < odd.size(); ++i) {
    marks[i] = kMark + i;
    expected.Add({1, marks[i], marks[i], marks[i], 0, odd[i], odd[i]});
  }
  for (size_t i = 0; i < odd.size(); i += 10'000) {
    const size_t n = std::min<size_t>(10'000, odd.size() - i);
    ASSERT_TRUE(session_
                    ->Upsert("o", absl::MakeConstSpan(odd).subspan(i, n),
                             absl::MakeConstSpan(marks).subspan(i, n))
                    .ok());
  }
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    auto session = engine_->NewSession();
    std::mt19937_64 random(test::Seed() + 1);
    std::vector<uint64_t> keys(500), values(500, 5);
    while (!stop.load()) {
      for (uint64_t& key : keys) key = random() % kSpan & ~uint64_t{1};
      EXPECT_TRUE(session->Upsert("o", keys, values).ok());
      for (uint64_t& key : keys) key = random() % kSpan & ~uint64_t{1};
      EXPECT_TRUE(session->Erase("o", keys).ok());
    }
  });
  const ValueRange marked{kMark, kMark + odd.size()};
  for (int round = 0; round < 6; ++round) {
    const auto sum = session_->Aggregate("o", {.values = marked});
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_EQ(*sum, expected);
    ScanOptions options{.values = marked, .keys_only = true};
    if (round % 2 == 0) options.direction = ScanDirection::kBackward;
    std::vector<uint64_t> keys;
    auto scan = session_->OpenScan("o", options);
    ASSERT_TRUE(scan.ok());
    for (;;) {
      auto chunk = (*scan)->Next();
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (!*chunk) break;
      keys.insert(keys.end(), (*chunk)->keys().begin(), (*chunk)->keys().end());
    }
    if (round % 2 == 0) std::reverse(keys.begin(), keys.end());
    EXPECT_EQ(keys, odd);
  }
  stop.store(true);
  writer.join();
}

}  // namespace
}  // namespace eris
