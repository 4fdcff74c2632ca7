// Partitions of two-part keys against a std::map of pairs: operations of all kinds in a seeded
// order, over shapes that are hard on groups, with memory that runs out, while ranges are cut,
// joined and moved. tests/unit/storage/two_part_parts.h checks.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "storage/index/two_part_partition.h"
#include "tests/support/extract.h"
#include "tests/unit/storage/two_part_parts.h"

namespace eris::storage {
namespace {

constexpr uint64_t kLooksAtOnce = 512;  // rows that a slice may look at when its time is up

struct Shape {
  const char* name;
  std::vector<PairKey> (*pool)(Random& random);
};
void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

std::vector<PairKey> Cross(const std::vector<uint64_t>& firsts,
                           const std::vector<uint64_t>& seconds) {
  std::vector<PairKey> keys;
  for (const uint64_t first : firsts) {
    for (const uint64_t second : seconds) keys.emplace_back(first, second);
  }
  return keys;
}
std::vector<PairKey> OnePerFirst(Random& random) {
  std::vector<PairKey> keys;
  for (const uint64_t first : KeyPool(Keys::kMixed, 1500, random)) {
    keys.emplace_back(first, random());
  }
  return keys;
}
std::vector<PairKey> SomePerFirst(Random& random) {  // as lines of orders
  std::vector<PairKey> keys;
  const uint64_t base = random();
  for (uint64_t order = 0; order < 500; ++order) {
    for (uint64_t line = 1 + random() % 7; line > 0; --line) keys.emplace_back(base + order, line);
  }
  return keys;
}
std::vector<PairKey> AsManyAsABlock(Random& random) {  // some below, some above
  std::vector<PairKey> keys;
  for (const uint64_t first : KeyPool(Keys::kSparse, 40, random)) {
    for (size_t row = 2 + random() % 80; row > 0; --row) keys.emplace_back(first, random() % 100);
  }
  return keys;
}
std::vector<PairKey> ManyUnderFew(Random& random) {
  return Cross({0, 1, random(), kKeyMax}, KeyPool(Keys::kMixed, 600, random));
}
std::vector<PairKey> DenseUnderFew(Random& random) {
  return Cross(KeyPool(Keys::kClustered, 3, random), KeyPool(Keys::kDense, 700, random));
}
std::vector<PairKey> Extremes(Random&) {
  const std::vector<uint64_t> all = {
      0, 1, 2, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, kKeyMax - 2, kKeyMax - 1, kKeyMax};
  return Cross(all, all);
}
// Pages of words, and what a page of groups counts.
std::vector<PairKey> DenseFirsts(Random& random) {
  std::vector<PairKey> keys;
  for (const uint64_t first : KeyPool(Keys::kDense, 600, random)) {
    for (size_t row = random() % 5; row > 0; --row) keys.emplace_back(first, random() % 8);
  }
  return keys;
}
std::vector<PairKey> AnyShape(Random& random) {
  std::vector<PairKey> keys;
  for (const auto pool : {OnePerFirst, SomePerFirst, AsManyAsABlock, Extremes, DenseUnderFew}) {
    const std::vector<PairKey> some = pool(random);
    keys.insert(keys.end(), some.begin(), some.end());
  }
  return keys;
}

class TwoPartModelTest : public testing::TestWithParam<Shape> {
 protected:
  TwoPartModelTest() : random_(Seed()), pool_(GetParam().pool(random_)) {}

  PairKey AnyKey() { return pool_[random_() % pool_.size()]; }
  // At a key, beside one, at the ends, anywhere.
  Key AnyBound() {
    const PairKey key = AnyKey();
    switch (random_() % 8) {
      case 0:
        return {};
      case 1:
        return {kKeyMax, kKeyMax};
      case 2:
        return {key.first, random_()};
      case 3:
        return {key.first, kKeyMax};
      case 4:
        return {key.first, 0};
      default:
        return {key.first, key.second + random_() % 3 - 1};
    }
  }
  Range AnyRangeOf(const Range& within) {
    Range range{AnyBound(), AnyBound()};
    if (*range.hi < range.lo) std::swap(range.lo, *range.hi);
    if (random_() % 4 == 0) range.hi = within.hi;
    if (random_() % 4 == 0) range.lo = within.lo;
    range.lo = std::max(range.lo, within.lo);
    if (within.hi && (!range.hi || *range.hi > *within.hi)) range.hi = within.hi;
    if (range.hi && *range.hi < range.lo) range.hi = range.lo;
    return range;
  }
  ValueRange AnyFilter() {
    const uint64_t last = parts_.last_value;
    switch (random_() % 4) {
      case 0:
        return {last / 2, last};
      case 1:
        return {last - last / 20, kKeyMax};
      default:
        return {};
    }
  }

  void Batch() {
    std::vector<PairKey> keys;
    size_t count = 1 + random_() % (random_() % 3 == 0 ? 400 : 20);
    if (random_() % 6 == 0) count = 1;
    const PairKey one = AnyKey();
    const size_t which = parts_.OwnerOf(one.first);
    const bool adjacent = random_() % 2 == 0;  // keys as they stand in the pool, else anywhere
    const bool one_first = random_() % 4 == 0;
    size_t at = random_() % pool_.size();
    for (size_t tries = 0; keys.size() < count && tries < 4 * count; ++tries) {
      PairKey key = adjacent ? pool_[at++ % pool_.size()] : AnyKey();
      if (one_first) key.first = one.first;
      if (parts_.all[which]->range().ContainsU64(key.first)) keys.push_back(key);
    }
    if (keys.empty()) keys.push_back(one);
    constexpr uint32_t kPartSizes[] = {1, 2, 7, 127, 128, 129, 1000};
    // Erases oftener than others, so that groups come and go.
    const uint64_t dice = random_() % 10;
    const auto operation = dice < 7    ? static_cast<Operation>(1 + dice)
                           : dice == 7 ? Operation::kUpsert
                                       : Operation::kErase;
    const uint64_t nth = random_() % 3 == 0 ? 1 + random_() % 40 : 0;
    parts_.Execute(which, operation, keys, kPartSizes[random_() % 7], nth,
                   random_() % 2 == 0 ? FailureMode::kOnce : FailureMode::kFromThen);
  }
  // Runs `call` with memory refused at some request, and again without.
  template <class Call>
  void WithRefusals(Call call) {
    const uint64_t used = parts_.memory.cache.used_bytes();
    parts_.memory.cache.ArmFailures(1 + random_() % 8, FailureMode::kFromThen);
    const absl::Status status = call();
    parts_.memory.cache.ArmFailures(0, FailureMode::kOnce);
    if (status.ok()) return;
    ASSERT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    ASSERT_EQ(parts_.memory.cache.used_bytes(), used);
    ASSERT_NO_FATAL_FAILURE(parts_.Check());
    ASSERT_EQ(call(), absl::OkStatus());
  }
  void Split() {
    const uint64_t first = AnyKey().first + random_() % 2;
    const Range& range = parts_.all[parts_.OwnerOf(first)]->range();
    if (first == range.lo.head || parts_.all.size() > 6) return;
    WithRefusals([&] { return parts_.Split(first); });
  }
  void Join() {
    if (parts_.all.size() < 2) return;
    const size_t which = random_() % (parts_.all.size() - 1);
    const bool into_upper = random_() % 2 == 0;
    WithRefusals([&] { return parts_.Join(which, into_upper); });
  }
  // From the low end of a partition to the one below it.
  void Move() {
    if (parts_.all.size() < 2) return;
    const size_t to = random_() % (parts_.all.size() - 1);
    TwoPartPartition& from = *parts_.all[to + 1];
    for (uint64_t chunks = 1 + random_() % 3; chunks > 0 && !from.range().Empty(); --chunks) {
      const auto rows_max = static_cast<uint32_t>(1 + random_() % (random_() % 2 ? 10 : 500));
      const PairRows rows = parts_.RowsIn(from.range());
      const Range range = from.range();
      ExchangeChunk chunk;
      // Rows leave also without memory.
      parts_.memory.cache.ArmFailures(random_() % 2, FailureMode::kFromThen);
      ASSERT_EQ(test::Extract(from, rows_max, chunk), absl::OkStatus());
      parts_.memory.cache.ArmFailures(0, FailureMode::kOnce);
      ASSERT_EQ(chunk.covers.lo, range.lo);
      PairRows wanted = parts_.RowsIn(chunk.covers);
      ASSERT_EQ(chunk.keys.size(), wanted.size());
      ASSERT_EQ(chunk.seconds.size(), wanted.size());
      ASSERT_EQ(chunk.values.size(), wanted.size());
      for (size_t i = 0; i < wanted.size(); ++i) {
        ASSERT_EQ(PairKey(chunk.keys[i], chunk.seconds[i]), wanted[i].first);
        ASSERT_EQ(chunk.values[i], wanted[i].second);
      }
      if (wanted.size() > rows_max) {
        ASSERT_EQ(chunk.keys.front(), chunk.keys.back());
      } else if (wanted.size() < rows.size()) {  // one more group would be too much
        const uint64_t next = rows[wanted.size()].first.first;
        const PairRows more = parts_.RowsIn({Key{next, 0}, Key{next, kKeyMax}});
        ASSERT_GE(wanted.size() + more.size() + 1, rows_max);
      }
      WithRefusals([&] {
        // Its rows are nobody's until they are ingested.
        const absl::Status status = parts_.all[to]->Ingest(chunk);
        if (!status.ok()) {
          for (const auto& row : wanted) parts_.rows.erase(row.first);
        } else {
          parts_.rows.insert(wanted.begin(), wanted.end());
        }
        return status;
      });
      ASSERT_EQ(parts_.all[to]->range().hi, chunk.covers.hi);
    }
    if (from.range().Empty()) parts_.all.erase(parts_.all.begin() + static_cast<ptrdiff_t>(to) + 1);
  }
  void Scan() {
    const size_t which = random_() % parts_.all.size();
    ScanCursor cursor{.rest = AnyRangeOf(parts_.all[which]->range())};
    ScanQuery& query = cursor.query;
    if (random_() % 2 == 0) query.direction = ScanDirection::kBackward;
    query.keys_only = random_() % 4 == 0;
    query.values = AnyFilter();
    if (random_() % 4 == 0) cursor.rows_left = random_() % 200;
    PairRows wanted;
    for (const auto& row : parts_.RowsIn(cursor.rest)) {
      if (query.values.Contains(row.second)) wanted.push_back(row);
    }
    if (query.Backward()) std::reverse(wanted.begin(), wanted.end());
    if (wanted.size() > cursor.rows_left) wanted.resize(cursor.rows_left);
    constexpr uint32_t kCapacities[] = {1, 7, 64, 257, 700};
    const uint32_t capacity = kCapacities[random_() % 5];
    PairRows given;
    std::vector<uint64_t> firsts(capacity), seconds(capacity),
        values(capacity, test::TestBatch::kUnanswered);
    while (!cursor.done) {
      const bool late = random_() % 2 == 0;
      const uint64_t looked = cursor.looked;
      ScanRows rows{.keys = firsts.data(),
                    .values = query.keys_only ? nullptr : values.data(),
                    .capacity = capacity,
                    .rows = 0,
                    .seconds = seconds.data()};
      parts_.all[which]->Scan(cursor, {.deadline_ns = late ? 0 : kKeyMax}, rows);
      ASSERT_TRUE(cursor.done || cursor.looked > looked);
      ASSERT_LE(cursor.looked - looked, late ? kLooksAtOnce : kKeyMax);
      for (uint32_t i = 0; i < rows.rows; ++i) {
        given.push_back({{firsts[i], seconds[i]}, query.keys_only ? 0 : values[i]});
      }
      if (!cursor.done && rows.rows > 0 && !query.Filters()) {
        const PairKey last = given.back().first;
        ASSERT_EQ(query.Backward() ? PairOf(*cursor.rest.hi) : PairOf(cursor.rest.lo),
                  query.Backward()         ? last
                  : last.second == kKeyMax ? PairKey(last.first + 1, 0)
                                           : PairKey(last.first, last.second + 1));
      }
    }
    if (query.keys_only) {
      for (auto& row : wanted) row.second = 0;
    }
    ASSERT_TRUE(given == wanted) << given.size() << " rows instead of " << wanted.size();
  }
  void Aggregate() {
    const size_t which = random_() % parts_.all.size();
    ScanCursor cursor{.rest = AnyRangeOf(parts_.all[which]->range())};
    cursor.query.values = AnyFilter();
    cursor.query.count_only = random_() % 2 == 0;
    RangeAggregate wanted;
    for (const auto& [key, value] : parts_.RowsIn(cursor.rest)) {
      if (!cursor.query.values.Contains(value)) continue;
      wanted.Add({.count = 1,
                  .min = value,
                  .max = value,
                  .sum_low = value,
                  .first_key = key.first,
                  .last_key = key.first,
                  .first_second = key.second,
                  .last_second = key.second});
    }
    RangeAggregate sum;
    while (!cursor.done) {
      const uint64_t looked = cursor.looked;
      const bool late = random_() % 2 == 0;
      parts_.all[which]->Aggregate(cursor, {.deadline_ns = late ? 0 : kKeyMax}, sum);
      ASSERT_LE(cursor.looked - looked, late ? kLooksAtOnce : kKeyMax);
    }
    if (cursor.query.count_only) {
      ASSERT_EQ(sum.count, wanted.count);
    } else {
      ASSERT_TRUE(sum == wanted);
    }
  }

  Random random_;
  std::vector<PairKey> pool_;
  TwoPartParts parts_;
};

TEST_P(TwoPartModelTest, PartitionsHoldWhatAMapHolds) {
  SCOPED_TRACE(SeedText());
  for (int step = 0; step < 1500; ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    const uint64_t dice = random_() % 16;
    if (dice < 7) {
      Batch();
    } else if (dice == 7) {
      Split();
    } else if (dice == 8) {
      Join();
    } else if (dice == 9) {
      Move();
    } else if (dice < 13) {
      Scan();
      Scan();
    } else {
      Aggregate();
    }
    ASSERT_NO_FATAL_FAILURE(parts_.Check());
    ASSERT_FALSE(HasFailure());
  }
  parts_.all.clear();
  EXPECT_EQ(parts_.memory.cache.used_bytes(), 0u);
}

TEST_P(TwoPartModelTest, WhatIsPutIsErasedToTheLastByte) {
  SCOPED_TRACE(SeedText());
  std::vector<PairKey> keys = pool_;
  for (int round = 0; round < 2; ++round) {
    std::shuffle(keys.begin(), keys.end(), random_);
    parts_.Execute(0, Operation::kUpsert, keys);
    ASSERT_NO_FATAL_FAILURE(parts_.Check());
    std::shuffle(keys.begin(), keys.end(), random_);
    for (size_t at = 0; at < keys.size(); at += 500) {
      const size_t end = std::min(keys.size(), at + 500);
      // Without memory, groups and TreeNodes stay as large as they are.
      parts_.Execute(
          0, Operation::kErase,
          {keys.begin() + static_cast<ptrdiff_t>(at), keys.begin() + static_cast<ptrdiff_t>(end)},
          200, round, FailureMode::kFromThen);
      ASSERT_NO_FATAL_FAILURE(parts_.Check());
    }
    ASSERT_EQ(parts_.all[0]->size(), 0u);
    ASSERT_EQ(parts_.memory.cache.used_bytes(), 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, TwoPartModelTest,
    testing::Values(Shape{"OnePerFirst", OnePerFirst}, Shape{"SomePerFirst", SomePerFirst},
                    Shape{"AsManyAsABlock", AsManyAsABlock}, Shape{"ManyUnderFew", ManyUnderFew},
                    Shape{"DenseUnderFew", DenseUnderFew}, Shape{"Extremes", Extremes},
                    Shape{"DenseFirsts", DenseFirsts}, Shape{"Any", AnyShape}),
    [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace eris::storage
