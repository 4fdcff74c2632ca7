// Ranges that change hands by loans, of every kind of partition whose rows stand in trees: both
// ends, chunks of every size, loans that are taken back, ranges that come back while their rows are
// still being freed, with memory and without. Rows are compared with a std::map, and of two caches
// every byte must come back.
#include "storage/tree/tree_loan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {
namespace {

using End = Partition::End;
using Contents = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

constexpr uint32_t kAll = ~0u;

class TreeLoanTest : public testing::TestWithParam<RowsKind> {
 protected:
  TreeLoanTest() : random_(Seed()) {}
  ~TreeLoanTest() override {
    source_.reset();
    target_.reset();
    EndTurns();
    EXPECT_EQ(memory_.manager.Account().used_bytes, 0u);
  }

  bool bytes() const { return GetParam() == RowsKind::kBytes; }
  bool two_parts() const { return GetParam() == RowsKind::kTwoParts; }
  bool hash() const { return GetParam() == RowsKind::kHash; }

  std::unique_ptr<Partition> Make(const Range& range, memory::LocalCache& cache) {
    return NewPartition(GetParam(), range, cache, random_());
  }

  void Execute(Partition& partition, Operation operation, const Contents& rows) {
    Strings strings;
    test::TestBatch batch{.operation = operation, .bytes = bytes() ? &strings : nullptr};
    for (const auto& [key, value] : rows) {
      batch.keys.push_back(key.first);
      if (two_parts()) batch.seconds.push_back(key.second);
      batch.values.push_back(bytes() ? strings.Word(TextOf(value)) : value);
    }
    if (!rows.empty()) batch.Run(partition);
  }
  void Put(Partition& partition, const Contents& rows) {
    Execute(partition, Operation::kUpsert, rows);
  }

  // What a scan of the whole range, a count of it and size() say.
  Contents RowsOf(Partition& partition) {
    Contents rows;
    if (hash()) {
      for (const auto& [key, value] : test::RowsOf(static_cast<HashPartition&>(partition))) {
        rows[{key, 0}] = value;
      }
      EXPECT_EQ(partition.size(), rows.size());
      return rows;
    }
    Strings strings;
    uint64_t keys[300], seconds[300], values[300];
    ScanCursor cursor{.rest = partition.range()};
    while (!cursor.done) {
      ScanRows out{.keys = keys,
                   .values = values,
                   .capacity = 300,
                   .seconds = two_parts() ? seconds : nullptr,
                   .bytes = bytes() ? &strings : nullptr};
      partition.ordered()->Scan(cursor, {}, out);
      for (uint32_t i = 0; i < out.rows; ++i) {
        rows[{out.keys[i], two_parts() ? seconds[i] : 0}] =
            bytes() ? NumberOf(BytesOf(out.values[i])) : out.values[i];
      }
    }
    ScanCursor counted{.rest = partition.range()};
    counted.query.count_only = true;
    RangeAggregate count;
    while (!counted.done) partition.ordered()->Aggregate(counted, {}, count);
    EXPECT_EQ(count.count, rows.size());
    EXPECT_EQ(partition.size(), rows.size());
    return rows;
  }
  Contents RowsOf(const ExchangeChunk& chunk) const {
    Contents rows;
    for (size_t i = 0; i < chunk.keys.size(); ++i) {
      rows[{chunk.keys[i], two_parts() ? chunk.seconds[i] : 0}] =
          bytes() ? NumberOf(absl::string_view(chunk.bytes)
                                 .substr(chunk.offsets[i], chunk.offsets[i + 1] - chunk.offsets[i]))
                  : chunk.values[i];
    }
    return rows;
  }
  static Contents RowsIn(const Contents& rows, const Range& range) {
    Contents inside;
    for (const auto& row : rows) {
      if (range.ContainsU64(row.first.first)) inside.insert(row);
    }
    return inside;
  }

  Contents SomeRows(Keys kind, size_t count) {
    Contents rows;
    for (const uint64_t key : KeyPool(kind, count, random_)) {
      const uint64_t seconds = two_parts() ? random_() % 4 * (random_() % 20 == 0 ? 30 : 1) : 0;
      for (uint64_t i = 0; i <= seconds; ++i) {
        rows[{key, two_parts() ? i * 0x1000001 : 0}] = random_() % 100'000;
      }
    }
    return rows;
  }

  // For a hash: the whole of it, or that end, is going to leave.
  void Prepare(Partition& partition, const Range& leaving) {
    if (!hash() || static_cast<HashPartition&>(partition).prepared()) return;
    ASSERT_EQ(partition.preparation()->PrepareExtract(leaving), absl::OkStatus());
    ASSERT_TRUE(*partition.preparation()->WalkLeaving(kAll));
  }
  absl::Status Lend(Partition& partition, End from, uint32_t rows_max, ExchangeChunk& out) {
    const Range leaving = partition.range();
    Prepare(partition, leaving);
    return partition.Lend(leaving, from, rows_max, out);
  }

  void EndTurns() {
    for (memory::LocalCache* const cache : {&first_, &second_}) cache->EndTurn();
    for (memory::LocalCache* const cache : {&first_, &second_}) {
      while (cache->Collect()) {
      }
    }
  }

  TreeMemory memory_;
  memory::LocalCache& first_ = memory_.cache;
  memory::LocalCache& second_ = *memory_.manager.NewCache();
  Random random_;
  std::unique_ptr<Partition> source_;
  std::unique_ptr<Partition> target_;
};

TEST_P(TreeLoanTest, ChunksCarryEverythingFromEitherEnd) {
  SCOPED_TRACE(SeedText());
  for (const Keys keys : {Keys::kDense, Keys::kSparse, Keys::kClustered, Keys::kExtremes}) {
    for (const End from : {End::kLow, End::kHigh}) {
      SCOPED_TRACE(KeysName(keys) + (from == End::kLow ? " low" : " high"));
      const Contents rows = SomeRows(keys, 3000);
      source_ = Make(Range{}, first_);
      target_ = Make({Key{7}, Key{7}}, second_);
      Put(*source_, rows);
      ExchangeChunk chunk;
      for (int step = 0; !source_->range().Empty(); ++step) {
        const Range before = source_->range();
        const auto rows_max = static_cast<uint32_t>(1 + random_() % 900);
        ASSERT_EQ(Lend(*source_, from, rows_max, chunk), absl::OkStatus());
        ASSERT_FALSE(chunk.keys.empty());
        // Another first part may be needed whole.
        ASSERT_LE(chunk.keys.size(), two_parts() ? std::max(rows_max, 100u) : rows_max);
        ASSERT_EQ(RowsOf(chunk), RowsIn(rows, chunk.covers));
        Range both = chunk.covers;
        ASSERT_EQ(from == End::kLow ? both.lo : source_->range().lo, before.lo);
        ASSERT_EQ(RowsOf(*source_), RowsIn(rows, source_->range()));
        // The end of the loan, or a piece of it, before the next one.
        ASSERT_EQ(target_->Ingest(chunk), absl::OkStatus());
        source_->Forget({}, static_cast<uint32_t>(1 + random_() % 500));
        ASSERT_EQ(RowsOf(*target_), RowsIn(rows, target_->range()));
      }
      ASSERT_EQ(target_->range(), Range{});
      ASSERT_EQ(RowsOf(*target_), rows);
      while (source_->Maintain({}, 100)) {
      }
      EndTurns();
      if (!hash()) {
        EXPECT_EQ(first_.used_bytes(), 0u);
      }
    }
  }
}

TEST_P(TreeLoanTest, WhatIsTakenBackIsAsItWas) {
  SCOPED_TRACE(SeedText());
  Contents rows = SomeRows(Keys::kMixed, 4000);
  source_ = Make(Range{}, first_);
  Put(*source_, rows);
  for (int round = 0; round < 60; ++round) {
    ExchangeChunk chunk;
    const End from = round % 2 == 0 ? End::kLow : End::kHigh;
    const uint32_t rows_max = round % 10 == 0 ? kAll : static_cast<uint32_t>(random_() % 2000);
    ASSERT_EQ(Lend(*source_, from, rows_max, chunk), absl::OkStatus());
    ASSERT_EQ(RowsOf(*source_), RowsIn(rows, source_->range()));
    // What stays is written: blocks on the border have rows of both.
    Contents news = RowsIn(SomeRows(Keys::kMixed, 100), source_->range());
    Contents gone;
    for (const auto& row : RowsIn(rows, source_->range())) {
      if (random_() % 9 == 0) gone.insert(row);
    }
    Put(*source_, news);
    for (const auto& [key, value] : news) rows[key] = value;
    Execute(*source_, Operation::kErase, gone);
    for (const auto& [key, value] : gone) rows.erase(key);
    first_.FailAllocationsFrom(1);
    source_->TakeBack();
    first_.FailAllocationsFrom(0);
    ASSERT_EQ(source_->range(), Range{});
    ASSERT_EQ(RowsOf(*source_), rows);
    source_->TakeBack();  // there is nothing any more
    ASSERT_EQ(source_->range(), Range{});
  }
}

// From A to B and back, while A has not yet freed what it gave; B has written in between.
TEST_P(TreeLoanTest, RangesThatComeBackBringTheRowsOfTheirOwner) {
  SCOPED_TRACE(SeedText());
  for (const bool memory : {true, false}) {
    uint32_t rests = 0;
    for (const End from : {End::kLow, End::kHigh}) {
      Contents rows = SomeRows(Keys::kMixed, 3000);
      source_ = Make(Range{}, first_);
      target_ = Make({Key{7}, Key{7}}, second_);
      Put(*source_, rows);
      for (int round = 0; round < 12; ++round) {
        ExchangeChunk chunk;
        ASSERT_EQ(Lend(*source_, from, 500, chunk), absl::OkStatus());
        ASSERT_EQ(target_->Ingest(chunk), absl::OkStatus());
        // Without memory the rows cannot be cut off: they are erased one by one.
        first_.FailAllocationsFrom(memory ? 0 : 1);
        rests += source_->Forget({}, 1);
        first_.FailAllocationsFrom(0);
        if (hash()) {
          ASSERT_TRUE(*source_->preparation()->CancelExtract(kAll));
        }
        ASSERT_EQ(RowsOf(*source_), RowsIn(rows, source_->range()));
        Contents news, gone;
        for (const auto& row : RowsIn(rows, target_->range())) {
          (random_() % 2 == 0 ? gone : news).insert(row);
        }
        for (auto& [key, value] : news) rows[key] = value = random_() % 1000;
        for (const auto& [key, value] : gone) rows.erase(key);
        Put(*target_, news);
        Execute(*target_, Operation::kErase, gone);
        ASSERT_EQ(RowsOf(*target_), news);
        if (round % 3 == 2) continue;  // the next loan meets the rest
        ASSERT_EQ(Lend(*target_, End::kLow, kAll, chunk), absl::OkStatus());
        ASSERT_EQ(source_->Ingest(chunk), absl::OkStatus());
        while (target_->Forget({}, 50)) {
        }
        ASSERT_EQ(source_->range(), Range{});
        ASSERT_EQ(RowsOf(*source_), rows);
      }
    }
    EXPECT_GT(rests, 0u);
  }
}

TEST_P(TreeLoanTest, NothingButTheCopyNeedsMemory) {
  SCOPED_TRACE(SeedText());
  const Contents rows = SomeRows(Keys::kMixed, 4000);
  source_ = Make(Range{}, first_);
  Put(*source_, rows);
  Prepare(*source_, Range{});
  uint32_t loans = 0, calls = 0;
  for (int round = 0; !source_->range().Empty(); ++round) {
    ExchangeChunk chunk;
    first_.FailAllocationsFrom(1);
    ASSERT_EQ(Lend(*source_, round % 2 == 0 ? End::kLow : End::kHigh, 300, chunk),
              absl::OkStatus());
    ASSERT_EQ(RowsOf(chunk), RowsIn(rows, chunk.covers));
    if (round % 3 == 0) {
      source_->TakeBack();
    } else {
      // In pieces of about that: the rest is there for the next call.
      ++loans;
      do {
        ++calls;
      } while (source_->Forget({}, 50));
    }
    first_.FailAllocationsFrom(0);
    ASSERT_EQ(RowsOf(*source_), RowsIn(rows, source_->range()));
  }
  EXPECT_GT(calls, loans);
}

TEST_P(TreeLoanTest, RefusedChunksChangeNothing) {
  SCOPED_TRACE(SeedText());
  const Contents rows = SomeRows(Keys::kMixed, 2000);
  source_ = Make(Range{}, first_);
  target_ = Make({Key{7}, Key{7}}, second_);
  Put(*source_, rows);
  ExchangeChunk chunk;
  ASSERT_EQ(Lend(*source_, End::kHigh, 600, chunk), absl::OkStatus());
  ASSERT_EQ(target_->Ingest(chunk), absl::OkStatus());
  source_->Forget({}, kAll);
  ASSERT_EQ(Lend(*source_, End::kHigh, 600, chunk), absl::OkStatus());
  const Range range = target_->range();
  absl::Status status = absl::ResourceExhaustedError("");
  uint64_t nth = 1;
  for (; absl::IsResourceExhausted(status); nth += 1 + nth / 8) {
    ASSERT_EQ(target_->range(), range);
    ASSERT_EQ(RowsOf(*target_), RowsIn(rows, range));
    second_.FailAllocationsFrom(nth);
    status = target_->Ingest(chunk);
    second_.FailAllocationsFrom(0);
  }
  ASSERT_EQ(status, absl::OkStatus());
  EXPECT_GT(nth, 2u);
  source_->Forget({}, kAll);
  ASSERT_EQ(RowsOf(*target_), RowsIn(rows, target_->range()));
}

// Rows that were forgotten when there was no memory to cut them off are cut off by the next change
// of ranges. Where that is refused after all, it must not keep the blocks that the cut took.
TEST_P(TreeLoanTest, ARefusedChangeOfRangesTakesNoMemory) {
  SCOPED_TRACE(SeedText());
  enum Call { kSplit, kAbsorb, kIngest };
  const auto used = [&] {
    EndTurns();
    return memory_.manager.Account().used_bytes;
  };
  if (hash()) return;  // it is not cut
  uint32_t refused = 0;
  for (const Keys kind : {Keys::kMixed, Keys::kOneByte, Keys::kDense, Keys::kSparse}) {
    const Contents rows = SomeRows(kind, 500);
    const auto key_at = [&](size_t part) {
      return Key{
          std::next(rows.begin(), static_cast<ptrdiff_t>(rows.size() * part / 8))->first.first};
    };
    const Range whole{key_at(2), key_at(6)};
    if (whole.lo == key_at(0) || whole.lo == key_at(4) || key_at(4) == *whole.hi) continue;
    for (const End end : {End::kLow, End::kHigh}) {
      for (const Call call : {kSplit, kAbsorb, kIngest}) {
        bool done = false;
        for (uint64_t nth = 1; !done; ++nth) {
          // Its lower neighbour comes to it, or rows of that.
          target_ = Make({key_at(0), whole.lo}, first_);
          Put(*target_, RowsIn(rows, target_->range()));
          ExchangeChunk coming, chunk;
          if (call == kIngest) {
            ASSERT_EQ(Lend(*target_, End::kHigh, 50, coming), absl::OkStatus());
          }
          source_ = Make(whole, first_);
          Put(*source_, RowsIn(rows, whole));
          ASSERT_EQ(Lend(*source_, end, 40, chunk), absl::OkStatus());
          if (end == End::kLow && call != kSplit) {
            // The range that was given away comes back as a part of the neighbour.
            coming = chunk;
            target_ = Make({source_->range().lo, source_->range().lo}, first_);
            if (call == kAbsorb) {
              ASSERT_EQ(target_->Ingest(chunk), absl::OkStatus());
            }
          }
          first_.FailAllocationsFrom(1);
          source_->Forget({}, 1);
          first_.FailAllocationsFrom(0);
          const Contents before = RowsOf(*source_);
          const uint64_t used_before = used();
          first_.FailAllocationsFrom(nth);
          const absl::Status status =
              call == kSplit    ? source_->ordered()->SplitAt(key_at(4)).status()
              : call == kAbsorb ? source_->ordered()->Absorb(*target_->ordered())
                                : source_->Ingest(coming);
          first_.FailAllocationsFrom(0);
          done = status.ok();
          if (done) continue;
          ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
          ++refused;
          ASSERT_LE(used(), used_before)
              << KeysName(kind) << ", call " << call << ", request " << nth;
          ASSERT_EQ(RowsOf(*source_), before);
        }
      }
    }
  }
  EXPECT_GT(refused, 50u);
}

TEST_P(TreeLoanTest, NoOtherChangeOfRangesWhileRowsAreLent) {
  source_ = Make(Range::FromPublic({0, 1000}), first_);
  target_ = Make(Range::FromPublic({1000, 2000}), first_);
  Put(*source_, {{{0, 0}, 1}, {{500, 0}, 2}, {{999, 0}, 3}});
  Put(*target_, {{{1500, 0}, 4}});
  ExchangeChunk chunk, other;
  for (const Range& bad :
       {Range::FromPublic({0, 2000}), Range::FromPublic({10, 20}), Range::FromPublic({0, 0})}) {
    const absl::Status status = source_->Lend(bad, End::kLow, 1, chunk);
    EXPECT_TRUE(hash() ? absl::IsFailedPrecondition(status) : absl::IsInvalidArgument(status));
  }
  ASSERT_EQ(Lend(*source_, End::kLow, 1, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, Range::FromPublic({0, 1}));
  EXPECT_TRUE(absl::IsFailedPrecondition(source_->Lend(source_->range(), End::kLow, 1, other)));
  if (!hash()) {
    EXPECT_TRUE(absl::IsFailedPrecondition(source_->ordered()->SplitAt(Key{500}).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(source_->ordered()->Absorb(*target_->ordered())));
    EXPECT_TRUE(absl::IsFailedPrecondition(target_->ordered()->Absorb(*source_->ordered())));
  }
  other = {.covers = chunk.covers, .keys = {}, .values = {}};
  if (bytes()) other.offsets = {0};
  EXPECT_TRUE(absl::IsFailedPrecondition(source_->Ingest(other)));
  source_->TakeBack();
  EXPECT_EQ(RowsOf(*source_), (Contents{{{0, 0}, 1}, {{500, 0}, 2}, {{999, 0}, 3}}));
  // An end without rows, and one that is all there is.
  if (!hash()) {
    ASSERT_EQ(source_->Lend(Range::FromPublic({600, 1000}), End::kHigh, 5, chunk),
              absl::OkStatus());
    EXPECT_EQ(chunk.covers, Range::FromPublic({600, 1000}));
    EXPECT_EQ(chunk.keys.size(), 1u);
    source_->TakeBack();
  }
  EXPECT_EQ(source_->range(), Range::FromPublic({0, 1000}));
}

TEST_P(TreeLoanTest, BothEndsOfTheKeySpace) {
  source_ = Make(Range{}, first_);
  const Contents rows = {{{0, 0}, 10}, {{1, 0}, 11}, {{kKeyMax - 1, 0}, 12}, {{kKeyMax, 0}, 13}};
  Put(*source_, rows);
  Prepare(*source_, Range{});
  ExchangeChunk chunk;
  ASSERT_EQ(Lend(*source_, End::kLow, 1, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, (Range{Key{0}, Key{1}}));
  EXPECT_EQ(RowsOf(chunk), (Contents{{{0, 0}, 10}}));
  EXPECT_FALSE(source_->Forget({}, kAll));
  ASSERT_EQ(Lend(*source_, End::kHigh, 1, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, (Range{Key{kKeyMax}, std::nullopt}));
  EXPECT_EQ(RowsOf(chunk), (Contents{{{kKeyMax, 0}, 13}}));
  EXPECT_FALSE(source_->Forget({}, kAll));
  EXPECT_EQ(source_->range(), (Range{Key{1}, Key{kKeyMax}}));
  ASSERT_EQ(Lend(*source_, End::kHigh, kAll, chunk), absl::OkStatus());
  EXPECT_EQ(chunk.covers, (Range{Key{1}, Key{kKeyMax}}));
  EXPECT_EQ(source_->size(), 0u);
  source_->TakeBack();
  EXPECT_EQ(source_->size(), 2u);
}

TEST_P(TreeLoanTest, ANewHomeTakesAndGivesMemory) {
  SCOPED_TRACE(SeedText());
  Contents rows = SomeRows(Keys::kMixed, 4000);
  source_ = Make(Range{}, first_);
  Put(*source_, rows);
  EXPECT_EQ(source_->ordered() == nullptr, hash());
  if (hash()) return;
  TreeMemory elsewhere;
  EXPECT_TRUE(absl::IsInvalidArgument(source_->ordered()->Rehome(elsewhere.cache)));
  // A rest of forgotten rows goes along.
  ExchangeChunk chunk;
  ASSERT_EQ(Lend(*source_, End::kLow, 2000, chunk), absl::OkStatus());
  EXPECT_TRUE(source_->Forget({}, 10));
  const Contents kept = RowsIn(rows, source_->range());
  target_ =
      *source_->ordered()->SplitAt(Key{std::next(kept.begin(), kept.size() / 2)->first.first});
  const uint64_t of_first = first_.used_bytes();
  ASSERT_EQ(source_->ordered()->Rehome(second_), absl::OkStatus());
  ASSERT_TRUE(absl::IsInvalidArgument(source_->ordered()->Absorb(*target_->ordered())));
  ASSERT_EQ(target_->ordered()->Rehome(second_), absl::OkStatus());
  EXPECT_EQ(first_.used_bytes(), of_first);
  EXPECT_EQ(second_.used_bytes(), 0u);
  ASSERT_EQ(target_->ordered()->Absorb(*source_->ordered()),
            absl::OkStatus());  // what is left to free, too
  EXPECT_EQ(target_->range(), (Range{chunk.covers.hi.value(), std::nullopt}));
  rows = RowsIn(rows, target_->range());
  EXPECT_EQ(RowsOf(*target_), rows);
  // Blocks of both grow, shrink and move.
  for (int round = 0; round < 10; ++round) {
    const Contents news = RowsIn(SomeRows(Keys::kMixed, 1000), target_->range());
    Put(*target_, news);
    for (const auto& [key, value] : news) rows[key] = value;
    Contents gone;
    for (const auto& row : rows) {
      if (random_() % 3 == 0) gone.insert(row);
    }
    Execute(*target_, Operation::kErase, gone);
    for (const auto& [key, value] : gone) rows.erase(key);
    ASSERT_EQ(RowsOf(*target_), rows);
    EndTurns();
  }
}

INSTANTIATE_TEST_SUITE_P(All, TreeLoanTest,
                         testing::Values(RowsKind::kIndex, RowsKind::kBytes, RowsKind::kTwoParts,
                                         RowsKind::kHash, RowsKind::kVersioned),
                         RowsKindName);

}  // namespace
}  // namespace eris::storage
