// Key filters compared with sets: no row with a key that is there is dropped, all others are as far
// as a form promises, nulls always; every type, any spans, several lists, refused memory. And what
// a scan does with them.
#include "storage/table/query/key_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/query/operators/key_filter_maker.h"
#include "storage/table/query/block_values.h"
#include "storage/table/query/table_run.h"
#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

using KeyNumbers = std::vector<Int128>;

constexpr ColumnType kTypes[] = {ColumnType::kInt32, ColumnType::kInt64, ColumnType::kUint64,
                                 ColumnType::kDate, ColumnType::kDecimal};

// Rows of a column, every seventh null, and a second column that counts them.
std::vector<CellRow> RowsOf(const KeyNumbers& numbers, bool nulls) {
  std::vector<CellRow> rows;
  for (size_t i = 0; i < numbers.size(); ++i) {
    rows.push_back({Cell{.null = nulls && i % 7 == 3, .number = numbers[i]},
                    Cell{.number = static_cast<Int128>(i)}});
  }
  return rows;
}

class FilterLab {
 public:
  // The keys lie in two lists.
  FilterLab(ColumnType type, const KeyNumbers& keys, Random& random)
      : columns{{.type = type}, {.type = ColumnType::kInt64}} {
    for (auto& list : lists_) list = std::make_unique<EnvelopeList>(lab.memory, columns);
    const std::vector<CellRow> rows = RowsOf(keys, true);
    const size_t middle = rows.size() / 3;
    AddRows(lab, *lists_[0], {rows.begin(), rows.begin() + static_cast<ptrdiff_t>(middle)}, random,
            900);
    AddRows(lab, *lists_[1], {rows.begin() + static_cast<ptrdiff_t>(middle), rows.end()}, random,
            9000);
    for (const CellRow& row : rows) {
      if (!row[0].null) present.insert(row[0].number);
    }
  }

  // nullptr: memory was refused.
  std::unique_ptr<KeyFilterMaker> Make(NumberRange known = {}) {
    auto filter = std::make_unique<KeyFilterMaker>(
        lab.memory, std::vector<const EnvelopeList*>{lists_[0].get(), lists_[1].get()}, 0, known);
    for (;;) {
      const StepResult made = filter->Make();
      if (made == StepResult::kDone) return filter;
      if (made == StepResult::kNoMemory) return nullptr;
    }
  }

  // Asks for rows with those values in one envelope, by dense and thin masks. All that have a key
  // must pass; returns how many others do.
  uint64_t ExpectKept(const KeyFilter& filter, const KeyNumbers& values, Random& random) {
    EnvelopeList probe(lab.memory, columns);
    const std::vector<CellRow> rows = RowsOf(values, true);
    AddEnvelope(lab, probe, rows, 0, rows.size());
    const SegmentColumn& column = probe[0].column(0);
    uint64_t others = 0;
    for (uint32_t base = 0; base < rows.size(); base += kBlockRows) {
      const uint32_t count = std::min(kBlockRows, static_cast<uint32_t>(rows.size()) - base);
      std::array<uint64_t, kBlockWords> mask{};
      const uint32_t thin = random() % 3;
      for (uint32_t i = 0; i < count; ++i) {
        if (thin == 0 || random() % (thin * 4) == 0) mask[i / 64] |= uint64_t{1} << i % 64;
      }
      const auto before = mask;
      filter.Keep(column, base, count, mask.data());
      for (uint32_t i = 0; i < count; ++i) {
        const Cell& key = rows[base + i][0];
        const bool asked = (before[i / 64] >> i % 64 & 1) != 0;
        const bool kept = (mask[i / 64] >> i % 64 & 1) != 0;
        const bool there = !key.null && present.contains(key.number);
        EXPECT_TRUE(asked || !kept);
        EXPECT_TRUE(!key.null || !kept);
        EXPECT_TRUE(kept || !asked || !there) << static_cast<int64_t>(key.number);
        others += kept && !there;
      }
    }
    const bool any = std::any_of(rows.begin(), rows.end(), [&](const CellRow& row) {
      return !row[0].null && present.contains(row[0].number);
    });
    EXPECT_TRUE(!any || filter.MayHave(column));
    return others;
  }

  QueryLab lab;
  const std::vector<EnvelopeColumn> columns;
  std::set<Int128> present;

 private:
  std::array<std::unique_ptr<EnvelopeList>, 2> lists_;
};

Int128 Least(ColumnType type) {
  if (type == ColumnType::kUint64) return 0;
  return ColumnValueBytes(type) == 4 ? Int128{INT32_MIN} : Int128{INT64_MIN};
}
Int128 Most(ColumnType type) {
  if (type == ColumnType::kUint64) return Int128{UINT64_MAX};
  return ColumnValueBytes(type) == 4 ? Int128{INT32_MAX} : Int128{INT64_MAX};
}

KeyNumbers SomeNumbers(ColumnType type, Int128 low, Int128 span, size_t count, Random& random) {
  KeyNumbers numbers;
  for (size_t i = 0; i < count; ++i) {
    const Int128 number = low + static_cast<Int128>(Uint128{random()} % static_cast<Uint128>(span));
    numbers.push_back(std::clamp(number, Least(type), Most(type)));
  }
  return numbers;
}

TEST(KeyFilterTest, EveryTypeAndSpan) {
  Random random(Seed());
  for (const ColumnType type : kTypes) {
    for (const Int128 span :
         {Int128{1}, Int128{1000}, Int128{1} << 21, Int128{1} << 31, Int128{1} << 63}) {
      for (const Int128 low : {Int128{-500}, Least(type), Most(type) - 400}) {
        FilterLab lab(type, SomeNumbers(type, low, span, 3000, random), random);
        const auto filter = lab.Make();
        ASSERT_NE(filter, nullptr);
        KeyNumbers values = SomeNumbers(type, low, span, 3000, random);
        values.insert(values.end(), lab.present.begin(), lab.present.end());
        for (const Int128 far : {Least(type), Most(type), Int128{0}}) values.push_back(far);
        const uint64_t others = lab.ExpectKept(*filter, values, random);
        if (filter->form() == KeyFilter::Form::kBits) {
          EXPECT_EQ(others, 0u);
        } else {
          EXPECT_LT(others, values.size() / 10) << SeedText();
        }
      }
    }
  }
}

TEST(KeyFilterTest, FarKeysHaveABloomFilter) {
  Random random(Seed());
  FilterLab near(ColumnType::kInt64, SomeNumbers(ColumnType::kInt64, 7, 100'000, 50'000, random),
                 random);
  EXPECT_EQ(near.Make()->form(), KeyFilter::Form::kBits);
  FilterLab far(ColumnType::kInt64,
                SomeNumbers(ColumnType::kInt64, 0, Int128{1} << 60, 50'000, random), random);
  const auto filter = far.Make();
  EXPECT_EQ(filter->form(), KeyFilter::Form::kBloom);
  const KeyNumbers values = SomeNumbers(ColumnType::kInt64, 0, Int128{1} << 60, 50'000, random);
  EXPECT_LT(far.ExpectKept(*filter, values, random), values.size() / 20) << SeedText();
}

TEST(KeyFilterTest, WithoutKeysNothingPasses) {
  Random random(Seed());
  FilterLab lab(ColumnType::kInt64, {}, random);
  const auto filter = lab.Make();
  EXPECT_EQ(filter->form(), KeyFilter::Form::kNone);
  EXPECT_EQ(lab.ExpectKept(*filter, {0, 1, -1}, random), 0u);
  EnvelopeList probe(lab.lab.memory, lab.columns);
  AddEnvelope(lab.lab, probe, RowsOf({5, 6}, false), 0, 2);
  EXPECT_FALSE(filter->MayHave(probe[0].column(0)));
}

// Segments none of whose rows can pass are not read.
TEST(KeyFilterTest, BoundsTellWhatCannotPass) {
  Random random(Seed());
  for (const ColumnType type : {ColumnType::kInt64, ColumnType::kUint64}) {
    FilterLab lab(type, SomeNumbers(type, 1000, 50, 400, random), random);
    const auto filter = lab.Make();
    EnvelopeList probe(lab.lab.memory, lab.columns);
    const KeyNumbers ends{type == ColumnType::kUint64 ? Int128{0} : Int128{-9}, 900};
    AddEnvelope(lab.lab, probe, RowsOf(ends, false), 0, 2);
    AddEnvelope(lab.lab, probe, RowsOf({900, 5000}, false), 0, 2);
    AddEnvelope(lab.lab, probe, RowsOf({1060, Most(type)}, false), 0, 2);
    EXPECT_FALSE(filter->MayHave(probe[0].column(0)));
    EXPECT_TRUE(filter->MayHave(probe[1].column(0)));
    EXPECT_FALSE(filter->MayHave(probe[2].column(0)));
  }
}

// Inside of the range it is as exact as ever, outside of it all pass.
TEST(KeyFilterTest, ValuesOutsideOfARangePass) {
  Random random(Seed());
  for (const ColumnType type : kTypes) {
    const Int128 low = type == ColumnType::kUint64 ? 0 : -5000;
    for (const Int128 first : {low - 20'000, low, low + 2000, low + 40'000}) {
      if (type == ColumnType::kUint64 && first < 0) continue;
      FilterLab lab(type, SomeNumbers(type, low, 10'000, 900, random), random);
      const NumberRange known{static_cast<uint64_t>(first), 3000};
      const auto filter = lab.Make(known);
      KeyNumbers inside = SomeNumbers(type, first, 3001, 2000, random);
      EXPECT_EQ(lab.ExpectKept(*filter, inside, random), 0u) << SeedText();
      KeyNumbers outside;
      for (const Int128 number : SomeNumbers(type, low, 60'000, 2000, random)) {
        if (number < first || number > first + 3000) outside.push_back(number);
      }
      EnvelopeList probe(lab.lab.memory, lab.columns);
      AddEnvelope(lab.lab, probe, RowsOf(outside, false), 0, outside.size());
      std::vector<uint64_t> mask((outside.size() + 63) / 64, ~uint64_t{0});
      EXPECT_TRUE(filter->MayHave(probe[0].column(0)));
      filter->Keep(probe[0].column(0), 0, probe[0].rows(), mask.data());
      for (uint32_t i = 0; i < probe[0].rows(); ++i) EXPECT_TRUE(BitAt(mask.data(), i));
    }
  }
}

// Envelopes without a key in the range are not read.
TEST(KeyFilterTest, KeysOutsideOfARangeAreLeftOut) {
  Random random(Seed());
  KeyNumbers keys;
  for (int i = 0; i < 30'000; ++i) keys.push_back(i);
  FilterLab lab(ColumnType::kInt64, keys, random);
  EXPECT_EQ(lab.Make()->rows_of(0) + lab.Make()->rows_of(1), keys.size());
  const auto filter = lab.Make({.min = 1000, .last = 99});
  EXPECT_GT(filter->rows_of(0), 0u);
  EXPECT_LE(filter->rows_of(0), 2 * 900u);
  EXPECT_EQ(filter->rows_of(1), 0u);
}

TEST(KeyFilterTest, RefusedMemoryLeavesNothing) {
  Random random(Seed());
  FilterLab lab(ColumnType::kInt64,
                SomeNumbers(ColumnType::kInt64, 0, Int128{1} << 24, 90'000, random), random);
  const uint64_t refused = RefuseEach(lab.lab, [&] { return lab.Make() == nullptr; });
  EXPECT_GE(refused, 2u);
}

// A scan of envelopes, as of a table's segments: what it hands out, and how many rows it groups.
class FilteredScanTest : public testing::Test {
 protected:
  Random random_{Seed()};

  std::unique_ptr<TableRun> RunOf(Query query) {
    const std::vector<ColumnSchema> columns{{"k", ColumnType::kInt64, 0, true},
                                            {"v", ColumnType::kInt64}};
    auto plan = TablePlan::Create(columns, query);
    EXPECT_TRUE(plan.ok()) << plan.status();
    auto run = TableRun::Create(*plan);
    EXPECT_TRUE(run.ok());
    return *std::move(run);
  }
};

TEST_F(FilteredScanTest, SumsAndGroupsAreOfRowsThatPass) {
  KeyNumbers values;
  for (int i = 0; i < 20'000; ++i) values.push_back(i % 5000);
  FilterLab lab(ColumnType::kInt64, {3, 4000, 17, 3, 9999, 12}, random_);
  const auto filter = lab.Make();
  EnvelopeList rows(lab.lab.memory, lab.columns);
  AddRows(lab.lab, rows, RowsOf(values, false), random_, 5000);
  for (const bool grouped : {false, true}) {
    Query query;
    query.aggregates = {{.function = AggregateFunction::kCount, .argument = {}, .name = "n"}};
    if (grouped) query.group_by = {"k"};
    const auto run = RunOf(query);
    run->FilterBy({{0, filter.get()}});
    for (uint32_t e = 0; e < rows.size(); ++e) {
      if (!run->BeginSegment(rows[e].view())) continue;
      for (uint32_t at = 0; at < rows[e].rows();) {
        ASSERT_EQ(run->RunBlock(at, nullptr), TableRun::Outcome::kDone);
      }
    }
    EnvelopeList out(lab.lab.memory,
                     grouped ? std::vector<EnvelopeColumn>{{.type = ColumnType::kInt64},
                                                           {.type = ColumnType::kUint64}}
                             : std::vector<EnvelopeColumn>{{.type = ColumnType::kUint64}});
    Envelope* const envelope = Envelope::Create(lab.lab.memory, out.columns(), 100,
                                                std::vector<uint32_t>(out.columns().size(), 0));
    ASSERT_TRUE(run->FinishGroups().ok());
    uint64_t first = 0;
    run->TakeGroups(first, envelope->out());
    envelope->Seal();
    ASSERT_EQ(out.Add(envelope), EnvelopeList::Added::kYes);
    // 12 is the key of a null among the keys; 9999 is none of the table's.
    Int128 total = 0;
    for (uint32_t r = 0; r < envelope->rows(); ++r) {
      total += CellAt(envelope->column(grouped ? 1 : 0), r).number;
    }
    EXPECT_EQ(total, Int128{4} * static_cast<Int128>(lab.present.size() - lab.present.count(9999)));
    EXPECT_EQ(envelope->rows(), grouped ? lab.present.size() - lab.present.count(9999) : 1);
  }
}

// Where nearly all rows pass it is no longer asked in that segment, and in the next one it is.
TEST_F(FilteredScanTest, AFilterThatDropsLittleRests) {
  KeyNumbers keys;
  for (int i = 0; i < 50'000; ++i) keys.push_back(i);
  FilterLab lab(ColumnType::kInt64, keys, random_);
  const auto filter = lab.Make();
  EnvelopeList rows(lab.lab.memory, lab.columns);
  KeyNumbers values = keys;
  values.resize(40'000);
  for (int i = 20'000; i < 40'000; ++i) values[static_cast<size_t>(i)] = 1'000'000;  // absent
  AddEnvelope(lab.lab, rows, RowsOf(values, false), 0, 40'000);
  ColumnFilters filters;
  filters.Set({{0, filter.get()}});
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(filters.BeginSegment(rows[0].view()));
    std::array<uint64_t, kBlockWords> mask{};
    uint32_t kept = 0;
    for (uint32_t base = 0; base + kBlockRows <= 40'000; base += kBlockRows) {
      mask.fill(~uint64_t{0});
      kept = filters.Keep(rows[0].view(), base, kBlockRows, mask.data(), kBlockRows);
    }
    // Every seventh of the keys is a null, so six of seven pass: fewer than seven of eight.
    EXPECT_EQ(kept, 0u);
  }
  KeyNumbers all(40'000, 1);  // there
  for (int i = 20'000; i < 40'000; ++i) all[static_cast<size_t>(i)] = 1'000'000;
  EnvelopeList same(lab.lab.memory, lab.columns);
  AddEnvelope(lab.lab, same, RowsOf(all, false), 0, 40'000);
  ASSERT_TRUE(filters.BeginSegment(same[0].view()));
  std::array<uint64_t, kBlockWords> mask{};
  uint32_t kept = 0;
  for (uint32_t base = 0; base + kBlockRows <= 40'000; base += kBlockRows) {
    mask.fill(~uint64_t{0});
    kept = filters.Keep(same[0].view(), base, kBlockRows, mask.data(), kBlockRows);
  }
  EXPECT_EQ(kept, kBlockRows);
}

// A scan begins its segment in every slice.
TEST_F(FilteredScanTest, AFilterRestsUntilTheNextSegment) {
  FilterLab lab(ColumnType::kInt64, {1, 1, 1, 1}, random_);
  const auto filter = lab.Make();
  EnvelopeList rows(lab.lab.memory, lab.columns);
  AddEnvelope(lab.lab, rows, RowsOf(KeyNumbers(3 * kBlockRows, 1), false), 0, 3 * kBlockRows);
  AddEnvelope(lab.lab, rows, RowsOf(KeyNumbers(3 * kBlockRows, 2), false), 0, 3 * kBlockRows);
  ColumnFilters filters;
  filters.Set({{.column = 0, .filter = filter.get()}});
  const auto left = [&](uint32_t envelope, uint64_t id) {
    SegmentView view = rows[envelope].view();
    view.id = id;
    filters.BeginSegment(view);
    std::array<uint64_t, kBlockWords> mask;
    mask.fill(~uint64_t{0});
    return filters.Keep(view, 0, kBlockRows, mask.data(), kBlockRows);
  };
  // Twice as many as it is tried on, all of which pass; then absent keys of the same segment.
  EXPECT_EQ(left(0, 7), kBlockRows);
  EXPECT_EQ(left(0, 7), kBlockRows);
  EXPECT_EQ(left(1, 7), kBlockRows);
  EXPECT_EQ(left(1, 8), 0u);
  // One that is required does not rest.
  filters.Set({{.column = 0, .filter = filter.get(), .required = true}});
  for (int round = 0; round < 3; ++round) EXPECT_EQ(left(0, 9), kBlockRows);
  EXPECT_EQ(left(1, 9), 0u);
}

}  // namespace
}  // namespace eris::storage
