// One column of a segment: strings that begin as a dictionary and leave it, strings of every
// length, nulls that come late, bounds, and pieces that are refused.
#include "storage/table/rows/column_data.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::storage {
namespace {

// A column of a table with one column, and what stands in it.
struct Strings {
  explicit Strings(ColumnType type = ColumnType::kString) : column(type) {
    layout = *TableLayout::Create({.columns = {{.name = "c", .type = type, .nullable = true}}});
  }
  ~Strings() {
    column.Free(memory.cache);
    EXPECT_EQ(memory.cache.used_bytes(), 0u);
  }
  PutResult Put(const std::vector<Cell>& cells) {
    std::vector<Row> rows;
    for (const Cell& cell : cells) rows.push_back({cell});
    const RowColumns columns(*layout, rows);
    const ColumnSource source = ColumnSource::Of(columns.batch().columns[0]);
    const auto count = static_cast<uint32_t>(cells.size());
    const auto at = static_cast<uint32_t>(expected.size());
    uint32_t capacity = 1024;
    while (capacity < at + count) capacity *= 2;
    const PutResult result =
        column.Put(memory.cache, source, RowPick{count, 0, nullptr}, at, capacity);
    if (result == PutResult::kDone) expected.insert(expected.end(), cells.begin(), cells.end());
    return result;
  }
  void Check() const {
    const ColumnSource source = ColumnSource::Of(column.view());
    for (uint32_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(ReadCell(source, column.view().type, i), expected[i]) << i;
    }
    EXPECT_EQ(reinterpret_cast<uintptr_t>(column.view().values) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(column.view().offsets) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(column.view().validity) % 64, 0u);
  }
  // Fills up to `rows` rows with pieces of what `make` gives.
  template <class Make>
  void Fill(uint32_t rows, Make make) {
    while (expected.size() < rows) {
      std::vector<Cell> piece;
      const size_t size = std::min<size_t>(kPieceRows, rows - expected.size());
      for (size_t i = 0; i < size; ++i) piece.push_back(make(expected.size() + i));
      ASSERT_EQ(Put(piece), PutResult::kDone);
    }
  }

  TreeMemory memory;
  std::shared_ptr<const TableLayout> layout;
  ColumnData column;
  std::vector<Cell> expected;
};

TEST(ColumnDataTest, FewStringsStayADictionary) {
  Strings strings;
  Random random(1);
  strings.Fill(kSegmentRows,
               [&](size_t) { return Cell("text " + std::to_string(random() % 4096)); });
  ASSERT_NE(strings.column.view().dictionary, nullptr);
  EXPECT_EQ(strings.column.view().dictionary->size, 4096u);
  strings.Check();
}

TEST(ColumnDataTest, ManyStringsLeaveTheDictionary) {
  for (const uint32_t distinct : {4097u, 30'000u}) {
    Strings strings;
    strings.Fill(kSegmentRows,
                 [&](size_t i) { return Cell("text " + std::to_string(i * 7 % distinct)); });
    EXPECT_EQ(strings.column.view().dictionary, nullptr);
    ASSERT_NE(strings.column.view().offsets, nullptr);
    strings.Check();
  }
}

TEST(ColumnDataTest, StringsOfEachLengthComeBack) {
  Strings strings;
  std::vector<Cell> lengths;
  for (const size_t size : {0, 1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 63, 64, 65, 4096, 65534, 65535}) {
    for (const char fill : {'a', 'b', '\0'}) lengths.push_back(std::string(size, fill));
  }
  lengths.push_back(std::nullopt);
  ASSERT_EQ(strings.Put(lengths), PutResult::kDone);
  strings.Check();
  ASSERT_EQ(strings.Put(lengths), PutResult::kDone);
  strings.Check();
  // A dictionary of that many bytes is left.
  EXPECT_EQ(strings.column.view().dictionary != nullptr, strings.column.view().offsets == nullptr);
}

TEST(ColumnDataTest, StringsThatDifferInOneByteAreTwo) {
  Strings strings;
  std::vector<Cell> cells;
  for (const size_t size : {1, 2, 3, 4, 7, 8, 9, 12, 16, 17, 40}) {
    for (size_t at = 0; at < size; ++at) {
      std::string text(size, 'x');
      text[at] = 'y';
      cells.push_back(text);
    }
  }
  for (size_t begin = 0; begin < cells.size(); begin += kPieceRows) {
    const size_t end = std::min(begin + kPieceRows, cells.size());
    ASSERT_EQ(strings.Put({cells.begin() + static_cast<ptrdiff_t>(begin),
                           cells.begin() + static_cast<ptrdiff_t>(end)}),
              PutResult::kDone);
  }
  EXPECT_EQ(strings.column.view().dictionary->size, cells.size());
  strings.Check();
}

TEST(ColumnDataTest, StringsOfASegmentAreBounded) {
  Strings strings;
  uint64_t bytes = 0;
  for (int i = 0;; ++i) {
    std::vector<Cell> piece;
    for (int j = 0; j < 40; ++j) {
      piece.push_back(std::string(65535, static_cast<char>('a' + (i * 40 + j) % 26)) +
                      std::to_string(i));
      piece.back()->resize(65535);
      piece.back()->replace(0, 8, std::to_string(10'000'000 + i * 40 + j));
    }
    const PutResult result = strings.Put(piece);
    if (result == PutResult::kFull) break;
    ASSERT_EQ(result, PutResult::kDone);
    bytes += 40 * 65535;
    ASSERT_LE(bytes, kSegmentStringBytesMax);
  }
  strings.Check();
  EXPECT_GT(bytes + 40 * 65535, kSegmentStringBytesMax);
}

TEST(ColumnDataTest, ADictionaryThatCannotBeLeftFillsTheSegment) {
  Strings strings;
  // As strings they would take 64 MiB.
  strings.Fill(1024, [](size_t) { return Cell(std::string(65535, 'x')); });
  int i = 0;
  for (;; ++i) {
    std::vector<Cell> piece;
    for (int j = 0; j < 256; ++j) piece.push_back(std::to_string(i * 256 + j));
    const PutResult result = strings.Put(piece);
    if (result == PutResult::kFull) break;
    ASSERT_EQ(result, PutResult::kDone);
    ASSERT_LT(i, 100);
  }
  strings.Check();
}

TEST(ColumnDataTest, NullsMayComeLate) {
  for (const ColumnType type : {ColumnType::kInt32, ColumnType::kUint64, ColumnType::kString}) {
    SCOPED_TRACE(SeedText());
    Random random(Seed());
    Strings column(type);
    column.Fill(1000, [&](size_t) { return RandomCell(type, false, random); });
    EXPECT_EQ(column.column.view().validity, nullptr);
    column.Fill(5000, [&](size_t) { return RandomCell(type, true, random); });
    EXPECT_NE(column.column.view().validity, nullptr);
    column.Check();
  }
}

TEST(ColumnDataTest, BoundsLeaveNullsOutAndEndWithANan) {
  Strings numbers(ColumnType::kFloat64);
  ASSERT_EQ(numbers.Put({std::nullopt, std::nullopt}), PutResult::kDone);
  EXPECT_EQ(numbers.column.view().bounds, nullptr);
  ASSERT_EQ(numbers.Put({CellOf(3.5), std::nullopt, CellOf(-2.0)}), PutResult::kDone);
  ASSERT_NE(numbers.column.view().bounds, nullptr);
  EXPECT_EQ(numbers.column.view().bounds->min.f64, -2.0);
  EXPECT_EQ(numbers.column.view().bounds->max.f64, 3.5);
  ASSERT_EQ(numbers.Put({CellOf(std::nan(""))}), PutResult::kDone);
  EXPECT_EQ(numbers.column.view().bounds, nullptr);
  ASSERT_EQ(numbers.Put({CellOf(1.0)}), PutResult::kDone);
  EXPECT_EQ(numbers.column.view().bounds, nullptr);
}

TEST(ColumnDataTest, RefusedPiecesLeaveNothingThatCounts) {
  for (const ColumnType type : {ColumnType::kDate, ColumnType::kString}) {
    SCOPED_TRACE(SeedText());
    Random random(Seed());
    Strings column(type);
    for (int round = 0; round < 30; ++round) {
      std::vector<Cell> piece;
      for (int i = 0; i < 200; ++i) {
        piece.push_back(IsByteString(type) && round > 3 ? Cell(std::to_string(random()))
                                                        : RandomCell(type, round > 2, random));
      }
      for (uint64_t nth = 1;; ++nth) {
        column.memory.cache.ArmFailures(nth, memory::FailurePoint::Mode::kOnce);
        const PutResult result = column.Put(piece);
        column.memory.cache.ArmFailures(0, memory::FailurePoint::Mode::kOnce);
        column.Check();
        if (result == PutResult::kDone) break;
        ASSERT_EQ(result, PutResult::kNoMemory);
      }
    }
  }
}

}  // namespace
}  // namespace eris::storage
