// What a schema may be, what rows are refused, and that packed keys order like the values they are
// made of.
#include "storage/table/rows/table_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "storage/table/rows/append_pieces.h"
#include "tests/unit/storage/storage_fixture.h"
#include "tests/unit/table/table_rows.h"

namespace eris::storage {
namespace {

using T = ColumnType;

ColumnSchema SchemaColumn(std::string name, T type, bool nullable = false, uint8_t scale = 0) {
  return {.name = std::move(name), .type = type, .scale = scale, .nullable = nullable};
}

std::string Refusal(const Schema& schema) {
  const auto layout = TableLayout::Create(schema);
  if (layout.ok()) return "";
  EXPECT_EQ(layout.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(layout.status().message());
}

TEST(TableLayoutTest, SchemasThatTablesCannotHaveAreRefused) {
  const auto names = [](const Schema& schema, const std::string& what) {
    EXPECT_NE(Refusal(schema).find(what), std::string::npos) << Refusal(schema);
  };
  names({}, "0 columns");
  Schema wide;
  for (int i = 0; i < 257; ++i) wide.columns.push_back(SchemaColumn(std::to_string(i), T::kInt32));
  names(wide, "257 columns");
  wide.columns.pop_back();
  EXPECT_EQ(Refusal(wide), "");
  names({.columns = {SchemaColumn("", T::kInt32)}}, "0 bytes");
  names({.columns = {SchemaColumn(std::string(256, 'x'), T::kInt32)}}, "256 bytes");
  names({.columns = {SchemaColumn("a", T::kInt32), SchemaColumn("a", T::kInt64)}}, "the name a");
  names({.columns = {SchemaColumn("a", T::kInt128)}}, "column a");
  names({.columns = {SchemaColumn("a", static_cast<T>(0))}}, "column a");
  names({.columns = {SchemaColumn("a", T::kDecimal, false, 19)}}, "19");
  names({.columns = {SchemaColumn("a", T::kInt64, false, 1)}}, "its limit is 0");
  names({.columns = {SchemaColumn("a", T::kString)}, .key = {0}}, "is string");
  names({.columns = {SchemaColumn("a", T::kBytes)}, .key = {0}}, "is bytes");
  names({.columns = {SchemaColumn("\xff", T::kInt32)}}, "the name of column 0 is not UTF-8");
  names({.columns = {SchemaColumn("a", T::kInt32, true)}, .key = {0}}, "nullable");
  names({.columns = {SchemaColumn("a", T::kInt32)}, .key = {1}}, "not among");
  names({.columns = {SchemaColumn("a", T::kInt32)}, .key = {0, 0}}, "twice");
  const Schema five{.columns = {SchemaColumn("a", T::kInt32), SchemaColumn("b", T::kInt32),
                                SchemaColumn("c", T::kInt32), SchemaColumn("d", T::kInt32),
                                SchemaColumn("e", T::kInt32)},
                    .key = {0, 1, 2, 3, 4}};
  names(five, "5 columns");
  const Schema long_key{.columns = {SchemaColumn("a", T::kInt64), SchemaColumn("b", T::kInt64),
                                    SchemaColumn("c", T::kInt32)},
                        .key = {0, 1, 2}};
  names(long_key, "20 bytes");
}

TEST(TableLayoutTest, ColumnsAreFoundByName) {
  const auto layout = *TableLayout::Create(
      {.columns = {SchemaColumn("a", T::kInt32), SchemaColumn("b", T::kString)}});
  EXPECT_EQ(layout->Find("b"), 1u);
  EXPECT_EQ(layout->Find("c"), std::nullopt);
  EXPECT_FALSE(layout->clustered());
}

TEST(TableLayoutTest, RowsThatDoNotFitAreRefused) {
  const auto layout = *TableLayout::Create(
      {.columns = {SchemaColumn("k", T::kFloat64), SchemaColumn("n", T::kInt32),
                   SchemaColumn("s", T::kString, true)},
       .key = {0}});
  const double keys[] = {1, 2, 3};
  const int32_t numbers[] = {1, 2, 3};
  const uint32_t offsets[] = {0, 1, 1, 70000};
  const std::string bytes(70000, 'x');
  const auto check = [&](std::vector<ColumnView> columns, bool keys_only = false) {
    const absl::Status status = layout->Check(RowBatch{3, columns}, keys_only);
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    }
    return std::string(status.message());
  };
  const uint32_t long_offsets[] = {0, 1, 1, 65537};
  const uint32_t good_offsets[] = {5, 6, 6, 65541};
  const uint32_t descending[] = {0, 5, 3, 8};
  const uint8_t second_null = 0b101;
  const ColumnView k{keys}, n{numbers}, s{bytes.data(), &second_null, good_offsets};
  EXPECT_EQ(check({k, n, s}), "");
  EXPECT_EQ(check({k}, true), "");
  EXPECT_NE(check({k, n}).find("2 columns"), std::string::npos);
  EXPECT_NE(check({k, {}, s}).find("column n"), std::string::npos);
  EXPECT_NE(check({k, n, {bytes.data()}}).find("offsets"), std::string::npos);
  EXPECT_NE(check({k, n, {nullptr, nullptr, good_offsets}}).find("bytes"), std::string::npos);
  EXPECT_NE(check({k, n, {bytes.data(), nullptr, offsets}}).find("row 2"), std::string::npos);
  EXPECT_NE(check({k, n, {bytes.data(), nullptr, long_offsets}}).find("65536 bytes"),
            std::string::npos);
  EXPECT_NE(check({k, n, {bytes.data(), nullptr, descending}}).find("row 1"), std::string::npos);
  EXPECT_NE(check({k, {numbers, &second_null}, s}).find("row 1: null"), std::string::npos);
  const double with_nan[] = {1, 2, std::numeric_limits<double>::quiet_NaN()};
  EXPECT_NE(check({{with_nan}, n, s}).find("row 2: NaN"), std::string::npos);
  EXPECT_NE(check({{with_nan}}, true).find("row 2: NaN"), std::string::npos);
  EXPECT_TRUE(layout->Check(RowBatch{0, std::vector<ColumnView>(3)}, false).ok());
}

TEST(TableLayoutTest, KeysOfFourBytesStandAtTheTopOfTheWord) {
  const auto layout = *TableLayout::Create({.columns = {SchemaColumn("k", T::kInt32)}, .key = {0}});
  EXPECT_EQ(layout->key_bytes(), 4u);
  EXPECT_FALSE(layout->two_words());
  const int32_t values[] = {std::numeric_limits<int32_t>::min(), -1, 0, 1};
  const ColumnView view{values};
  uint64_t heads[4];
  layout->PackKeys(RowBatch{4, {&view, 1}}, true, heads, nullptr);
  EXPECT_EQ(heads[0], 0u);
  EXPECT_EQ(heads[1], 0x7fffffff00000000u);
  EXPECT_EQ(heads[2], 0x8000000000000000u);
  EXPECT_EQ(heads[3], 0x8000000100000000u);
}

// Compares two values of a type, -0.0 as 0.0.
int Compare(T type, const Cell& a, const Cell& b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  switch (type) {
    case T::kInt32:
    case T::kDate:
      return order(ValueOf<int32_t>(a), ValueOf<int32_t>(b));
    case T::kUint64:
      return order(ValueOf<uint64_t>(a), ValueOf<uint64_t>(b));
    case T::kFloat64:
      return order(ValueOf<double>(a), ValueOf<double>(b));
    default:
      return order(ValueOf<int64_t>(a), ValueOf<int64_t>(b));
  }
}

TEST(TableLayoutTest, PackedKeysOrderAsTheirColumnsDo) {
  SCOPED_TRACE(SeedText());
  Random random(Seed());
  const std::vector<std::vector<T>> keys = {
      {T::kInt32},
      {T::kInt64},
      {T::kUint64},
      {T::kFloat64},
      {T::kDate, T::kInt32},
      {T::kInt32, T::kInt64},
      {T::kDate, T::kFloat64, T::kInt32},
      {T::kInt64, T::kInt32},
      {T::kDecimal, T::kInt32, T::kDate},
      {T::kInt32, T::kDate, T::kUint64},
      {T::kInt32, T::kInt32, T::kInt32, T::kInt32},
      {T::kFloat64, T::kUint64},
  };
  for (const std::vector<T>& key : keys) {
    Schema schema{.columns = {SchemaColumn("other", T::kInt64)}};
    for (size_t i = key.size(); i-- > 0;) {  // the key's order is not the table's
      schema.columns.push_back(SchemaColumn("k" + std::to_string(i), key[i]));
    }
    for (size_t i = 0; i < key.size(); ++i) {
      schema.key.push_back(static_cast<uint32_t>(key.size() - i));
    }
    const auto layout = *TableLayout::Create(schema);
    std::vector<Row> rows;
    for (int i = 0; i < 300; ++i) {
      Row row{CellOf(int64_t{0})};
      for (size_t c = 1; c < schema.columns.size(); ++c) {
        Cell cell;
        do {
          cell = RandomCell(schema.columns[c].type, false, random, 4);
        } while (schema.columns[c].type == T::kFloat64 && std::isnan(ValueOf<double>(cell)));
        row.push_back(cell);
      }
      rows.push_back(row);
    }
    const RowColumns columns(*layout, rows);
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      int expected = 0;
      for (const uint32_t c : schema.key) {
        expected = Compare(schema.columns[c].type, rows[i][c], rows[i + 1][c]);
        if (expected != 0) break;
      }
      const auto packed = columns.key(i) <=> columns.key(i + 1);
      ASSERT_EQ(packed < 0 ? -1 : packed > 0 ? 1 : 0, expected);
    }
    // From the key columns alone the same comes out, and from one row.
    std::vector<ColumnView> views;
    for (const uint32_t c : schema.key) views.push_back(columns.batch().columns[c]);
    std::vector<uint64_t> heads(rows.size());
    std::vector<uint64_t> tails(rows.size());
    layout->PackKeys(RowBatch{rows.size(), views}, true, heads.data(), tails.data());
    std::vector<ColumnSource> sources;
    for (const ColumnView& view : columns.batch().columns) {
      sources.push_back(ColumnSource::Of(view));
    }
    for (uint32_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ((Key{heads[i], tails[i]}), columns.key(i));
      ASSERT_EQ(KeyOfRow(*layout, sources.data(), i), columns.key(i));
    }
  }
}

TEST(AppendPiecesTest, PiecesAreCutByRowsAndByBytes) {
  const auto layout =
      *TableLayout::Create({.columns = {SchemaColumn("n", T::kInt64), SchemaColumn("s", T::kString),
                                        SchemaColumn("t", T::kString)}});
  Random random(5);
  // 16 bytes beside the string, and the other one's.
  constexpr uint64_t kBeside = 17;
  const auto row_of = [](size_t bytes) {
    return Row{CellOf(int64_t{1}), std::string(bytes, 'a'), std::string("b")};
  };
  const auto firsts_of = [&](const std::vector<Row>& rows) {
    return AppendPieces(*layout, RowColumns(*layout, rows).batch());
  };
  EXPECT_EQ(firsts_of({}), std::vector<uint64_t>{0});
  EXPECT_EQ(firsts_of({row_of(0)}), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(firsts_of(std::vector<Row>(9'000, row_of(10))),
            (std::vector<uint64_t>{0, 4096, 8192, 9000}));
  const uint64_t fit = kAppendBytesMax / (60'000 + kBeside);
  EXPECT_EQ(firsts_of(std::vector<Row>(2 * fit + 1, row_of(60'000))),
            (std::vector<uint64_t>{0, fit, 2 * fit, 2 * fit + 1}));
  for (int round = 0; round < 20; ++round) {
    std::vector<Row> rows;
    for (uint64_t i = 1 + random() % 3'000; i > 0; --i) {
      rows.push_back(row_of(random() % 16 == 0 ? random() % 60'000 : random() % 50));
    }
    const std::vector<uint64_t> firsts = firsts_of(rows);
    ASSERT_EQ(firsts.front(), 0u);
    ASSERT_EQ(firsts.back(), rows.size());
    for (size_t i = 1; i < firsts.size(); ++i) {
      uint64_t bytes = 0;
      for (uint64_t row = firsts[i - 1]; row < firsts[i]; ++row) {
        bytes += kBeside + rows[row][1]->size();
      }
      ASSERT_LE(bytes, kAppendBytesMax);
      ASSERT_LE(firsts[i] - firsts[i - 1], kAppendRowsMax);
      if (firsts[i] == rows.size() || firsts[i] - firsts[i - 1] == kAppendRowsMax) continue;
      // One more would not have fitted.
      ASSERT_GT(bytes + kBeside + rows[firsts[i]][1]->size(), kAppendBytesMax);
    }
  }
}

}  // namespace
}  // namespace eris::storage
