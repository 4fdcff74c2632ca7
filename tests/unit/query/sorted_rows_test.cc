// Sorts against std::stable_sort: every type of key, all orders of nulls, several keys, ties,
// limits, refused memory.
#include "storage/query/operators/sorted_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <numeric>
#include <string>
#include <vector>

#include "storage/table/kernels/kernels.h"
#include "tests/unit/query/query_lab.h"

namespace eris::storage {
namespace {

int CompareCells(ColumnType type, const Cell& a, const Cell& b) {
  const auto sign = [](auto order) { return order < 0 ? -1 : order > 0 ? 1 : 0; };
  if (IsByteString(type)) return sign(a.text.compare(b.text));
  if (type != ColumnType::kFloat64) return sign(a.number <=> b.number);
  // NaN above all, -0.0 below 0.0.
  if (std::isnan(a.real) || std::isnan(b.real))
    return int{std::isnan(a.real)} - int{std::isnan(b.real)};
  if (a.real != b.real) return a.real < b.real ? -1 : 1;
  return int{std::signbit(b.real)} - int{std::signbit(a.real)};
}

class SortLab {
 public:
  SortLab(const std::vector<EnvelopeColumn>& columns, std::vector<CellRow> rows, Random& random,
          uint32_t envelope_rows_max = 3000)
      : list(lab.memory, columns), rows_(std::move(rows)) {
    numbers_ = AddRows(lab, list, rows_, random, envelope_rows_max);
  }

  std::vector<RowNumber> Expected(const std::vector<SortKey>& keys, uint64_t limit) const {
    std::vector<size_t> order(rows_.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      for (const SortKey& key : keys) {
        const Cell& one = rows_[a][key.column];
        const Cell& other = rows_[b][key.column];
        if (one.null != other.null) return one.null == key.nulls_first;
        if (one.null) continue;
        const int compared = CompareCells(list.columns()[key.column].type, one, other);
        if (compared != 0) return key.descending ? compared > 0 : compared < 0;
      }
      return false;
    });
    std::vector<RowNumber> expected;
    for (const size_t row : order) {
      if (expected.size() == limit) break;
      expected.push_back(numbers_[row]);
    }
    return expected;
  }

  // Sorts to the end, and goes on after a refusal. Whether there was one.
  static bool Sort(SortedRows& sorted) {
    for (bool refused = false;;) {
      const StepResult result = sorted.Step();
      refused |= result == StepResult::kNoMemory;
      if (result == StepResult::kDone) return refused;
    }
  }

  static std::vector<RowNumber> ReadAll(SortedRows& sorted, Random& random) {
    std::vector<RowNumber> all;
    while (sorted.rows_left() > 0) {
      std::vector<RowNumber> some(1 + random() % 4000);
      some.resize(sorted.Read(some.data(), static_cast<uint32_t>(some.size())));
      EXPECT_FALSE(some.empty());
      all.insert(all.end(), some.begin(), some.end());
    }
    RowNumber more;
    EXPECT_EQ(sorted.Read(&more, 1), 0u);
    return all;
  }

  QueryLab lab;
  EnvelopeList list;

 private:
  const std::vector<CellRow> rows_;
  std::vector<RowNumber> numbers_;
};

std::vector<EnvelopeColumn> SortColumns() {
  std::vector<EnvelopeColumn> columns;
  for (const ColumnType type : kAllTypes) columns.push_back({.type = type});
  return columns;
}

std::vector<SortKey> RandomKeys(size_t count, uint32_t columns, Random& random) {
  std::vector<SortKey> keys(count);
  for (SortKey& key : keys) {
    key = {.column = static_cast<uint32_t>(random() % columns),
           .descending = random() % 2 == 0,
           .nulls_first = random() % 2 == 0};
  }
  return keys;
}

TEST(SortedRowsTest, AnyKeysSortAsStableSortDoes) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const auto columns = SortColumns();
  for (const Values values : {Values::kFew, Values::kDense, Values::kAny}) {
    for (const int nulls : {0, 15}) {
      SortLab sort(columns, RandomRows(columns, 7000, values, nulls, random), random);
      for (uint32_t column = 0; column < columns.size(); ++column) {
        for (const bool descending : {false, true}) {
          for (const bool nulls_first : {false, true}) {
            const std::vector<SortKey> keys = {{column, descending, nulls_first}};
            SortedRows sorted(sort.lab.memory, sort.list, keys);
            EXPECT_FALSE(SortLab::Sort(sorted));
            ASSERT_EQ(SortLab::ReadAll(sorted, random), sort.Expected(keys, kNoLimit)) << column;
          }
        }
      }
      for (int i = 0; i < 20; ++i) {
        const auto keys = RandomKeys(2 + random() % 4, 8, random);
        SortedRows sorted(sort.lab.memory, sort.list, keys);
        EXPECT_FALSE(SortLab::Sort(sorted));
        ASSERT_EQ(SortLab::ReadAll(sorted, random), sort.Expected(keys, kNoLimit));
      }
    }
  }
}

TEST(SortedRowsTest, ALimitKeepsTheFirstRows) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const auto columns = SortColumns();
  for (const Values values : {Values::kFew, Values::kAny}) {
    SortLab sort(columns, RandomRows(columns, 20000, values, 5, random), random);
    for (const uint64_t limit : {0, 1, 2, 10, 95, 96, 191, 192, 193, 3000, 19999, 20000, 20001}) {
      const auto keys = RandomKeys(1 + random() % 3, 8, random);
      SortedRows sorted(sort.lab.memory, sort.list, keys, limit);
      EXPECT_FALSE(SortLab::Sort(sorted));
      ASSERT_EQ(SortLab::ReadAll(sorted, random), sort.Expected(keys, limit)) << limit;
    }
  }
}

// Ascending rows never pass a limit's last one, descending ones always do.
TEST(SortedRowsTest, ALimitKeepsLittleMemory) {
  Random random(8);
  const std::vector<EnvelopeColumn> columns = {{.type = ColumnType::kInt64}};
  for (const bool descending : {false, true}) {
    std::vector<CellRow> rows(200000);
    for (size_t r = 0; r < rows.size(); ++r) {
      rows[r] = {Cell{.number = descending ? -static_cast<int64_t>(r) : static_cast<int64_t>(r)}};
    }
    SortLab sort(columns, std::move(rows), random, kEnvelopeRowsMax);
    const std::vector<SortKey> keys = {{.column = 0}};
    for (const uint64_t limit : {10, 5000}) {
      const int64_t before = sort.lab.memory.used_bytes();
      int64_t most = 0;
      SortedRows sorted(sort.lab.memory, sort.list, keys, limit);
      while (sorted.Step() != StepResult::kDone) {
        most = std::max(most, sort.lab.memory.used_bytes() - before);
      }
      EXPECT_LE(most, static_cast<int64_t>(4 * limit * 16 + (uint64_t{8} << 15)));
      ASSERT_EQ(SortLab::ReadAll(sorted, random), sort.Expected(keys, limit));
    }
  }
}

TEST(SortedRowsTest, MemoryIsSixteenBytesARowAndSomePages) {
  Random random(9);
  const std::vector<EnvelopeColumn> columns = {{.type = ColumnType::kInt32}};
  SortLab sort(columns, RandomRows(columns, 200000, Values::kAny, 0, random), random,
               kEnvelopeRowsMax);
  const int64_t before = sort.lab.memory.used_bytes();
  const std::vector<SortKey> keys = {{.column = 0}};
  SortedRows sorted(sort.lab.memory, sort.list, keys);
  int64_t most = 0;
  while (sorted.Step() != StepResult::kDone) {
    most = std::max(most, sort.lab.memory.used_bytes() - before);
  }
  EXPECT_LE(most, 200000 * 16 + (int64_t{16} << 15));
  EXPECT_EQ(SortLab::ReadAll(sorted, random), sort.Expected(keys, kNoLimit));
}

TEST(SortedRowsTest, EmptyListsHaveNoRows) {
  Random random(10);
  const std::vector<EnvelopeColumn> columns = {{.type = ColumnType::kString}};
  SortLab sort(columns, {}, random);
  const std::vector<SortKey> keys = {{.column = 0}};
  for (const bool with_envelope : {false, true}) {
    if (with_envelope) AddEnvelope(sort.lab, sort.list, {}, 0, 0);
    SortedRows sorted(sort.lab.memory, sort.list, keys, 5);
    EXPECT_FALSE(SortLab::Sort(sorted));
    EXPECT_EQ(sorted.rows_left(), 0u);
  }
}

TEST(SortedRowsTest, RefusedMemoryChangesNothing) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const auto columns = SortColumns();
  SortLab sort(columns, RandomRows(columns, 9000, Values::kDense, 5, random), random);
  for (const uint64_t limit : {kNoLimit, uint64_t{10}, uint64_t{3000}}) {
    const auto keys = RandomKeys(2, 8, random);
    const uint64_t refused = RefuseEach(sort.lab, [&] {
      SortedRows sorted(sort.lab.memory, sort.list, keys, limit);
      const bool was_refused = SortLab::Sort(sorted);
      EXPECT_EQ(SortLab::ReadAll(sorted, random), sort.Expected(keys, limit));
      return was_refused;
    });
    // Few rows by short keys need two pages.
    EXPECT_GE(refused, limit == 10 ? 2u : 3u);
    // Given up where it was refused.
    RefuseEach(sort.lab, [&] {
      SortedRows sorted(sort.lab.memory, sort.list, keys, limit);
      StepResult result = StepResult::kMore;
      while (result == StepResult::kMore) result = sorted.Step();
      return result == StepResult::kNoMemory;
    });
  }
}

TEST(SortKeysTest, KeysMustBeColumns) {
  const auto columns = SortColumns();
  const auto last = static_cast<uint32_t>(columns.size() - 1);
  EXPECT_TRUE(SortKeys::Check(columns, std::vector<SortKey>{{.column = last}}).ok());
  EXPECT_FALSE(SortKeys::Check(columns, std::vector<SortKey>{{.column = last + 1}}).ok());
  EXPECT_FALSE(SortKeys::Check(columns, {}).ok());
  EXPECT_TRUE(SortKeys::Check(columns, std::vector<SortKey>(64)).ok());
  EXPECT_FALSE(SortKeys::Check(columns, std::vector<SortKey>(65)).ok());
}

}  // namespace
}  // namespace eris::storage
