// An engine with running AEUs, 1, 2 or 8 of them, and tables of a few schemas.
#ifndef ERIS_TESTS_INTEGRATION_TABLE_FIXTURE_H_
#define ERIS_TESTS_INTEGRATION_TABLE_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "eris/engine.h"
#include "tests/support/objects.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris::test {

// A key of two words, and every type with nulls.
inline Schema AllTypes() {
  return {.columns = {{.name = "k1", .type = ColumnType::kInt64},
                      {.name = "k2", .type = ColumnType::kInt32},
                      {.name = "i32", .type = ColumnType::kInt32, .nullable = true},
                      {.name = "i64", .type = ColumnType::kInt64, .nullable = true},
                      {.name = "u64", .type = ColumnType::kUint64, .nullable = true},
                      {.name = "f64", .type = ColumnType::kFloat64, .nullable = true},
                      {.name = "date", .type = ColumnType::kDate, .nullable = true},
                      {.name = "dec", .type = ColumnType::kDecimal, .scale = 2, .nullable = true},
                      {.name = "text", .type = ColumnType::kString, .nullable = true}},
          .key = {0, 1}};
}

inline std::vector<ColumnSchema> KeyColumnsOf(const Schema& schema) {
  std::vector<ColumnSchema> columns;
  for (const uint32_t column : schema.key) columns.push_back(schema.columns[column]);
  return columns;
}

inline Schema HeapOfTwo() {
  return {.columns = {{.name = "id", .type = ColumnType::kUint64},
                      {.name = "group", .type = ColumnType::kInt32}}};
}

// Rows [first, first + count), group is id % 7.
inline Rows HeapRows(uint64_t first, uint64_t count) {
  Rows rows(HeapOfTwo().columns);
  for (uint64_t i = first; i < first + count; ++i) rows.Add({i, static_cast<int64_t>(i % 7)});
  return rows;
}

inline CreateOptions TableOptions(const Schema& schema, const KeyRange& expected = {}) {
  return {.kind = schema.has_key() ? ObjectKind::kTable : ObjectKind::kHeapTable,
          .schema = schema,
          .expected = expected};
}

class TableTest : public testing::TestWithParam<uint32_t> {
 protected:
  void SetUp() override {
    seed_ = Seed();
    random_.seed(seed_);
    engine_ = OpenEngine(SmallOptions(GetParam(), ""));
    session_ = engine_->NewSession();
  }
  uint64_t Pick(uint64_t end) {
    return std::uniform_int_distribution<uint64_t>(0, end - 1)(random_);
  }
  Value OrNull(Value value) { return Pick(8) == 0 ? Value{} : value; }
  Row RandomRow(int64_t k1, int64_t k2) {
    std::string text(Pick(12) == 0 ? Pick(300) : Pick(9), static_cast<char>('a' + Pick(26)));
    return {k1,
            k2,
            OrNull(static_cast<int64_t>(static_cast<int32_t>(random_()))),
            OrNull(static_cast<int64_t>(random_())),
            OrNull(static_cast<uint64_t>(random_())),
            OrNull(static_cast<double>(Pick(1000)) / 8),
            OrNull(Date{static_cast<int32_t>(Pick(20000))}),
            OrNull(Decimal{static_cast<int64_t>(Pick(100000)) - 50000, 2}),
            OrNull(text)};
  }
  Object CreateTable(const char* name, const Schema& schema, const KeyRange& expected = {}) {
    return Create(*engine_, name, TableOptions(schema, expected));
  }
  Object CreateHeap(uint64_t rows) {
    const Object heap = CreateTable("h", HeapOfTwo());
    AppendTo(heap, 0, rows);
    return heap;
  }
  void AppendTo(const Object& heap, uint64_t first, uint64_t rows) {
    for (uint64_t i = 0; i < rows; i += 50'000) {
      const absl::Status status =
          Write(heap, WriteMode::kAppend, HeapRows(first + i, std::min<uint64_t>(rows - i, 50'000)))
              .status;
      ASSERT_TRUE(status.ok()) << status;
    }
  }
  BatchResult Write(const Object& table, WriteMode mode, Rows rows) {
    return session_->Write(table, {.mode = mode, .rows = rows.batch()});
  }
  std::vector<Row> ScanAll(const Object& table, const Query& query = {}) {
    return ReadAll(*OrDie(session_->OpenScan(table, query)));
  }
  // Aggregates of u64 or i128 that fit an i64.
  int64_t One(const Object& table, const Query& query, size_t column = 0) {
    const std::vector<Row> rows = ScanAll(table, query);
    EXPECT_EQ(rows.size(), 1u);
    if (rows.empty()) return -1;
    if (const auto* u64 = std::get_if<uint64_t>(&rows[0][column]))
      return static_cast<int64_t>(*u64);
    if (const auto* i64 = std::get_if<int64_t>(&rows[0][column])) return *i64;
    return 0;
  }

  uint64_t seed_ = 0;
  std::mt19937_64 random_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
};

inline std::string AeusOf(const testing::TestParamInfo<uint32_t>& info) {
  return absl::StrCat(info.param, "Aeus");
}
}  // namespace eris::test

#endif  // ERIS_TESTS_INTEGRATION_TABLE_FIXTURE_H_
