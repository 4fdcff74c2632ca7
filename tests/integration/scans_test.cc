// Ordered scans and aggregates of indexes of every kind, on running AEUs, against a map: across
// partitions of several AEUs, in both directions, resumed behind every chunk, and with writers
// beside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "eris/engine.h"
#include "tests/support/any_object.h"
#include "tests/support/sanitized.h"
#include "tests/support/seed.h"

namespace eris {
namespace {

using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kKeySpan = 200'000;
// For two-part keys: first parts, 16 on each of four AEUs, and the one with more rows than a chunk
// has room for.
constexpr uint64_t kFirsts = 64;
constexpr uint64_t kManyRows = 20;

struct ScanCase {
  AnyKind kind;
  std::string machine = "";
  Options options = test::SmallOptions();
};

class ScansTest : public testing::TestWithParam<ScanCase> {
 protected:
  void SetUp() override {
    CreateOptions options = test::OptionsOf(kind_);
    // The last AEU's partition goes to the end of the key space.
    options.expected = {0, two_parts() ? kFirsts : kKeySpan};
    ASSERT_TRUE(object_.Create(options).ok());
    ASSERT_TRUE(object_.Ready().ok());
  }
  bool two_parts() const { return kind_ == AnyKind::kTwoParts; }
  bool strings() const { return kind_ == AnyKind::kBytes; }

  // One part: a dense stretch, a sparse one, some anywhere, and both ends. Two: rows under every
  // first part, those of kManyRows in the thousands.
  void Fill() {
    for (uint64_t key = 0; !two_parts() && key < kKeySpan;
         key += key < kKeySpan / 2 ? 1 : 1 + random_() % 8) {
      Add({key, 0});
    }
    for (int i = 0; !two_parts() && i < 1000; ++i) Add({random_(), 0});
    for (uint64_t first = 0; two_parts() && first < kFirsts; ++first) {
      const uint64_t rows = first == kManyRows ? 80'000 : first % 5 == 0 ? 1 : first * 40;
      for (uint64_t i = 0; i < rows; ++i) Add({first, 2 * i});
      if (first % 5 == 0 || first == 16) Add({first, kMax}), Add({first, kMax - 1});
    }
    for (const uint64_t first : {uint64_t{0}, kMax - 1, kMax}) {
      Add({first, 0});
      if (two_parts()) Add({first, kMax});
    }
    Put(AnyRows(rows_.begin(), rows_.end()));
  }
  void Add(const AnyKey& key) {
    rows_[key] = random_() % 1000 == 0 && !strings() ? kMax : random_() % 1000;
  }
  void Put(const AnyRows& rows) {
    for (size_t i = 0; i < rows.size(); i += 10'000) {
      const auto end = rows.begin() + static_cast<long>(std::min(rows.size(), i + 10'000));
      ASSERT_TRUE(object_.Put({rows.begin() + static_cast<long>(i), end}).ok());
    }
  }

  AnyRows Expected(const Query& query) const {
    AnyRows rows;
    const KeyRange& range = query.range;
    for (const auto& [key, value] : rows_) {
      if (key < AnyKey{range.lo, range.lo_second}) continue;
      if (range.hi && key >= AnyKey{*range.hi, range.hi_second}) continue;
      if (query.values && !query.values->Contains(value)) continue;
      rows.push_back({key, query.columns.empty() ? value : 0});
    }
    if (query.direction == ScanDirection::kBackward) std::reverse(rows.begin(), rows.end());
    if (query.limit > 0 && rows.size() > query.limit) rows.resize(query.limit);
    return rows;
  }
  AnyRows Read(const Query& query, bool resumed = false) {
    auto rows = object_.Read(query, resumed);
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? *std::move(rows) : AnyRows();
  }
  RangeAggregate Aggregate(const AggregateOptions& options) {
    const auto result = object_.session().Aggregate(object_.object(), options);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(RangeAggregate{});
  }
  // Bounds of two-part keys mostly inside first parts, often those of partitions' ends.
  AnyKey AnyBound() {
    if (!two_parts()) return {random_() % 8 == 0 ? random_() : random_() % kKeySpan, 0};
    const uint64_t first = random_() % 10 == 0 ? kMax - random_() % 2 : random_() % kFirsts;
    switch (random_() % 5) {
      case 0:
        return {16 * (random_() % 5), random_() % 3 == 0 ? 0 : random_() % 1500};
      case 1:
        return {kManyRows, random_() % 170'000};
      case 2:
        return {first, 0};
      case 3:
        return {first, kMax - random_() % 2};
      default:
        return {first, random_() % 3000};
    }
  }
  KeyRange AnyRange() {
    const auto [lo, hi] = std::minmax({AnyBound(), AnyBound()});
    KeyRange range{.lo = lo.first, .hi = hi.first, .lo_second = lo.second, .hi_second = hi.second};
    if (random_() % 4 == 0) range.lo = range.lo_second = 0;
    if (random_() % 4 == 0) range.hi.reset(), range.hi_second = 0;
    return range;
  }
  std::optional<ValueRange> AnyValues() {
    if (strings()) return std::nullopt;
    switch (random_() % 6) {
      case 0:
        return ValueRange{500, 509};
      case 1:
        return ValueRange{100, 900};
      case 2:
        return ValueRange{kMax, kMax};
      default:
        return std::nullopt;
    }
  }
  static void AddTo(RangeAggregate& sum, const AnyKey& key, uint64_t value) {
    RangeAggregate one{1, value, value, value, 0, key.first, key.first};
    if (GetParam().kind == AnyKind::kTwoParts) one.first_second = one.last_second = key.second;
    sum.Add(one);
  }

  const AnyKind kind_ = GetParam().kind;
  std::mt19937_64 random_{test::Seed()};
  std::unique_ptr<Engine> engine_ = test::OpenEngine(GetParam().options);
  AnyObject object_{*engine_, kind_, "o"};
  std::map<AnyKey, uint64_t> rows_;
};

std::vector<ScanCase> ScanCases() {
  return {{AnyKind::kIndex, "OneAeu", test::SmallOptions(1, "")},
          {AnyKind::kIndex, "SevenAeus", test::SmallOptions(7, "")},
          {AnyKind::kIndex, "FourNumaNodes", test::SmallOptions(8, "numa:4 core:2 pu:1")},
          {AnyKind::kIndex},
          {AnyKind::kSigned},
          {AnyKind::kBytes},
          {AnyKind::kTwoParts}};
}
INSTANTIATE_TEST_SUITE_P(Kinds, ScansTest, testing::ValuesIn(ScanCases()),
                         [](const auto& of) { return NameOf(of.param.kind) + of.param.machine; });

TEST_P(ScansTest, BothDirectionsAgreeWithAMapAlsoFromEveryChunk) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Fill();
  for (int round = 0; round < test::Fewer(24, 10); ++round) {
    Query query{.range = AnyRange(), .values = AnyValues()};
    if (round % 2 == 0) query.direction = ScanDirection::kBackward;
    if (random_() % 2 == 0) query.limit = 1 + random_() % 100'000;
    if (random_() % 3 == 0) query.columns = object_.KeysAlone();
    if (round == 0) query.range = {};
    const AnyRows expected = Expected(query);
    ASSERT_TRUE(Read(query) == expected) << "round " << round;
    ASSERT_TRUE(Read(query, true) == expected) << "round " << round;
  }
}

// For two-part keys, also inside the first part that has more rows than one chunk.
TEST_P(ScansTest, ARangeOfManyRowsComesInSeveralChunks) {
  Fill();
  for (const auto direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    const Query query{.range = two_parts() ? KeyRange{kManyRows, kManyRows + 1} : KeyRange{},
                      .direction = direction};
    int chunks = 0;
    const auto rows = object_.Read(query, true, &chunks);
    ASSERT_TRUE(rows.ok()) << rows.status();
    EXPECT_GE(chunks, 3);
    EXPECT_TRUE(*rows == Expected(query));
  }
}

TEST_P(ScansTest, AggregatesAgreeWithAMap) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  Fill();
  for (int round = 0; round < test::Fewer(40, 15); ++round) {
    AggregateOptions options{.range = AnyRange(), .values = AnyValues()};
    RangeAggregate expected;
    for (const auto& [key, value] : Expected({.range = options.range, .values = options.values})) {
      AddTo(expected, key, value);
    }
    if (!strings()) {
      ASSERT_EQ(Aggregate(options), expected) << "round " << round;
    }
    options.count_only = true;
    ASSERT_EQ(Aggregate(options).count, expected.count) << "round " << round;
  }
}

TEST_P(ScansTest, TheLastKeyOfADirectionIsKnownToBeTheEnd) {
  Fill();
  const auto last_chunk = [&](const Query& query) {
    const auto scan = test::OrDie(object_.session().OpenScan(object_.object(), query));
    return test::OrDie(scan->Next());
  };
  const auto low = last_chunk({.range = {0, 1}, .direction = ScanDirection::kBackward});
  ASSERT_NE(low, nullptr);
  EXPECT_EQ(low->resume(), "");
  KeyRange end{.lo = kMax};
  if (two_parts()) end.lo_second = kMax;
  const auto high = last_chunk({.range = end});
  ASSERT_NE(high, nullptr);
  EXPECT_EQ(high->rows(), 1u);
  EXPECT_EQ(high->resume(), "");
}

TEST_P(ScansTest, AnEmptyRangeHasNoRows) {
  Fill();
  EXPECT_TRUE(Read({.range = {7, 7}, .direction = ScanDirection::kBackward}).empty());
  EXPECT_TRUE(Read({.range = {7, 7}}).empty());
  if (!strings()) {
    EXPECT_EQ(Aggregate({.range = {7, 7}}), RangeAggregate{});
  }
  EXPECT_EQ(Aggregate({.range = {7, 7}, .count_only = true}).count, 0u);
}

// A reader that keeps a chunk while its rows are replaced and go away, and the object is dropped.
TEST_P(ScansTest, AChunkOutlivesItsRows) {
  AnyRows rows;
  std::vector<AnyKey> keys;
  for (uint64_t i = 0; i < 2000; ++i) {
    keys.push_back({i, 0});
    rows.push_back({keys[i], 16 * i});  // strings are long
  }
  Put(rows);
  const auto scan = test::OrDie(object_.session().OpenScan(object_.object(), {}));
  const auto chunk = test::OrDie(scan->Next());
  ASSERT_NE(chunk, nullptr);
  for (auto& [key, value] : rows) value = 3;
  Put(rows);
  ASSERT_TRUE(object_.Erase(keys).ok());
  ASSERT_TRUE(engine_->Drop("o").ok());
  AnyRows kept;
  object_.AppendRows(*chunk, kept);
  ASSERT_FALSE(kept.empty());
  for (size_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(kept[i], (std::pair<AnyKey, uint64_t>{keys[i], 16 * i}));
  }
}

// Rows that nobody touches are in each scan and each sum, whatever is written around them.
TEST_P(ScansTest, WritersBesideThemDisturbNoUntouchedRow) {
  SCOPED_TRACE(test::SeedText(test::Seed()));
  constexpr uint64_t kMark = 1'000'000;  // untouched rows have values that no writer uses
  AnyRows marked;
  const auto key_of = [&](uint64_t i) -> AnyKey {
    return two_parts() ? AnyKey{i % kFirsts, i} : AnyKey{i, 0};
  };
  for (uint64_t i = 1; i < 60'000; i += 2) marked.push_back({key_of(i), kMark + i});
  std::sort(marked.begin(), marked.end());
  Put(marked);
  RangeAggregate expected;
  for (const auto& [key, value] : marked) AddTo(expected, key, value);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    AnyObject object(*engine_, kind_, "o");
    std::mt19937_64 random(test::Seed() + 1);
    while (!stop.load()) {
      AnyRows put;
      std::vector<AnyKey> erased;
      for (int i = 0; i < 500; ++i) {
        put.push_back({key_of(random() % 60'000 & ~uint64_t{1}), 5});
        erased.push_back(key_of(random() % 60'000 & ~uint64_t{1}));
      }
      EXPECT_TRUE(object.Put(put).ok());
      EXPECT_TRUE(object.Erase(erased).ok());
    }
  });
  for (int round = 0; round < 6; ++round) {
    Query query;
    if (round % 2 == 0) query.direction = ScanDirection::kBackward;
    if (!strings()) {
      query.values = ValueRange{kMark, 2 * kMark};
      EXPECT_EQ(Aggregate({.values = query.values}), expected);
    }
    AnyRows rows = Read(query);
    std::erase_if(rows, [](const auto& row) { return row.second < kMark; });
    if (round % 2 == 0) std::reverse(rows.begin(), rows.end());
    EXPECT_TRUE(rows == marked) << rows.size();
  }
  stop.store(true);
  writer.join();
}

// --- Of two-part keys alone, and of several kinds together.

TEST(TwoPartScansTest, ARangeEndsBeforeItsSecondPartAndBeginsAtIt) {
  const auto engine = test::OpenEngine();
  AnyObject object(*engine, AnyKind::kTwoParts, "o");
  ASSERT_TRUE(object.Create({16, 32, 48}).ok());
  ASSERT_TRUE(object
                  .Put({{{15, 7}, 1},
                        {{15, kMax}, 1},
                        {{16, 0}, 1},
                        {{16, 1}, 1},
                        {{16, kMax}, 1},
                        {{17, 0}, 1}})
                  .ok());
  using Keys = std::vector<AnyKey>;
  const auto read = [&](const KeyRange& range) {
    Keys keys, back;
    for (const auto& row : test::OrDie(object.Read({.range = range}))) keys.push_back(row.first);
    for (const auto& row :
         test::OrDie(object.Read({.range = range, .direction = ScanDirection::kBackward}, true))) {
      back.insert(back.begin(), row.first);
    }
    EXPECT_EQ(keys, back);
    return keys;
  };
  EXPECT_EQ(read({.lo = 15, .hi = 16, .lo_second = 8, .hi_second = 1}),
            (Keys{{15, kMax}, {16, 0}}));
  EXPECT_EQ(read({.lo = 15, .hi = 16, .lo_second = kMax}), (Keys{{15, kMax}}));
  EXPECT_EQ(read({.lo = 16, .hi = 16, .hi_second = kMax}), (Keys{{16, 0}, {16, 1}}));
  EXPECT_EQ(read({.lo = 16, .hi = 17, .lo_second = kMax}), (Keys{{16, kMax}}));
  EXPECT_EQ(read({.lo = 16, .hi = 17}), (Keys{{16, 0}, {16, 1}, {16, kMax}}));
  EXPECT_EQ(read({.lo = 16, .hi = 16}), Keys{});
  EXPECT_EQ(read({.lo = 16, .hi = 16, .lo_second = 1, .hi_second = 1}), Keys{});
  EXPECT_EQ(read({.lo = 17, .lo_second = 0}), (Keys{{17, 0}}));
}

// The pool's chunks change their columns with the scan that has them.
TEST(ScansOfSeveralKindsTest, ChunksServeEachInTurn) {
  const auto engine = test::OpenEngine();
  std::vector<std::unique_ptr<AnyObject>> objects;
  AnyRows rows;
  for (uint64_t i = 0; i < 70'000; ++i) rows.push_back({{i, 0}, i});
  for (const AnyKind kind :
       {AnyKind::kIndex, AnyKind::kTwoParts, AnyKind::kBytes, AnyKind::kSigned}) {
    objects.push_back(std::make_unique<AnyObject>(*engine, kind, NameOf(kind)));
    ASSERT_TRUE(objects.back()->Create({20'000, 40'000, 60'000}).ok());
    ASSERT_TRUE(objects.back()->Put(rows).ok());
  }
  for (int round = 0; round < 3; ++round) {
    for (const auto& object : objects) {
      const auto all = object->All();
      ASSERT_TRUE(all.ok()) << all.status();
      ASSERT_TRUE(*all == rows) << object->name();
    }
  }
}

}  // namespace
}  // namespace eris
