// Objects whose keys are signed integers, floats or dates, through running AEUs: scans follow the
// numbers' order, over partitions that are cut anywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "eris/engine.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

class TypedKeysTest : public testing::Test {
 protected:
  TypedKeysTest() {
    Options options;
    options.topology = "numa:2 core:2 pu:1";
    options.aeu_count = 4;
    options.memory_limit_bytes = uint64_t{1} << 30;
    auto engine = Engine::Open(options);
    EXPECT_TRUE(engine.ok()) << engine.status();
    engine_ = *std::move(engine);
    session_ = engine_->NewSession();
  }

  ObjectInfo Create(const CreateOptions& options) {
    auto info = engine_->Create("o", options);
    EXPECT_TRUE(info.ok()) << info.status();
    return info.ok() ? *info : ObjectInfo{};
  }

  std::vector<uint64_t> ScanKeys(const KeyRange& range) { return ScanKeysWith({.range = range}); }

  std::vector<uint64_t> ScanKeysWith(const ScanOptions& options) {
    std::vector<uint64_t> keys;
    auto scan = session_->OpenScan("o", options);
    EXPECT_TRUE(scan.ok()) << scan.status();
    while (scan.ok()) {
      auto chunk = (*scan)->Next();
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || !*chunk) break;
      keys.insert(keys.end(), (*chunk)->keys().begin(), (*chunk)->keys().end());
    }
    return keys;
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

TEST_F(TypedKeysTest, ScanRunsFromTheLowestNegativeToTheHighest) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::mt19937_64 random(test::Seed());
  const ObjectInfo info =
      Create({.expected = Int64Range(-1000, 1000), .key_type = ColumnType::kInt64});
  EXPECT_EQ(info.key_type, ColumnType::kInt64);
  ASSERT_EQ(info.partition_starts.size(), 4u);
  EXPECT_EQ(Int64FromKey(info.partition_starts[1]), -500);
  EXPECT_EQ(Int64FromKey(info.partition_starts[2]), 0);

  std::map<int64_t, uint64_t> model;
  for (int i = 0; i < 20'000; ++i) model[static_cast<int64_t>(random() % 3000) - 1500] = random();
  model[std::numeric_limits<int64_t>::min()] = 1;
  model[std::numeric_limits<int64_t>::max()] = 2;
  std::vector<int64_t> numbers;
  std::vector<uint64_t> values;
  for (const auto& [number, value] : model) {
    numbers.push_back(number);
    values.push_back(value);
  }
  std::vector<uint64_t> keys(numbers.size());
  KeysFromInt64(numbers, absl::MakeSpan(keys));
  ASSERT_TRUE(session_->Upsert("o", keys, values).ok());

  const std::vector<uint64_t> scanned = ScanKeys({});
  std::vector<int64_t> back(scanned.size());
  Int64FromKeys(scanned, absl::MakeSpan(back));
  EXPECT_EQ(back, numbers);
  const std::vector<uint64_t> middle = ScanKeys(Int64Range(-7, 8));
  ASSERT_FALSE(middle.empty());
  EXPECT_GE(Int64FromKey(middle.front()), -7);
  EXPECT_LE(Int64FromKey(middle.back()), 7);
}

TEST_F(TypedKeysTest, BackwardScansAndAggregatesCrossZero) {
  Create({.expected = Int64Range(-1000, 1000), .key_type = ColumnType::kInt64});
  std::vector<uint64_t> keys, values;
  for (int64_t number = -900; number < 900; number += 3) {
    keys.push_back(KeyFromInt64(number));
    values.push_back(static_cast<uint64_t>(number + 900));
  }
  ASSERT_TRUE(session_->Upsert("o", keys, values).ok());

  std::vector<uint64_t> expected;
  uint64_t sum = 0;
  for (int64_t number = 699; number >= -750; number -= 3) {
    expected.push_back(KeyFromInt64(number));
    sum += static_cast<uint64_t>(number + 900);
  }
  ScanOptions options{
      .range = Int64Range(-751, 700), .direction = ScanDirection::kBackward, .keys_only = true};
  EXPECT_EQ(ScanKeysWith(options), expected);
  options.limit = 400;
  options.values = ValueRange{0, 899};  // the negative ones
  const std::vector<uint64_t> negative = ScanKeysWith(options);
  ASSERT_EQ(negative.size(), 250u);
  EXPECT_EQ(Int64FromKey(negative.front()), -3);
  EXPECT_EQ(Int64FromKey(negative.back()), -750);

  const auto got = session_->Aggregate("o", {.range = Int64Range(-751, 700)});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->count, expected.size());
  EXPECT_EQ(got->sum_low, sum);
  EXPECT_EQ(got->min, 150u);
  EXPECT_EQ(got->max, 1599u);
  EXPECT_EQ(Int64FromKey(got->first_key), -750);
  EXPECT_EQ(Int64FromKey(got->last_key), 699);
}

TEST_F(TypedKeysTest, ByteStringsStandUnderNegativeKeys) {
  Create({.expected = Int64Range(-100, 100),
          .key_type = ColumnType::kInt64,
          .value_type = ColumnType::kString});
  std::vector<uint64_t> keys;
  std::vector<std::string> strings;
  for (int64_t number = -90; number <= 90; number += 10) {
    keys.push_back(KeyFromInt64(number));
    strings.push_back(std::string(number % 20 == 0 ? 3 : 300, 'v') + std::to_string(number));
  }
  const std::vector<absl::string_view> views(strings.begin(), strings.end());
  ASSERT_EQ(*session_->KeyTypesOf("o"), ColumnType::kInt64);
  ASSERT_EQ(*session_->ValueTypeOf("o"), ColumnType::kString);
  ASSERT_TRUE(session_->UpsertBytes("o", keys, views).ok());
  BytesColumn found_strings;
  std::vector<uint8_t> found(keys.size());
  ASSERT_TRUE(session_->LookupBytes("o", keys, found_strings, absl::MakeSpan(found)).ok());
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(found_strings[i], strings[i]);

  auto scan = session_->OpenScan(
      "o", {.range = Int64Range(-50, 51), .direction = ScanDirection::kBackward});
  ASSERT_TRUE(scan.ok()) << scan.status();
  int64_t number = 50;
  while (true) {
    auto chunk = (*scan)->Next();
    ASSERT_TRUE(chunk.ok()) << chunk.status();
    if (!*chunk) break;
    for (size_t i = 0; i < (*chunk)->keys().size(); ++i, number -= 10) {
      EXPECT_EQ(Int64FromKey((*chunk)->keys()[i]), number);
      EXPECT_EQ((*chunk)->bytes(i), strings[static_cast<size_t>(number / 10 + 9)]);
    }
  }
  EXPECT_EQ(number, -60);
  const auto count = session_->Aggregate("o", {.range = Int64Range(-50, 51), .count_only = true});
  ASSERT_TRUE(count.ok()) << count.status();
  EXPECT_EQ(count->count, 11u);
}

TEST_F(TypedKeysTest, FloatsAreFoundByNumberAndScannedInOrder) {
  Create({.expected = *Float64Range(-1.0, 1.0), .key_type = ColumnType::kFloat64});
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers = {-infinity, -1e300, -0.5, -5e-324, 0.0, 0.25, 7.0, infinity};
  std::vector<uint64_t> keys(numbers.size()), values(numbers.size(), 9);
  ASSERT_TRUE(KeysFromFloat64(numbers, absl::MakeSpan(keys)).ok());
  ASSERT_TRUE(session_->Upsert("o", keys, values).ok());
  EXPECT_EQ(ScanKeys({}), keys);
  uint64_t value = 0;
  uint8_t found = 0;
  const uint64_t minus_zero = KeyFromFloat64(-0.0);
  ASSERT_TRUE(
      session_->Lookup("o", {&minus_zero, 1}, absl::MakeSpan(&value, 1), absl::MakeSpan(&found, 1))
          .ok());
  EXPECT_EQ(found, 1);
  EXPECT_EQ(ScanKeys(*Float64Range(-0.5, 0.0)).size(), 2u);
}

TEST_F(TypedKeysTest, DatesAreSpreadOverAeusWithoutAnExpectedRange) {
  const ObjectInfo info = Create({.key_type = ColumnType::kDate});
  ASSERT_EQ(info.partition_starts.size(), 4u);
  EXPECT_EQ(KeyText(ColumnType::kDate, info.partition_starts[1]), "1950-01-01");
  EXPECT_EQ(KeyText(ColumnType::kDate, info.partition_starts[2]), "2000-01-01");
  std::vector<int32_t> days;
  for (int32_t day = -40'000; day < 60'000; day += 7) days.push_back(day);
  std::vector<uint64_t> keys(days.size());
  KeysFromDates(days, absl::MakeSpan(keys));
  ASSERT_TRUE(session_->Upsert("o", keys, keys).ok());
  EXPECT_EQ(ScanKeys({}), keys);
}

TEST_F(TypedKeysTest, UnknownTypeIsRefused) {
  const auto info = engine_->Create("o", {.key_type = static_cast<ColumnType>(9)});
  EXPECT_EQ(info.status(), absl::InvalidArgumentError(
                               "key_type 9 is none of 1 (u64), 2 (i64), 3 (f64), 4 (date)"));
}

TEST_F(TypedKeysTest, KeysEncodedForADroppedObjectNeverReachItsSuccessor) {
  EXPECT_EQ(session_->KeyTypesOf("o").status().code(), absl::StatusCode::kNotFound);
  Create({.key_type = ColumnType::kInt64});
  ASSERT_EQ(*session_->KeyTypesOf("o"), ColumnType::kInt64);
  ASSERT_TRUE(engine_->Drop("o").ok());
  Create({.key_type = ColumnType::kDate});
  const uint64_t key = KeyFromInt64(-1), value = 1;
  EXPECT_EQ(session_->Upsert("o", {&key, 1}, {&value, 1}).code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(ScanKeys({}).empty());
  // Who asks again is told of the new one.
  EXPECT_EQ(*session_->KeyTypesOf("o"), ColumnType::kDate);
  const uint64_t date = KeyFromDate(-1);
  EXPECT_TRUE(session_->Upsert("o", {&date, 1}, {&value, 1}).ok());
  EXPECT_EQ(ScanKeys({}), std::vector<uint64_t>{date});
}

}  // namespace
}  // namespace eris
