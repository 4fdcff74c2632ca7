// What only tables have, with running AEUs, against models: columns of every type, queries, scans
// into other objects, shared and resumed scans, columns as Arrow has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "eris/engine.h"
#include "tests/integration/table_fixture.h"
#include "tests/support/seed.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::AllTypes;
using test::AppendRows;
using test::HeapOfTwo;
using test::HeapRows;
using test::KeyColumnsOf;
using test::ReadAll;
using test::Row;
using test::Rows;
using test::Sorted;
using test::TextOf;

class TableTest : public test::TableTest {};

INSTANTIATE_TEST_SUITE_P(Aeus, TableTest, testing::Values(1, 2, 8), test::AeusOf);

// As in an index: equal numbers are equal keys, whatever the sign of a zero. A column that is not
// of the key keeps it.
TEST_P(TableTest, MinusZeroIsTheKeyZero) {
  const Schema schema{.columns = {{.name = "k1", .type = ColumnType::kFloat64},
                                  {.name = "k2", .type = ColumnType::kFloat64},
                                  {.name = "value", .type = ColumnType::kFloat64}},
                      .key = {0, 1}};
  const Object t = CreateTable("t", schema);
  Rows rows(schema.columns), keys(KeyColumnsOf(schema));
  rows.Add({-0.0, -0.0, -0.0});
  rows.Add({-0.0, 1.5, 7.0});
  keys.Add({0.0, -0.0});
  ASSERT_TRUE(Write(t, WriteMode::kUpsert, rows).status.ok());
  const auto sign = [&](const ColumnView& column, size_t row) {
    return std::signbit(std::get<double>(test::ValueAt(column, schema.columns[0], row)));
  };
  const std::vector<std::string> asked{"k1", "k2", "value"};
  const BatchResult found = session_->Lookup(t, {.keys = keys.batch(), .columns = asked});
  ASSERT_TRUE(found.status.ok() && BitAt(found.existed, 0)) << found.status;
  EXPECT_FALSE(sign(test::ViewOf(found.columns[0]), 0));
  EXPECT_FALSE(sign(test::ViewOf(found.columns[1]), 0));
  EXPECT_TRUE(sign(test::ViewOf(found.columns[2]), 0));
  const Object copy = CreateTable("copy", schema);
  ASSERT_EQ(session_->ScanInto(t, {}, copy).value_or(0), 2u);
  for (const Object& table : {t, copy}) {
    const std::vector<Row> scanned = ScanAll(table);
    ASSERT_EQ(scanned.size(), 2u);
    for (const Row& row : scanned) EXPECT_FALSE(std::signbit(std::get<double>(row[0])));
  }
  Query least{.aggregates = {{AggregateFunction::kMin, Column("k1"), "least"}}};
  EXPECT_FALSE(std::signbit(std::get<double>(ScanAll(t, least)[0][0])));
  EXPECT_TRUE(BitAt(Write(t, WriteMode::kErase, keys).existed, 0));
  EXPECT_EQ(engine_->Describe("t")->keys, 1u);
}

TEST_P(TableTest, RowsOfAllTypesAgreeWithAModel) {
  SCOPED_TRACE(test::SeedText(seed_));
  const Schema schema = AllTypes();
  const Object t = CreateTable("t", schema);
  std::map<std::pair<int64_t, int64_t>, Row> model;
  const auto key = [&] {
    return std::pair<int64_t, int64_t>(static_cast<int64_t>(Pick(60)) - 30,
                                       static_cast<int64_t>(Pick(50)) - 25);
  };
  for (int round = 0; round < 40; ++round) {
    const size_t n = 1 + Pick(400);
    Rows keys(KeyColumnsOf(schema));
    Rows rows(schema.columns);
    std::vector<std::pair<int64_t, int64_t>> picked;
    for (size_t i = 0; i < n; ++i) {
      picked.push_back(key());
      keys.Add({picked[i].first, picked[i].second});
    }
    BatchResult result;
    switch (Pick(4)) {
      case 0: {
        result = session_->Write(t, {.mode = WriteMode::kErase, .rows = keys.batch()});
        ASSERT_TRUE(result.status.ok()) << result.status;
        for (size_t i = 0; i < n; ++i) EXPECT_EQ(BitAt(result.existed, i), model.erase(picked[i]));
        break;
      }
      case 1: {
        const std::vector<std::string> asked = {"text", "dec", "k2", "u64"};
        result = session_->Lookup(t, {.keys = keys.batch(), .columns = asked});
        ASSERT_TRUE(result.status.ok()) << result.status;
        const std::vector<ColumnBuffers>& out = result.columns;
        ASSERT_EQ(out.size(), 4u);
        for (size_t i = 0; i < n; ++i) {
          const auto found = model.find(picked[i]);
          ASSERT_EQ(BitAt(result.existed, i), found != model.end());
          const size_t columns[] = {8, 7, 1, 4};
          for (size_t c = 0; c < 4; ++c) {
            const Value want = found == model.end() ? Value{} : found->second[columns[c]];
            EXPECT_EQ(TextOf(test::ValueAt(test::ViewOf(out[c]), schema.columns[columns[c]], i)),
                      TextOf(want));
          }
        }
        break;
      }
      default: {
        for (size_t i = 0; i < n; ++i) {
          const Row row = RandomRow(picked[i].first, picked[i].second);
          rows.Add(row);
        }
        // Before the model has them.
        std::vector<Row> added;
        const RowBatch batch = rows.batch();
        for (size_t i = 0; i < n; ++i) {
          Row row;
          for (size_t c = 0; c < schema.columns.size(); ++c) {
            row.push_back(test::ValueAt(batch.columns[c], schema.columns[c], i));
          }
          added.push_back(row);
        }
        result = session_->Write(t, {.rows = batch});
        ASSERT_TRUE(result.status.ok()) << result.status;
        for (size_t i = 0; i < n; ++i) {
          EXPECT_EQ(BitAt(result.existed, i), !model.insert_or_assign(picked[i], added[i]).second);
        }
      }
    }
    if (round % 4 != 3) continue;
    std::vector<Row> want;
    for (const auto& [k, row] : model) want.push_back(row);
    ASSERT_EQ(Sorted(ScanAll(t)), Sorted(want));
    EXPECT_EQ(engine_->Describe("t")->keys, model.size());
    Query filtered;
    filtered.filter = Column("i64") > Literal(0) && Column("k1") <= Literal(5);
    filtered.columns = {{Column("text"), "t"}, {Column("k1") + Column("k2"), "sum"}};
    want.clear();
    for (const auto& [k, row] : model) {
      const auto* i64 = std::get_if<int64_t>(&row[3]);
      if (i64 != nullptr && *i64 > 0 && k.first <= 5) want.push_back({row[8], k.first + k.second});
    }
    ASSERT_EQ(Sorted(ScanAll(t, filtered)), Sorted(want));
  }
  ASSERT_TRUE(engine_->Drop("t").ok());
  EXPECT_EQ(session_->OpenScan(t, {}).status().code(), absl::StatusCode::kNotFound);
}

TEST_P(TableTest, AppendedRowsAreSpreadCountedAndSummed) {
  constexpr uint64_t kRows = 200'000;
  const Object h = CreateHeap(kRows);
  EXPECT_EQ(engine_->Describe("h")->keys, kRows);
  for (const AeuStats& aeu : engine_->Stats().aeus) EXPECT_GE(aeu.rows, kRows / GetParam() / 2);
  Query total;
  total.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"},
                      {AggregateFunction::kSum, Column("id"), "sum"},
                      {AggregateFunction::kMax, Column("id"), "max"}};
  const std::vector<Row> rows = ScanAll(h, total);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(TextOf(rows[0]),
            absl::StrCat(kRows, "|", kRows * (kRows - 1) / 2, "|", kRows - 1, "|"));
  Query groups;
  groups.group_by = {"group"};
  groups.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
  const std::vector<Row> by_group = ScanAll(h, groups);
  ASSERT_EQ(by_group.size(), 7u);
  for (size_t i = 0; i < 7; ++i) {
    const uint64_t n = kRows / 7 + (i < kRows % 7 ? 1 : 0);
    EXPECT_EQ(TextOf(by_group[i]), absl::StrCat(i, "|", n, "|"));
  }
  groups.limit = 3;
  EXPECT_EQ(ScanAll(h, groups).size(), 3u);
}

// The query is refused for what it asks of these rows: sent again it ends the same way.
TEST_P(TableTest, TooManyGroupsAreOutOfRangeWhateverPartHasThem) {
  const Object h = CreateHeap(kGroupsMax);
  Query groups{.group_by = {"id"}, .aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}}};
  EXPECT_EQ(ScanAll(h, groups).size(), kGroupsMax);
  AppendTo(h, kGroupsMax, 1);
  const absl::Status status = test::OrDie(session_->OpenScan(h, groups))->Next().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << status;
  EXPECT_EQ(status.message(),
            "a query has more than 65536 groups: group by fewer values, or filter rows");
}

TEST_P(TableTest, ExpectedKeysAreSpreadOverTheAeus) {
  const Schema schema = {.columns = {{.name = "k", .type = ColumnType::kInt64},
                                     {.name = "line", .type = ColumnType::kInt32}},
                         .key = {0, 1}};
  constexpr uint64_t kSign = uint64_t{1} << 63;
  const Object t = CreateTable("t", schema, {kSign, kSign + 8000});
  const auto info = engine_->Describe("t");
  EXPECT_EQ(info->kind, ObjectKind::kTable);
  EXPECT_EQ(info->partition_starts.size(), GetParam());
  Rows rows(schema.columns);
  for (int64_t i = 0; i < 8000; ++i) rows.Add({i, i % 7});
  ASSERT_TRUE(Write(t, WriteMode::kUpsert, std::move(rows)).status.ok());
  for (const AeuStats& aeu : engine_->Stats().aeus) EXPECT_EQ(aeu.rows, 8000 / GetParam());
}

TEST_P(TableTest, PagesOfAResumedScanAreTheRowsOfASingleOne) {
  SCOPED_TRACE(test::SeedText(seed_));
  constexpr uint64_t kRows = 150'000;
  const Object h = CreateHeap(kRows);
  Query query;
  query.filter = Column("group") < Literal(6);
  query.columns = {{Column("id"), "id"}};
  query.snapshot = *engine_->TakeSnapshot();
  // What comes later is not in it.
  AppendTo(h, kRows, 50'000);
  std::vector<Row> rows;
  bool more = true;
  while (more) {
    query.limit = 1 + Pick(Pick(2) == 0 ? 300 : 60'000);
    auto scan = session_->OpenScan(h, query);
    ASSERT_TRUE(scan.ok()) << scan.status();
    more = false;
    uint64_t page = 0;
    for (;;) {
      auto chunk = (*scan)->Next();
      ASSERT_TRUE(chunk.ok()) << chunk.status();
      if (*chunk == nullptr) break;
      page += (*chunk)->rows();
      AppendRows(**chunk, rows);
      query.resume = (*chunk)->resume();
      more = true;
      if (Pick(5) == 0) break;  // as a reader whose connection is lost
    }
    EXPECT_LE(page, query.limit);
  }
  std::vector<uint64_t> ids;
  for (const Row& row : rows) ids.push_back(std::get<uint64_t>(row[0]));
  std::sort(ids.begin(), ids.end());
  std::vector<uint64_t> want;
  for (uint64_t i = 0; i < kRows; ++i) {
    if (i % 7 < 6) want.push_back(i);
  }
  EXPECT_TRUE(ids == want) << ids.size() << " rows, want " << want.size();

  query.filter = Column("group") < Literal(5);
  EXPECT_EQ(session_->OpenScan(h, query).status().code(), absl::StatusCode::kInvalidArgument);
  query.filter = Column("group") < Literal(6);
  query.snapshot = *engine_->TakeSnapshot();
  EXPECT_EQ(session_->OpenScan(h, query).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_P(TableTest, SharedScansAnswerLikeSingleOnes) {
  constexpr uint64_t kRows = 400'000;
  const Object h = CreateHeap(kRows);
  const auto plain_query = [](int64_t i) {
    Query query;
    query.filter = Between(Column("id"), Literal(i * 30'000), Literal(i * 30'000 + 99'999)) &&
                   Column("group") > Literal(i % 7);
    query.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"},
                        {AggregateFunction::kSum, Column("id"), "sum"}};
    return query;
  };
  std::vector<std::string> want;
  for (int64_t i = 0; i < 8; ++i) want.push_back(TextOf(ScanAll(h, plain_query(i))[0]));
  std::vector<std::unique_ptr<Scan>> scans;
  for (int64_t i = 0; i < 8; ++i) {
    auto scan = session_->OpenScan(h, plain_query(i));
    ASSERT_TRUE(scan.ok());
    scans.push_back(*std::move(scan));
  }
  for (size_t i = 0; i < 8; ++i) {
    const std::vector<Row> rows = ReadAll(*scans[i]);
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(TextOf(rows[0]), want[i]);
  }
}

TEST_P(TableTest, RowsGoIntoOtherObjects) {
  constexpr uint64_t kRows = 120'000;
  const Object h = CreateHeap(kRows);
  const Schema clustered = {.columns = {{.name = "g", .type = ColumnType::kInt32},
                                        {.name = "twice", .type = ColumnType::kUint64}},
                            .key = {1}};
  const Object c = CreateTable("c", clustered, {0, 2 * kRows}), h2 = CreateTable("h2", HeapOfTwo());
  const Object index = test::Create(*engine_, "index", {.expected = {0, kRows}});
  const Object hash =
      test::Create(*engine_, "hash", {.kind = ObjectKind::kHash, .expected = {0, kRows}});
  Query query;
  query.filter = Column("group") < Literal(3);
  uint64_t kept = 0;
  for (uint64_t i = 0; i < kRows; ++i) kept += i % 7 < 3;
  query.columns = {{Column("group"), "g"}, {Column("id") + Column("id"), "twice"}};
  auto written = session_->ScanInto(h, query, c);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, kept);
  Query sum;
  sum.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
  EXPECT_EQ(One(c, sum), static_cast<int64_t>(kept));

  query.columns.clear();
  written = session_->ScanInto(h, query, h2);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(*written, kept);
  EXPECT_EQ(Sorted(ScanAll(h2)), Sorted(ScanAll(h, query)));

  query.columns = {{Column("id"), "key"}, {Column("id") + Column("id"), "value"}};
  for (const Object& target : {index, hash}) {
    const auto rows = test::Await<absl::StatusOr<uint64_t>>(
        [&](auto done) { return session_->ScanIntoAsync(h, query, target, std::move(done)); });
    ASSERT_TRUE(rows.ok() && rows->ok()) << rows.status();
    EXPECT_EQ(**rows, kept);
    EXPECT_EQ(engine_->Describe(target.name())->keys, kept);
    std::vector<uint64_t> values(2);
    std::vector<uint8_t> found(2);
    ASSERT_TRUE(
        session_->Lookup(target, {9, 10}, absl::MakeSpan(values), absl::MakeSpan(found)).ok());
    EXPECT_EQ(values[0], 18u);
    EXPECT_EQ(found[0], 1);  // 9 % 7 == 2
    EXPECT_EQ(found[1], 0);
  }
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(session_->ScanInto(h, {}, h).status().code(), kInvalid);
  EXPECT_EQ(session_->ScanInto(h, {}, c).status().code(), kInvalid);  // types
  EXPECT_EQ(session_->ScanInto(h, {}, index).status().code(), kInvalid);
  const Object unlike =
      CreateTable("unlike", {.columns = {{.name = "a", .type = ColumnType::kInt32},
                                         {.name = "b", .type = ColumnType::kDecimal, .scale = 2}}});
  Query two;
  two.columns = {{.expression = expressions::Literal(1), .name = "x"},
                 {.expression = expressions::Literal(2), .name = "y"}};
  EXPECT_EQ(session_->ScanInto(h, two, unlike).status().message(),
            "column 1 of the scan, \"x\", is int64; column 1 of table \"unlike\", \"a\", is int32");
  EXPECT_EQ(
      session_->ScanInto(h, two, index).status().message(),
      "object \"index\" takes two columns of uint64, key and value; the scan hands out x int64, "
      "y int64");
  two.columns.pop_back();
  EXPECT_EQ(session_->ScanInto(h, two, unlike).status().message(),
            "table \"unlike\" has 2 columns, a int32, b decimal(2); the scan hands out 1, x int64");
  EXPECT_EQ(session_->ScanInto(h, sum, index).status().code(), kInvalid);
}

TEST_P(TableTest, ReadersThatPauseCancelOrLoseTheirTableEnd) {
  constexpr uint64_t kRows = 600'000;
  const Object h = CreateHeap(kRows);
  {
    // One that keeps all of its chunks is told so; others go on.
    auto paused = session_->OpenScan(h, {});
    ASSERT_TRUE(paused.ok());
    std::vector<std::shared_ptr<const Chunk>> kept;
    absl::Status status;
    for (;;) {
      auto chunk = (*paused)->Next();
      status = chunk.status();
      if (!chunk.ok() || *chunk == nullptr) break;
      kept.push_back(*chunk);
    }
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    }
    EXPECT_EQ(ScanAll(h).size(), kRows);
    uint64_t rows = 0;
    for (const auto& chunk : kept) rows += chunk->rows();
    kept.clear();
    if (!status.ok()) rows += ReadAll(**paused).size();
    EXPECT_EQ(rows, kRows);
  }
  auto cancelled = session_->OpenScan(h, {});
  ASSERT_TRUE(cancelled.ok());
  (*cancelled)->Cancel();
  EXPECT_EQ((*cancelled)->Next().status().code(), absl::StatusCode::kCancelled);
  auto late = session_->OpenScan(h, {});
  ASSERT_TRUE(late.ok());
  auto abandoned = session_->OpenScan(h, {});
  abandoned->reset();
  auto dropped = session_->OpenScan(h, {});
  ASSERT_TRUE(dropped.ok());
  ASSERT_TRUE(engine_->Drop("h").ok());
  absl::Status status;
  const size_t seen = ReadAll(**dropped, &status).size();
  EXPECT_TRUE(status.code() == absl::StatusCode::kNotFound || seen == kRows) << status;
  late->reset();
}

TEST_P(TableTest, ExportedColumnsAreTheChunksOwnMemory) {
  const Object t = CreateTable("t", AllTypes());
  Rows rows(AllTypes().columns);
  for (int64_t i = 0; i < 100; ++i) rows.Add(RandomRow(i, i));
  ASSERT_TRUE(Write(t, WriteMode::kUpsert, std::move(rows)).status.ok());
  auto scan = session_->OpenScan(t, {});
  ASSERT_TRUE(scan.ok());
  auto next = (*scan)->Next();
  ASSERT_TRUE(next.ok() && *next != nullptr);
  std::shared_ptr<const Chunk> chunk = *std::move(next);
  const std::weak_ptr<const Chunk> watched = chunk;
  ArrowSchema schema;
  ArrowArray array;
  ExportArrow(chunk, &schema, &array);
  ASSERT_NE(schema.release, nullptr);
  ASSERT_NE(array.release, nullptr);
  EXPECT_STREQ(schema.format, "+s");
  ASSERT_EQ(schema.n_children, 9);
  ASSERT_EQ(array.n_children, 9);
  EXPECT_EQ(array.length, static_cast<int64_t>(chunk->rows()));
  const char* const formats[] = {"l", "i", "i", "l", "L", "g", "tdD", "d:18,2,64", "u"};
  for (int64_t i = 0; i < 9; ++i) {
    EXPECT_STREQ(schema.children[i]->format, formats[i]);
    EXPECT_EQ(schema.children[i]->name, chunk->schema().columns[i].name);
    EXPECT_EQ(schema.children[i]->flags, i < 2 ? 0 : ARROW_FLAG_NULLABLE);
    const ArrowArray& child = *array.children[i];
    const ColumnView column = chunk->column(i);
    EXPECT_EQ(child.length, array.length);
    EXPECT_EQ(child.offset, 0);
    EXPECT_EQ(child.buffers[0], column.validity);
    ASSERT_EQ(child.n_buffers, i == 8 ? 3 : 2);
    EXPECT_EQ(child.buffers[1], i == 8 ? column.offsets : column.values);
    if (i == 8) {
      EXPECT_EQ(child.buffers[2], column.values);
    }
    int64_t nulls = 0;
    for (uint64_t row = 0; row < chunk->rows(); ++row) {
      const Value value = test::ValueAt(column, chunk->schema().columns[i], row);
      nulls += std::holds_alternative<std::monostate>(value);
    }
    EXPECT_EQ(child.null_count, nulls);
  }
  // A child that has been moved out is released by itself.
  ArrowArray moved = *array.children[0];
  array.children[0]->release = nullptr;
  chunk.reset();
  schema.release(&schema);
  EXPECT_EQ(schema.release, nullptr);
  array.release(&array);
  EXPECT_FALSE(watched.expired());
  moved.release(&moved);
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace eris
