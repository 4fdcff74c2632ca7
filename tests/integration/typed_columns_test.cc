// Keys and values as native numbers, dates and byte strings of an index's columns, through running
// AEUs: scans follow the numbers' order, over partitions that are cut anywhere, and strings come
// back byte by byte, up to every limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "eris/engine.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using test::ColumnOf;
using testing::HasSubstr;

class TypedColumnsTest : public testing::Test {
 protected:
  ObjectInfo Create(const CreateOptions& options) {
    object_ = test::Create(*engine_, "o", options);
    return *engine_->Describe("o");
  }
  // Writes one value under each key.
  template <class Keys>
  void Upsert(const Keys& keys, const ColumnView& values) {
    const ColumnView columns[] = {ColumnOf(keys), values};
    const BatchResult result = session_->Write(object_, {.rows = {keys.size(), columns}});
    ASSERT_TRUE(result.status.ok()) << result.status;
  }
  template <class Keys>
  BatchResult Lookup(const Keys& keys, uint64_t bytes_max = kBatchValueBytesMax) {
    const ColumnView column = ColumnOf(keys);
    return session_->Lookup(object_,
                            {.keys = {keys.size(), {&column, 1}}, .answer_bytes_max = bytes_max});
  }
  // The keys of a scan, as they come.
  template <class Key>
  std::vector<Key> ScanKeys(const Query& query) {
    std::vector<Key> keys;
    const auto scan = test::OrDie(session_->OpenScan(object_, query));
    const absl::Status end = test::ForEachChunk(*scan, [&](const Chunk& chunk) {
      const auto* part = static_cast<const Key*>(chunk.column(0).values);
      keys.insert(keys.end(), part, part + chunk.rows());
    });
    EXPECT_TRUE(end.ok()) << end;
    return keys;
  }

  std::mt19937_64 random_{test::Seed()};
  std::unique_ptr<Engine> engine_ = test::OpenEngine();
  std::unique_ptr<Session> session_ = engine_->NewSession();
  Object object_;
};

TEST_F(TypedColumnsTest, ScansRunFromTheLowestNegativeToTheHighest) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  const ObjectInfo info =
      Create({.schema = KeyValueSchema(ColumnType::kInt64), .expected = Int64Range(-1000, 1000)});
  EXPECT_EQ(KeyTypesOf(info.schema), ColumnType::kInt64);
  ASSERT_EQ(info.partition_starts.size(), 4u);
  EXPECT_EQ(Int64FromKey(info.partition_starts[1]), -500);
  EXPECT_EQ(Int64FromKey(info.partition_starts[2]), 0);

  std::vector<int64_t> numbers{std::numeric_limits<int64_t>::min()};
  for (int64_t number = -1500; number < 1500; ++number) {
    if (random_() % 4 > 0) numbers.push_back(number);
  }
  numbers.push_back(std::numeric_limits<int64_t>::max());
  std::vector<uint64_t> values;
  for (size_t i = 0; i < numbers.size(); ++i) values.push_back(i);
  Upsert(numbers, ColumnOf(values));
  EXPECT_EQ(ScanKeys<int64_t>({}), numbers);
  EXPECT_EQ(test::NumbersOf(Lookup(numbers).columns[0]), values);

  Query query{.range = Int64Range(-7, 800), .direction = ScanDirection::kBackward};
  std::vector<int64_t> expected;
  RangeAggregate sum;
  for (size_t i = numbers.size(); i-- > 0;) {
    if (numbers[i] < -7 || numbers[i] >= 800) continue;
    expected.push_back(numbers[i]);
    const uint64_t key = KeyFromInt64(numbers[i]);
    sum.Add({1, i, i, i, 0, key, key});
  }
  EXPECT_EQ(ScanKeys<int64_t>(query), expected);
  query.columns = {{expressions::Column("key"), "key"}};
  query.limit = 100;
  expected.resize(100);
  EXPECT_EQ(ScanKeys<int64_t>(query), expected);
  EXPECT_EQ(test::OrDie(session_->Aggregate(object_, {.range = query.range})), sum);
}

TEST_F(TypedColumnsTest, FloatsAreFoundByNumberAndScannedInOrder) {
  Create({.schema = KeyValueSchema(ColumnType::kFloat64), .expected = *Float64Range(-1.0, 1.0)});
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> numbers = {-infinity, -1e300, -0.5, -5e-324, 0.0, 0.25, 7.0, infinity};
  Upsert(numbers, ColumnOf(std::vector<uint64_t>(numbers.size(), 9)));
  EXPECT_EQ(ScanKeys<double>({}), numbers);
  EXPECT_EQ(Lookup(std::vector<double>{-0.0}).existed, "\x01");
  EXPECT_EQ(ScanKeys<double>({.range = *Float64Range(-0.5, 0.0)}).size(), 2u);
  // A key that is answered is the stored one, not the one that was asked for.
  const std::vector<double> zeros{-0.0, 0.0, -0.5};
  const ColumnView asked = ColumnOf(zeros);
  const std::vector<std::string> key{"key"};
  const BatchResult echo = session_->Lookup(object_, {.keys = {3, {&asked, 1}}, .columns = key});
  ASSERT_TRUE(echo.status.ok()) << echo.status;
  const std::vector<double> echoed = test::NumbersOf<double>(echo.columns[0]);
  EXPECT_EQ(echoed, zeros);
  EXPECT_FALSE(std::signbit(echoed[0]));
  // NaN is no key.
  const BatchResult none = Lookup(std::vector<double>{1, std::nan("")});
  EXPECT_TRUE(absl::IsInvalidArgument(none.status)) << none.status;
  EXPECT_THAT(std::string(none.status.message()), HasSubstr("NaN"));
}

TEST_F(TypedColumnsTest, DatesAreSpreadOverAeusWithoutAnExpectedRange) {
  const ObjectInfo info = Create({.schema = KeyValueSchema(ColumnType::kDate)});
  ASSERT_EQ(info.partition_starts.size(), 4u);
  EXPECT_EQ(KeyText(ColumnType::kDate, info.partition_starts[1]), "1950-01-01");
  EXPECT_EQ(KeyText(ColumnType::kDate, info.partition_starts[2]), "2000-01-01");
  std::vector<int32_t> days;
  for (int32_t day = -40'000; day < 60'000; day += 7) days.push_back(day);
  Upsert(days, ColumnOf(std::vector<uint64_t>(days.size(), 1)));
  EXPECT_EQ(ScanKeys<int32_t>({}), days);
  EXPECT_EQ(ScanKeys<int32_t>({.range = DateRange(0, 50)}).size(), 7u);
}

TEST_F(TypedColumnsTest, PartsOfTwoTypesAreOrderedByTheFirst) {
  const ObjectInfo info = Create({.schema = KeyValueSchema({ColumnType::kInt64, ColumnType::kDate}),
                                  .expected = Int64Range(-100, 100)});
  EXPECT_EQ(KeyTypesOf(info.schema), (KeyTypes{ColumnType::kInt64, ColumnType::kDate}));
  ASSERT_EQ(info.partition_starts.size(), 4u);
  EXPECT_EQ(Int64FromKey(info.partition_starts[1]), -50);
  const std::vector<int64_t> firsts{5, -5, 5, -5};
  const std::vector<int32_t> days{-1, 3, 7, -9};
  const std::vector<uint64_t> values{0, 1, 2, 3};
  const ColumnView columns[] = {ColumnOf(firsts), ColumnOf(days), ColumnOf(values)};
  ASSERT_TRUE(session_->Write(object_, {.rows = {4, columns}}).status.ok());
  std::vector<std::string> rows;
  const auto scan = test::OrDie(session_->OpenScan(object_, {}));
  const absl::Status end = test::ForEachChunk(*scan, [&](const Chunk& chunk) {
    for (uint64_t i = 0; i < chunk.rows(); ++i) {
      rows.push_back(absl::StrCat(test::ReadAt<int64_t>(chunk.column(0).values, i), "/",
                                  test::ReadAt<int32_t>(chunk.column(1).values, i), "=",
                                  chunk.Uint64s(2)[i]));
    }
  });
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(rows, (std::vector<std::string>{"-5/-9=3", "-5/3=1", "5/-1=0", "5/7=2"}));
  // A lookup answers what is asked for, in that order.
  const std::vector<std::string> asked{"value", "second_key", "key", "value"};
  const BatchResult found =
      session_->Lookup(object_, {.keys = {4, {columns, 2}}, .columns = asked});
  ASSERT_TRUE(found.status.ok()) << found.status;
  ASSERT_EQ(found.columns.size(), 4u);
  EXPECT_EQ(test::NumbersOf(found.columns[0]), values);
  EXPECT_EQ(test::NumbersOf<int32_t>(found.columns[1]), days);
  EXPECT_EQ(test::NumbersOf<int64_t>(found.columns[2]), firsts);
  EXPECT_EQ(found.columns[3].values, found.columns[0].values);
}

// --- Byte strings.

class StringsTest : public TypedColumnsTest {
 protected:
  StringsTest() {
    Create({.schema = KeyValueSchema(ColumnType::kInt64, ColumnType::kBytes),
            .expected = Int64Range(-5000, 5000)});
  }
  std::string Value(size_t size) {
    std::string value(size, '\0');
    uint64_t draw = random_();
    for (char& c : value) c = static_cast<char>(draw = draw * 6364136223846793005u + 1);
    return value;
  }
  void Put(const std::vector<int64_t>& keys, const std::vector<std::string>& values) {
    Upsert(keys, test::StringsColumn(values).view());
    for (size_t i = 0; i < keys.size(); ++i) model_[keys[i]] = values[i];
  }

  std::map<int64_t, std::string> model_;
};

TEST_F(StringsTest, AnyBytesOfAnyLengthComeBackAndAreScannedInOrder) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  std::vector<int64_t> keys;
  std::vector<std::string> values;
  for (const size_t size : {0, 1, 7, 8, 63, 64, 4095, 20'000}) {
    for (int i = 0; i < 300; ++i) {
      keys.push_back(static_cast<int64_t>(random_() % 10'000) - 5000);
      values.push_back(Value(size < 4095 ? size : random_() % size));
    }
  }
  Put(keys, values);
  Put({-4999, 0, 4999}, {Value(kValueBytesMax), Value(kValueBytesMax), Value(kValueBytesMax)});
  std::shuffle(keys.begin(), keys.end(), random_);
  keys.push_back(9999);
  const BatchResult found = Lookup(keys);
  ASSERT_TRUE(found.status.ok()) << found.status;
  const std::vector<std::string> answers = test::StringsOf(found.columns[0]);
  for (size_t i = 0; i + 1 < keys.size(); ++i) ASSERT_EQ(answers[i], model_[keys[i]]) << keys[i];
  EXPECT_FALSE(BitAt(found.existed, keys.size() - 1));
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    using Rows = std::vector<std::pair<int64_t, std::string>>;
    Rows got;
    const auto scan = test::OrDie(session_->OpenScan(object_, {.direction = direction}));
    const absl::Status end = test::ForEachChunk(*scan, [&](const Chunk& chunk) {
      for (uint64_t i = 0; i < chunk.rows(); ++i) {
        got.emplace_back(test::ReadAt<int64_t>(chunk.column(0).values, i), chunk.String(1, i));
      }
      // The rows change under way: what a chunk shows is its own.
      Put({keys[0]}, {model_[keys[0]]});
    });
    EXPECT_TRUE(end.ok()) << end;
    if (direction == ScanDirection::kBackward) std::reverse(got.begin(), got.end());
    ASSERT_TRUE(got == Rows(model_.begin(), model_.end())) << got.size();
  }
}

TEST_F(StringsTest, AnswersBeyondTheLimitAreAskedForAgain) {
  std::vector<int64_t> keys;
  for (int64_t i = -20; i < 20; ++i) {
    keys.push_back(i * 250);
    Put({keys.back()}, {Value(kValueBytesMax)});
  }
  std::vector<int64_t> left = keys;
  for (int round = 1; !left.empty(); ++round) {
    ASSERT_LE(round, 2);
    const BatchResult result = Lookup(left);
    EXPECT_EQ(result.status.ok(), round == 2) << result.status;
    const std::vector<std::string> values = test::StringsOf(result.columns[0]);
    std::vector<int64_t> again;
    for (size_t i = 0; i < left.size(); ++i) {
      if (BitAt(result.executed, i, true)) {
        ASSERT_TRUE(BitAt(result.existed, i));
        ASSERT_EQ(values[i], model_[left[i]]);
        continue;
      }
      EXPECT_TRUE(absl::IsResourceExhausted(result.status)) << result.status;
      EXPECT_EQ(values[i], "");
      again.push_back(left[i]);
    }
    EXPECT_EQ(result.refused, again.size());
    ASSERT_LT(again.size(), left.size());
    left = again;
  }
  // Less room, as for a client with smaller messages.
  const BatchResult result = Lookup(keys, 2 * (kValueBytesMax + 8));
  EXPECT_TRUE(absl::IsResourceExhausted(result.status));
  EXPECT_THAT(std::string(result.status.message()), HasSubstr("38 of 40"));
  EXPECT_EQ(result.refused, 38u);
}

}  // namespace
}  // namespace eris
