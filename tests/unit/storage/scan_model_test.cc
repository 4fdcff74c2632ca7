// Scans and aggregates of one partition against a std::map: both directions, limits, filters on the
// value, keys only, chunks of every size, slices whose budget is spent after each run; with
// writers, splits and absorbs between the slices, and without.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "storage/index/index_partition.h"
#include "storage/tree/tree_check.h"
#include "storage/tree/tree_count.h"
#include "tests/support/test_batch.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

constexpr uint64_t kSlackRows = 256;  // rows that one run of a slice looks at
constexpr uint64_t kNotWritten = test::TestBatch::kUnanswered;

class ScanModelTest : public ::testing::TestWithParam<Keys> {
 protected:
  ScanModelTest()
      : random_(Seed()),
        pool_(KeyPool(GetParam(), 6'000, random_)),
        partition_(*IndexPartition::Create(Range{}, memory_.cache)) {
    pool_.insert(pool_.end(), {0, 1, kKeyMax - 1, kKeyMax});
    for (size_t i = 0; i < pool_.size(); ++i) Write(AnyKey());
  }

  uint64_t AnyKey() { return pool_[random_() % pool_.size()]; }
  uint64_t AnyBound() {
    const uint64_t dice = random_() % 16;
    if (dice == 2) return random_();
    // Beside whole subtrees, whose prefixes it does not share.
    if (dice > 10) return AnyKey() ^ (uint64_t{1} << random_() % 64);
    return dice == 0 ? 0 : dice == 1 ? kKeyMax : AnyKey() + random_() % 3 - 1;
  }
  // Small values, so that filters keep some, with the extremes among them.
  uint64_t AnyValue() {
    const uint64_t dice = random_() % 32;
    return dice == 0 ? 0 : dice == 1 ? kKeyMax : dice == 2 ? random_() : 1000 + random_() % 1000;
  }

  void Execute(Operation operation, uint64_t key, uint64_t value) {
    test::TestBatch{.operation = operation, .keys = {key}, .values = {value}}.Run(*partition_);
  }
  void Write(uint64_t key) {
    const uint64_t value = AnyValue();
    model_[key] = value;
    Execute(Operation::kUpsert, key, value);
  }
  void Erase(uint64_t key) {
    model_.erase(key);
    Execute(Operation::kErase, key, 0);
  }
  // Cuts the partition and joins it again, which moves and frees blocks.
  void Rearrange() {
    const uint64_t key = AnyBound();
    if (key == 0) return;
    auto upper = partition_->SplitAt(Key::FromU64(key));
    ASSERT_EQ(upper.status(), absl::OkStatus());
    ASSERT_EQ(partition_->Absorb(**upper), absl::OkStatus());
  }
  void ChangeSome() {
    for (uint64_t i = random_() % 20; i > 0; --i)
      random_() % 2 == 0 ? Write(AnyKey()) : Erase(AnyKey());
    if (random_() % 2 == 0) Rearrange();
  }

  Range AnyRange() {
    const uint64_t a = AnyBound();
    const uint64_t b = AnyBound();
    Range range{Key::FromU64(std::min(a, b)), Key::FromU64(std::max(a, b))};
    const uint64_t dice = random_() % 8;
    if (dice < 2) range.lo = Key{};
    if (dice == 1 || dice == 2) range.hi.reset();
    return range;
  }
  ScanQuery AnyQuery() {
    ScanQuery query;
    if (random_() % 2 == 0) query.direction = ScanDirection::kBackward;
    query.keys_only = random_() % 4 == 0;
    switch (random_() % 6) {
      case 0:  // about a tenth
        query.values = {1000, 1099};
        break;
      case 1:  // one value
        query.values = {1234, 1234};
        break;
      case 2:  // nothing
        query.values = {2000, 2001};
        break;
      case 3:
        query.values = random_() % 2 == 0 ? ValueRange{0, 1500} : ValueRange{1500, kKeyMax};
        break;
      default:
        break;
    }
    return query;
  }
  uint32_t AnyCapacity() {
    constexpr uint32_t kCapacities[] = {1, 7, 64, 257, 700};
    return kCapacities[random_() % 5];
  }
  ScanBudget AnyBudget() { return {.deadline_ns = random_() % 2 == 0 ? 0 : kKeyMax}; }

  // What the model says of the range, in the query's order.
  Rows Expected(const Range& range, const ScanQuery& query) const {
    Rows rows;
    for (const auto& [key, value] : model_) {
      if (range.ContainsU64(key) && query.values.Contains(value)) rows.emplace_back(key, value);
    }
    if (query.Backward()) std::reverse(rows.begin(), rows.end());
    return rows;
  }

  // One slice; checks what has to hold of every slice, and appends its rows.
  void Slice(uint32_t capacity, const ScanBudget& budget, ScanCursor& cursor, Rows& rows) {
    std::vector<uint64_t> keys(capacity + 1, kNotWritten);
    std::vector<uint64_t> values(capacity + 1, kNotWritten);
    ScanRows out{keys.data(), cursor.query.keys_only ? nullptr : values.data(), capacity, 0};
    const ScanCursor before = cursor;
    partition_->Scan(cursor, budget, out);
    ASSERT_LE(out.rows, capacity);
    ASSERT_EQ(keys[capacity], kNotWritten);
    ASSERT_EQ(values[capacity], kNotWritten);
    ASSERT_EQ(before.rows_left - cursor.rows_left,
              before.rows_left == kKeyMax && out.rows == 0 ? 0 : out.rows);
    // It has moved, and not far when the budget was spent.
    ASSERT_TRUE(cursor.done || cursor.rest != before.rest) << "no progress";
    if (budget.deadline_ns == 0) {
      ASSERT_LE(cursor.looked - before.looked, kSlackRows);
    }
    if (cursor.query.Backward()) {
      ASSERT_EQ(cursor.rest.lo, before.rest.lo);
    } else if (!cursor.rest.Empty()) {
      ASSERT_EQ(cursor.rest.hi, before.rest.hi);
    }
    for (uint32_t i = 0; i < out.rows; ++i) {
      ASSERT_FALSE(cursor.rest.ContainsU64(keys[i])) << "would come again";
      rows.emplace_back(keys[i], cursor.query.keys_only ? kNotWritten : values[i]);
    }
  }

  Random random_;
  TreeMemory memory_;
  std::vector<uint64_t> pool_;
  std::unique_ptr<IndexPartition> partition_;
  Model model_;
};

TEST_P(ScanModelTest, ScansInSlicesMatchAMap) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 120; ++round) {
    const Range range = AnyRange();
    const ScanQuery query = AnyQuery();
    Rows expected = Expected(range, query);
    const uint64_t limit = random_() % 3 == 0 ? random_() % (expected.size() + 2) : kKeyMax;
    if (expected.size() > limit) expected.resize(limit);
    if (query.keys_only) {
      for (auto& row : expected) row.second = kNotWritten;
    }
    ScanCursor cursor{.rest = range, .rows_left = limit, .query = query};
    const uint32_t capacity = AnyCapacity();
    Rows rows;
    while (!cursor.done) {
      Slice(capacity, AnyBudget(), cursor, rows);
      if (random_() % 4 == 0) Rearrange();
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_EQ(rows, expected) << "round " << round;
    if (limit > expected.size()) {
      ASSERT_TRUE(cursor.rest.Empty());
    }
  }
}

TEST_P(ScanModelTest, WritersBetweenSlicesAreSeenBehindTheCursorAndNotBeforeIt) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 40; ++round) {
    ScanCursor cursor{.rest = AnyRange(), .query = AnyQuery()};
    cursor.query.keys_only = false;
    const uint32_t capacity = AnyCapacity();
    while (!cursor.done) {
      const Range before = cursor.rest;
      Rows rows;
      Slice(capacity, {.deadline_ns = 0}, cursor, rows);
      ASSERT_FALSE(HasFatalFailure());
      // The slice has answered what its cursor moved over, as it was then.
      Range passed = before;
      if (!cursor.rest.Empty()) {
        if (cursor.query.Backward()) {
          passed.lo = *cursor.rest.hi;
        } else {
          passed.hi = cursor.rest.lo;
        }
      }
      ASSERT_EQ(rows, Expected(passed, cursor.query)) << "round " << round;
      ChangeSome();
    }
  }
  ASSERT_EQ(CheckTree(partition_->tree()), absl::OkStatus());
}

TEST_P(ScanModelTest, AggregatesInSlicesMatchAMap) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 120; ++round) {
    const Range range = AnyRange();
    ScanQuery query = AnyQuery();
    query.direction = ScanDirection::kForward;
    query.count_only = random_() % 4 == 0;
    RangeAggregate expected;
    for (const auto& [key, value] : Expected(range, query)) {
      expected.Add({.count = 1,
                    .min = value,
                    .max = value,
                    .sum_low = value,
                    .sum_high = 0,
                    .first_key = key,
                    .last_key = key});
    }
    ScanCursor cursor{.rest = range, .query = query};
    RangeAggregate aggregate;
    uint64_t looked = 0;
    while (!cursor.done) {
      partition_->Aggregate(cursor, {.deadline_ns = 0}, aggregate);
      ASSERT_LE(cursor.looked - looked, kSlackRows);
      looked = cursor.looked;
      if (random_() % 4 == 0) Rearrange();
    }
    ASSERT_TRUE(cursor.rest.Empty());
    ASSERT_EQ(aggregate.count, expected.count);
    if (!query.count_only) {
      ASSERT_EQ(aggregate, expected) << "round " << round;
    }
  }
}

TEST_P(ScanModelTest, CountsByTheTreeReadNoRow) {
  SCOPED_TRACE(SeedText());
  for (int round = 0; round < 400; ++round) {
    const uint64_t a = AnyBound();
    const uint64_t b = AnyBound();
    const uint64_t first = std::min(a, b);
    const uint64_t last = std::max(a, b);
    const auto expected =
        static_cast<uint64_t>(std::distance(model_.lower_bound(first), model_.upper_bound(last)));
    ASSERT_EQ(CountKeys(partition_->tree(), first, last), expected) << first << " to " << last;
    ScanCursor cursor{.rest = {Key::FromU64(first), std::nullopt}, .query = {.count_only = true}};
    if (last != kKeyMax) cursor.rest.hi = Key::FromU64(last + 1);
    RangeAggregate aggregate;
    partition_->Aggregate(cursor, {.deadline_ns = 0}, aggregate);
    ASSERT_TRUE(cursor.done);
    ASSERT_EQ(cursor.looked, 0u);
    ASSERT_EQ(aggregate.count, expected);
    if (round % 8 == 0) ChangeSome();
  }
}

INSTANTIATE_TEST_SUITE_P(AllKeys, ScanModelTest,
                         ::testing::Values(Keys::kDense, Keys::kSparse, Keys::kClustered,
                                           Keys::kOneByte, Keys::kZerosAndOnes, Keys::kExtremes,
                                           Keys::kMixed),
                         [](const auto& keys) { return KeysName(keys.param); });

TEST(ReverseTreeScannerTest, ReadsDownToKeyZeroAndEnds) {
  TreeMemory memory;
  PrefixTree tree(memory.cache);
  uint64_t keys[8], values[8];
  EXPECT_EQ(ReverseTreeScanner(tree, kKeyMax).Read(0, keys, values, 8), 0u);
  for (const uint64_t key : {uint64_t{0}, uint64_t{10}, uint64_t{300}, kKeyMax}) {
    ASSERT_EQ(tree.Upsert(key, key + 1), UpsertResult::kInserted);
  }
  EXPECT_EQ(ReverseTreeScanner(tree, kKeyMax).Read(0, keys, values, 8), 4u);
  EXPECT_EQ(keys[0], kKeyMax);
  EXPECT_EQ(values[0], 0u);
  EXPECT_EQ(keys[3], 0u);
  EXPECT_EQ(ReverseTreeScanner(tree, kKeyMax - 1).Read(10, keys, values, 8), 2u);
  EXPECT_EQ(keys[0], 300u);
  EXPECT_EQ(ReverseTreeScanner(tree, 9).Read(0, keys, values, 8), 1u);
  EXPECT_EQ(ReverseTreeScanner(tree, 9).Read(1, keys, values, 8), 0u);
  EXPECT_EQ(ReverseTreeScanner(tree, 0).Read(0, keys, values, 8), 1u);
}

TEST(RangeAggregateTest, SumsCarryInto128Bits) {
  TreeMemory memory;
  auto partition = *IndexPartition::Create(Range{}, memory.cache);
  // A dense page, and a sparse run; all values are the largest there is.
  test::TestBatch batch{.operation = Operation::kUpsert, .values = std::vector(512, kKeyMax)};
  for (uint64_t i = 0; i < 512; ++i) batch.keys.push_back(i < 256 ? i : i << 48);
  batch.Run(*partition);
  ScanCursor cursor;
  RangeAggregate sum;
  partition->Aggregate(cursor, {}, sum);
  EXPECT_EQ(sum.count, 512u);
  EXPECT_EQ(sum.sum_high, 511u);  // 512 * (2^64 - 1)
  EXPECT_EQ(sum.sum_low, uint64_t{0} - 512);
  EXPECT_EQ(sum.min, kKeyMax);
  EXPECT_DOUBLE_EQ(sum.mean(), 0x1p64);
}

}  // namespace
}  // namespace eris::storage
