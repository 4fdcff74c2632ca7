// Joins against a map from keys to rows: every type of key, several keys, nulls, NaN, duplicates,
// skew, empty sides, small outputs, refused memory.
#include "storage/query/operators/join_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "storage/query/operators/join_probe.h"
#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

using Columns = std::vector<EnvelopeColumn>;
using Pair = std::pair<uint32_t, RowNumber>;  // row of the probe side, row of the build side

Columns ColumnsOf(const std::vector<ColumnType>& types) {
  Columns columns;
  for (const ColumnType type : types) columns.push_back({.type = type});
  return columns;
}

// Equal for rows that join. Nothing if a key joins nothing.
std::optional<std::string> KeyText(const Columns& columns, const CellRow& row) {
  std::string text;
  for (size_t c = 0; c < columns.size(); ++c) {
    const Cell& cell = row[c];
    if (cell.null || std::isnan(cell.real)) return std::nullopt;
    if (IsByteString(columns[c].type)) {
      text += std::to_string(cell.text.size()) + ":" + cell.text;
    } else if (columns[c].type == ColumnType::kFloat64) {
      const double one_zero = cell.real + 0.0;
      text.append(reinterpret_cast<const char*>(&one_zero), 8);
    } else {
      text.append(reinterpret_cast<const char*>(&cell.number), 16);
    }
  }
  return text;
}

// Two sides whose columns are all keys, and what joins.
class JoinLab {
 public:
  JoinLab(const Columns& build_columns, const Columns& probe_columns, std::vector<CellRow> build,
          std::vector<CellRow> probe, Random& random)
      : random_(random),
        build_list(lab.memory, build_columns),
        probe_list(lab.memory, probe_columns),
        build_rows_(std::move(build)),
        probe_rows_(std::move(probe)) {
    for (uint32_t c = 0; c < build_columns.size(); ++c) keys.push_back({.build = c, .probe = c});
    const auto numbers = AddRows(lab, build_list, build_rows_, random, 3000);
    for (size_t r = 0; r < build_rows_.size(); ++r) {
      const auto key = KeyText(build_columns, build_rows_[r]);
      if (key.has_value()) by_key_[*key].push_back(numbers[r]);
    }
    if (!probe_rows_.empty()) AddEnvelope(lab, probe_list, probe_rows_, 0, probe_rows_.size());
    EXPECT_TRUE(JoinKeys::Check(build_columns, probe_columns, keys).ok());
  }

  // Builds, and goes on after a refusal. Whether there was one.
  bool Build(JoinTable& table) {
    bool refused = false;
    for (;;) {
      const StepResult result = table.Build();
      refused |= result == StepResult::kNoMemory;
      if (result == StepResult::kDone) return refused;
    }
  }

  const std::vector<RowNumber>& PartnersOf(uint32_t row) const {
    static const std::vector<RowNumber> none;
    const auto key =
        KeyText({probe_list.columns().begin(), probe_list.columns().end()}, probe_rows_[row]);
    if (!key.has_value()) return none;
    const auto found = by_key_.find(*key);
    return found == by_key_.end() ? none : found->second;
  }
  bool AnyDuplicates() const {
    return std::any_of(by_key_.begin(), by_key_.end(),
                       [](const auto& entry) { return entry.second.size() > 1; });
  }

  // Probes with all blocks, through outputs of at most `capacity_max` pairs.
  void ExpectPairs(const JoinTable& table, JoinProbe::Rows which, uint32_t capacity_max) {
    JoinProbe probe(table, lab.memory);
    ASSERT_TRUE(probe.Prepare());
    ForBlocks([&](const SegmentView& view, uint32_t base, uint32_t rows) {
      std::vector<Pair> expected;
      for (uint32_t row = 0; row < rows; ++row) {
        for (const RowNumber partner : PartnersOf(base + row)) expected.emplace_back(row, partner);
        if (which == JoinProbe::Rows::kAllOfProbe && PartnersOf(base + row).empty()) {
          expected.emplace_back(row, kNoRow);
        }
      }
      std::vector<Pair> found;
      probe.Begin(view, base, rows, which);
      for (bool done = false; !done;) {
        const auto capacity = static_cast<uint32_t>(1 + random_() % capacity_max);
        std::vector<uint16_t> picks(capacity);
        std::vector<RowNumber> numbers(capacity);
        RowPairs out{.probe = picks.data(), .build = numbers.data(), .capacity = capacity};
        done = probe.Next(out);
        ASSERT_TRUE(done || out.count == capacity);
        for (uint32_t i = 0; i < out.count; ++i) found.emplace_back(picks[i], numbers[i]);
      }
      ASSERT_TRUE(std::is_sorted(found.begin(), found.end(),
                                 [](const Pair& a, const Pair& b) { return a.first < b.first; }));
      std::sort(found.begin(), found.end());
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(found, expected);
    });
  }

  // A row's pairs come until one that matches: those are its first `tries` ones, or none matches.
  void ExpectFirstMatches(const JoinTable& table) {
    JoinProbe probe(table, lab.memory);
    ASSERT_TRUE(probe.Prepare());
    ForBlocks([&](const SegmentView& view, uint32_t base, uint32_t rows) {
      std::vector<size_t> tries;
      for (uint32_t row = 0; row < rows; ++row) tries.push_back(random_() % 20);
      uint64_t matched[kBlockWords] = {};
      std::vector<std::vector<RowNumber>> found(rows);
      probe.Begin(view, base, rows, JoinProbe::Rows::kPartners);
      for (bool done = false; !done;) {
        uint16_t picks[kBlockRows];
        RowNumber numbers[kBlockRows];
        RowPairs out{.probe = picks, .build = numbers, .capacity = kBlockRows};
        done = probe.NextOfUnmatched(matched, out);
        for (uint32_t i = 0; i < out.count; ++i) {
          ASSERT_FALSE(BitAt(matched, picks[i]));
          found[picks[i]].push_back(numbers[i]);
        }
        for (uint32_t row = 0; row < rows; ++row) {
          if (found[row].size() > tries[row]) matched[row / 64] |= uint64_t{1} << row % 64;
        }
      }
      for (uint32_t row = 0; row < rows; ++row) {
        const size_t all = PartnersOf(base + row).size();
        ASSERT_EQ(BitAt(matched, row), all > tries[row]);
        ASSERT_LE(found[row].size(), std::min(all, 2 * tries[row] + 1));
        std::set<RowNumber> distinct(found[row].begin(), found[row].end());
        ASSERT_EQ(distinct.size(), found[row].size());
        for (const RowNumber partner : PartnersOf(base + row)) distinct.erase(partner);
        ASSERT_TRUE(distinct.empty());
      }
    });
  }

  // Masked at random.
  void ExpectKept(const JoinTable& table) {
    JoinProbe probe(table, lab.memory);
    ASSERT_TRUE(probe.Prepare());
    for (const bool with : {true, false}) {
      ForBlocks([&](const SegmentView& view, uint32_t base, uint32_t rows) {
        uint64_t kept[kBlockWords] = {};
        std::vector<bool> counts;
        const bool all = random_() % 2 == 0;
        for (uint32_t row = 0; row < rows; ++row) {
          counts.push_back(all || random_() % 3 != 0);
          kept[row / 64] |= uint64_t{counts[row]} << row % 64;
        }
        probe.Keep(view, base, rows, kept, with);
        for (uint32_t row = 0; row < rows; ++row) {
          ASSERT_EQ(BitAt(kept, row), counts[row] && PartnersOf(base + row).empty() != with) << row;
        }
      });
    }
  }

  QueryLab lab;

 private:
  template <class What>
  void ForBlocks(What what) {
    if (probe_list.size() == 0) return;
    const SegmentView& view = probe_list[0].view();
    for (uint32_t base = 0; base < view.rows; base += kBlockRows) {
      what(view, base, std::min(view.rows - base, kBlockRows));
    }
  }

  Random& random_;

 public:
  EnvelopeList build_list;
  EnvelopeList probe_list;
  std::vector<JoinKey> keys;

 private:
  const std::vector<CellRow> build_rows_;
  const std::vector<CellRow> probe_rows_;
  std::map<std::string, std::vector<RowNumber>> by_key_;
};

struct JoinCase {
  std::vector<ColumnType> build;
  std::vector<ColumnType> probe;
};

std::vector<JoinCase> AllJoinCases() {
  using enum ColumnType;
  std::vector<JoinCase> cases;
  for (const ColumnType type : kAllTypes) cases.push_back({{type}, {type}});
  for (JoinCase each : std::vector<JoinCase>{
           {{kInt32}, {kInt64}},
           {{kDecimal}, {kDate}},
           {{kInt32, kUint64}, {kInt64, kUint64}},
           {{kInt64, kInt64, kInt64}, {kInt64, kInt32, kInt64}},
           {{kString, kInt32}, {kString, kInt32}},
           {{kFloat64, kInt128}, {kFloat64, kInt128}},
           {{kFloat64, kFloat64, kString, kString}, {kFloat64, kFloat64, kString, kString}}}) {
    cases.push_back(std::move(each));
  }
  cases.push_back({std::vector(16, kInt32), std::vector(16, kInt64)});
  return cases;
}

TEST(JoinTableTest, AllKindsOfKeysJoinAsAMapDoes) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const JoinCase& each : AllJoinCases()) {
    for (const Values values : {Values::kFew, Values::kDense, Values::kAny}) {
      const Columns build = ColumnsOf(each.build), probe = ColumnsOf(each.probe);
      const size_t rows = values == Values::kFew ? 150 : 5000;
      const int nulls = random() % 2 == 0 ? 0 : 10;
      JoinLab join(build, probe, RandomRows(build, random() % rows, values, nulls, random),
                   RandomRows(probe, random() % rows, values, nulls, random), random);
      JoinTable table(join.lab.memory, join.build_list, join.keys, random());
      EXPECT_FALSE(join.Build(table));
      if (table.keys().form() != JoinKeys::Form::kHashed) {
        EXPECT_EQ(table.unique(), !join.AnyDuplicates());
      }
      join.ExpectPairs(table, JoinProbe::Rows::kPartners, 700);
      join.ExpectPairs(table, JoinProbe::Rows::kAllOfProbe, 700);
      join.ExpectFirstMatches(table);
      join.ExpectKept(table);
    }
  }
}

TEST(JoinTableTest, EmptySidesAndNullsAlone) {
  Random random(3);
  for (const ColumnType type : kAllTypes) {
    const Columns columns = ColumnsOf({type, type});
    for (const size_t build_rows : {0, 1, 100}) {
      for (const int nulls : {0, 100}) {
        JoinLab join(columns, columns, RandomRows(columns, build_rows, Values::kFew, nulls, random),
                     RandomRows(columns, 100, Values::kFew, 5, random), random);
        JoinTable table(join.lab.memory, join.build_list, join.keys, 1);
        EXPECT_FALSE(join.Build(table));
        join.ExpectPairs(table, JoinProbe::Rows::kPartners, 10);
        join.ExpectPairs(table, JoinProbe::Rows::kAllOfProbe, 10);
        join.ExpectFirstMatches(table);
        join.ExpectKept(table);
      }
    }
  }
}

std::vector<CellRow> Numbers(const std::vector<int64_t>& numbers) {
  std::vector<CellRow> rows;
  for (const int64_t number : numbers) rows.push_back({Cell{.number = number}});
  return rows;
}

TEST(JoinTableTest, AnArrayWhereTheSpanIsAtMostEightTimesTheRows) {
  Random random(4);
  const Columns columns = ColumnsOf({ColumnType::kInt64});
  for (const int64_t least : {int64_t{0}, int64_t{-50}, INT64_MIN, INT64_MAX - 800}) {
    for (const int64_t span : {800, 801}) {
      std::vector<int64_t> numbers = {least, least + (span - 1)};
      while (numbers.size() < 100) numbers.push_back(least + static_cast<int64_t>(random() % span));
      std::vector<int64_t> probed = {INT64_MIN, INT64_MAX, 0, least, least + (span - 1)};
      for (int64_t i = 0; i < 900 && least <= INT64_MAX - i; ++i) probed.push_back(least + i);
      JoinLab join(columns, columns, Numbers(numbers), Numbers(probed), random);
      JoinTable table(join.lab.memory, join.build_list, join.keys, 1);
      EXPECT_FALSE(join.Build(table));
      EXPECT_EQ(table.is_array(), span == 800);
      join.ExpectPairs(table, JoinProbe::Rows::kPartners, 100);
    }
  }
}

// Then the word of a free place, ~0, is a key's, too.
TEST(JoinTableTest, TheWholeRangeOf64BitsIsOneKey) {
  Random random(5);
  for (const ColumnType type : {ColumnType::kInt64, ColumnType::kUint64}) {
    const Columns columns = ColumnsOf({type});
    const std::vector<CellRow> probed = Numbers({0, 2, INT64_MAX, INT64_MAX - 1, 7});
    std::vector<CellRow> rows = Numbers({0, 1, INT64_MAX, 7, 7});
    rows.push_back(
        {Cell{.number = type == ColumnType::kInt64 ? Int128{INT64_MIN} : Int128{UINT64_MAX}}});
    JoinLab join(columns, columns, rows, probed, random);
    JoinTable table(join.lab.memory, join.build_list, join.keys, 1);
    EXPECT_FALSE(join.Build(table));
    EXPECT_EQ(table.keys().form(), JoinKeys::Form::kNumber);
    EXPECT_FALSE(table.is_array());
    join.ExpectPairs(table, JoinProbe::Rows::kAllOfProbe, 3);
  }
}

TEST(JoinTableTest, OneKeyOnManyRowsAndFullOutputsAtEveryPair) {
  Random random(7);
  const Columns columns = ColumnsOf({ColumnType::kString});
  std::vector<CellRow> build, probe;
  for (int i = 0; i < 4500; ++i) build.push_back({Cell{.text = i % 9 == 0 ? "x" : "often"}});
  for (int i = 0; i < 7; ++i) probe.push_back({Cell{.text = i == 3 ? "x" : i == 5 ? "" : "often"}});
  JoinLab join(columns, columns, build, probe, random);
  JoinTable table(join.lab.memory, join.build_list, join.keys, 1);
  EXPECT_FALSE(join.Build(table));
  EXPECT_FALSE(table.unique());
  for (const uint32_t capacity : {1, 2, 5, 4000, 100000}) {
    join.ExpectPairs(table, JoinProbe::Rows::kPartners, capacity);
    join.ExpectPairs(table, JoinProbe::Rows::kAllOfProbe, capacity);
  }
}

// The hash of two integers is mix(rotl(mix(first), 29) + second): so for each first one there is a
// second one with the same hash, for anyone who knows the seed.
TEST(JoinTableTest, DifferentKeysWithOneHashAreToldApart) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const Columns columns = ColumnsOf({ColumnType::kInt64, ColumnType::kInt64});
  constexpr uint64_t kSeed = 77;
  const HashMix mix(kSeed);
  std::vector<CellRow> keys;
  for (int i = 0; i < 20; ++i) {
    const uint64_t first = random();
    const uint64_t second = 5 - std::rotl(mix(first), 29);
    keys.push_back({Cell{.number = static_cast<int64_t>(first)},
                    Cell{.number = static_cast<int64_t>(second)}});
  }
  std::vector<CellRow> build, probe;
  for (int i = 0; i < 300; ++i) build.push_back(keys[random() % 10]);
  for (int i = 0; i < 100; ++i) probe.push_back(keys[random() % 20]);
  JoinLab join(columns, columns, build, probe, random);
  JoinTable table(join.lab.memory, join.build_list, join.keys, kSeed);
  EXPECT_FALSE(join.Build(table));
  ASSERT_EQ(table.keys().form(), JoinKeys::Form::kHashed);
  std::set<uint64_t> hashes;
  uint16_t picks[kBlockRows + 1];
  uint64_t words[kBlockRows + 1];
  const uint32_t count = table.keys().Words(JoinKeys::Side::kProbe, join.probe_list[0].view(), 0,
                                            100, nullptr, picks, words);
  hashes.insert(words, words + count);
  ASSERT_EQ(hashes.size(), 1u);
  join.ExpectPairs(table, JoinProbe::Rows::kPartners, 50);
  join.ExpectPairs(table, JoinProbe::Rows::kAllOfProbe, 50);
  join.ExpectKept(table);
}

TEST(JoinTableTest, RefusedMemoryChangesNothing) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  for (const JoinCase& each : AllJoinCases()) {
    const Columns build = ColumnsOf(each.build), probe = ColumnsOf(each.probe);
    JoinLab join(build, probe, RandomRows(build, 9000, Values::kDense, 3, random),
                 RandomRows(probe, 300, Values::kDense, 3, random), random);
    const uint64_t refused = RefuseEach(join.lab, [&] {
      JoinTable table(join.lab.memory, join.build_list, join.keys, 1);
      const bool was_refused = join.Build(table);
      join.lab.tree.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
      join.ExpectPairs(table, JoinProbe::Rows::kPartners, 500);
      return was_refused;
    });
    EXPECT_GE(refused, 3u);
    // Given up where it was refused.
    RefuseEach(join.lab, [&] {
      JoinTable table(join.lab.memory, join.build_list, join.keys, 1);
      StepResult result = StepResult::kMore;
      while (result == StepResult::kMore) result = table.Build();
      if (result == StepResult::kNoMemory) return true;
      JoinProbe one(table, join.lab.memory);
      return !one.Prepare();
    });
  }
}

TEST(JoinTableTest, ABudgetThatIsTooSmallIsNamed) {
  Random random(8);
  const Columns columns = ColumnsOf({ColumnType::kFloat64});
  QueryLab lab;
  EnvelopeList list(lab.memory, columns);
  AddRows(lab, list, RandomRows(columns, 5000, Values::kAny, 0, random), random, 3000);
  RunMemory budget(100000);
  QueryMemory memory(lab.tree.cache, &budget);
  {
    const JoinKey key;
    JoinTable table(memory, list, {&key, 1}, 1);
    StepResult result = StepResult::kMore;
    while (result == StepResult::kMore) result = table.Build();
    EXPECT_EQ(result, StepResult::kNoMemory);
    EXPECT_EQ(table.Build(), StepResult::kNoMemory);
    const std::string text = memory.Refusal("join table").ToString();
    EXPECT_NE(text.find("join table: 1"), std::string::npos) << text;
    EXPECT_NE(text.find("the limit of 100000 bytes"), std::string::npos) << text;
  }
  EXPECT_EQ(budget.used(), 0u);
}

// As a table's segment has them.
TEST(JoinTableTest, CodesOfADictionaryAreProbedAsStrings) {
  Random random(9);
  const Columns columns = ColumnsOf({ColumnType::kString});
  QueryLab lab;
  EnvelopeList list(lab.memory, columns);
  AddEnvelope(lab, list, {{Cell{.text = "b"}}, {Cell{.text = "ab"}}, {Cell{.text = ""}}}, 0, 3);
  const JoinKey key;
  JoinTable table(lab.memory, list, {&key, 1}, 1);
  while (table.Build() != StepResult::kDone) {
  }
  const uint32_t offsets[] = {0, 2, 3, 3};
  const DictionaryView dictionary{.size = 3, .offsets = offsets, .bytes = "abc"};
  const uint16_t codes[] = {0, 1, 2, 0, 60000};  // the last row is null
  const uint64_t valid = 0xf;
  const SegmentColumn column{.type = ColumnType::kString,
                             .values = codes,
                             .validity = &valid,
                             .dictionary = &dictionary,
                             .nulls = 1};
  JoinProbe probe(table, lab.memory);
  ASSERT_TRUE(probe.Prepare());
  uint64_t mask = 0x1f;
  probe.Keep({.rows = 5, .columns = {&column, 1}}, 0, 5, &mask, true);
  EXPECT_EQ(mask, 0b1101u);
}

TEST(JoinKeysTest, KeysMustBeOfOneClassAndScale) {
  using enum ColumnType;
  const Columns one = {{kInt32}, {kDecimal, 2}, {kUint64}, {kFloat64}, {kString}, {kInt128, 2}};
  const Columns other = {{kDate}, {kDecimal, 2}, {kUint64}, {kFloat64}, {kString}, {kInt128, 2}};
  for (uint32_t build = 0; build < one.size(); ++build) {
    for (uint32_t probe = 0; probe < other.size(); ++probe) {
      const JoinKey key{.build = build, .probe = probe};
      EXPECT_EQ(JoinKeys::Check(one, other, {&key, 1}).ok(), build == probe) << build << probe;
    }
  }
  const JoinKey outside{.build = 0, .probe = 6};
  EXPECT_FALSE(JoinKeys::Check(one, other, {&outside, 1}).ok());
  EXPECT_FALSE(JoinKeys::Check(one, other, {}).ok());
  EXPECT_FALSE(JoinKeys::Check(one, other, std::vector<JoinKey>(17)).ok());
  EXPECT_TRUE(JoinKeys::Check(one, other, std::vector<JoinKey>(16)).ok());
}

}  // namespace
}  // namespace eris::storage
