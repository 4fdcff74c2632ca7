// Scans of an index with AEUs stepped by hand: order and limits across partitions, chunks, columns
// of all types, and tokens to go on with. What all readers promise: reader_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "eris/key_encoding.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"
#include "tests/support/table_rows.h"

namespace eris {
namespace {

using namespace expressions;  // NOLINT: operators
using test::Row;
using test::Rows;

constexpr uint64_t kScanRows = 300'000;  // half of it at either AEU: more than its chunks hold

class ScanStateTest : public testing::Test {
 protected:
  ~ScanStateTest() override {
    Settle();
    EXPECT_EQ(engine_->core().chunks->in_use(), 0u);
  }

  // Until no scan is left.
  void Settle() {
    engine_.StepUntil([&] {
      const auto& core = engine_->core();
      return core.in_flight.count() == 0 && core.scans.size() + core.joins.size() == 0;
    });
  }

  // Keys and values 0 .. kScanRows.
  Object CreateLong() {
    const Object object = engine_.Create("o", {.expected = {0, kScanRows}});
    std::vector<uint64_t> keys(10'000);
    for (uint64_t from = 0; from < kScanRows; from += keys.size()) {
      std::iota(keys.begin(), keys.end(), from);
      EXPECT_TRUE(engine_.While([&] { return session_->Upsert(object, keys, keys); }).ok());
    }
    return object;
  }
  void Write(const Object& object, Rows& rows) {
    const absl::Status written =
        engine_.While([&] { return session_->Write(object, {.rows = rows.batch()}).status; });
    EXPECT_TRUE(written.ok()) << written;
  }
  std::unique_ptr<Scan> Open(const Object& object, const Query& query = {}) {
    auto scan = session_->OpenScan(object, query);
    // Chunks of scans that were given up come back when their AEUs have seen it.
    if (absl::IsResourceExhausted(scan.status())) {
      engine_.StepUntil([&] {
        scan = session_->OpenScan(object, query);
        return scan.ok();
      });
    }
    return test::OrDie(std::move(scan));
  }
  absl::Status Refused(const Object& object, const Query& query) {
    absl::Status status = session_->OpenScan(object, query).status();
    Settle();
    return status;
  }
  Scan::NextResult Next(Scan& scan) {
    return engine_.While([&] { return scan.Next(); });
  }
  // Reads to the end and counts, checking that rows follow one another.
  uint64_t Count(Scan& scan, uint64_t from = 0) {
    uint64_t next = from;
    for (;;) {
      const Scan::NextResult chunk = Next(scan);
      EXPECT_TRUE(chunk.ok()) << chunk.status();
      if (!chunk.ok() || *chunk == nullptr) return next - from;
      for (const uint64_t key : (*chunk)->Uint64s(0)) EXPECT_EQ(key, next++);
    }
  }
  std::vector<Row> ReadAll(const Object& object, const Query& query = {}) {
    const auto scan = Open(object, query);
    return engine_.While([&] { return test::ReadAll(*scan); });
  }
  static Query KeysOnly(const Object& object) {
    Query query;
    for (const uint32_t key : object.schema().key) {
      query.columns.push_back({Column(object.schema().columns[key].name), ""});
    }
    return query;
  }

  test::HandEngine engine_{2, [](Options& options) { options.scan_chunks_max = 6; }};
  std::unique_ptr<Session> session_ = engine_->NewSession();
};

TEST_F(ScanStateTest, ReadsEveryRowInOrderThroughFourChunksAndAShortOneThroughOne) {
  const Object object = CreateLong();
  auto scan = Open(object);
  EXPECT_EQ(engine_->core().chunks->in_use(), 4u);
  auto small = Open(object, {.limit = 10});
  EXPECT_EQ(engine_->core().chunks->in_use(), 5u);
  auto last = Open(object);  // gets the one that is left
  EXPECT_EQ(session_->OpenScan(object, {}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Count(*last), kScanRows);
  EXPECT_EQ(Count(*small), 10u);
  EXPECT_EQ(Count(*scan), kScanRows);
}

TEST_F(ScanStateTest, ALimitHoldsAcrossPartitions) {
  const Object object = CreateLong();
  for (const uint64_t limit :
       {uint64_t{1}, uint64_t{40'000}, kScanRows / 2, kScanRows / 2 + 1, kScanRows}) {
    EXPECT_EQ(Count(*Open(object, {.limit = limit})), limit);
  }
  auto scan = Open(object, {.range = {kScanRows / 2 - 5, std::nullopt}, .limit = 10});
  EXPECT_EQ(Count(*scan, kScanRows / 2 - 5), 10u);
}

TEST_F(ScanStateTest, AScanThatHasEndedLetsItsSnapshotGo) {
  const Object object = CreateLong();
  auto scan = Open(object);
  const uint64_t epoch = scan->snapshot()->epoch();
  EXPECT_TRUE(engine_->core().directory.snapshots().Holds(epoch));
  EXPECT_EQ(Count(*scan), kScanRows);
  EXPECT_EQ(scan->snapshot(), nullptr);
  EXPECT_FALSE(engine_->core().directory.snapshots().Holds(epoch));
}

// For each pair of types: rows come back as they were written, in the order of their keys, also
// without values and through Arrow.
TEST_F(ScanStateTest, KeysOfAllTypesComeAsTheirOwn) {
  const auto value = [](ColumnType type, int64_t i) -> Value {
    switch (type) {
      case ColumnType::kInt64:
        return i;
      case ColumnType::kFloat64:
        return static_cast<double>(i) / 4;
      case ColumnType::kDate:
        return Date{static_cast<int32_t>(i)};
      case ColumnType::kTimestamp:
        return Timestamp{i * 1'000'000};
      default:
        return static_cast<uint64_t>(i + 1000);
    }
  };
  const ColumnType types[] = {ColumnType::kUint64, ColumnType::kInt64, ColumnType::kFloat64,
                              ColumnType::kDate, ColumnType::kTimestamp};
  for (const ColumnType first : types) {
    for (const ColumnType second : types) {
      const std::string name = absl::StrCat("o", static_cast<int>(first), static_cast<int>(second));
      for (const bool two_parts : {false, true}) {
        if (!two_parts && first != second) continue;
        const KeyTypes key = two_parts ? KeyTypes(first, second) : KeyTypes(first);
        const Object object = engine_.Create((name + (two_parts ? "t" : "")).c_str(),
                                             {.schema = KeyValueSchema(key)});
        Rows rows(object.schema().columns);
        std::vector<Row> want;
        for (int64_t i = -150; i < 150; ++i) {
          Row row = {value(first, i)};
          if (two_parts) row.push_back(value(second, -i));
          row.push_back(static_cast<uint64_t>(i + 150));
          rows.Add(row);
          want.push_back(row);
        }
        Write(object, rows);
        EXPECT_EQ(ReadAll(object), want) << name;
        std::vector<Row> keys = want;
        for (Row& row : keys) row.pop_back();
        EXPECT_EQ(ReadAll(object, KeysOnly(object)), keys) << name;
        std::reverse(want.begin(), want.end());
        EXPECT_EQ(ReadAll(object, {.direction = ScanDirection::kBackward}), want) << name;
      }
    }
  }
}

TEST_F(ScanStateTest, StringsOfAnyLengthStandInOneColumn) {
  const Object object =
      engine_.Create("s", {.schema = KeyValueSchema(ColumnType::kInt64, ColumnType::kString)});
  Rows rows(object.schema().columns);
  std::vector<Row> want;
  for (int64_t i = 0; i < 40'000; ++i) {
    const size_t length = i % 4'000 == 7 ? 100'000 : static_cast<size_t>(i % 20);
    want.push_back({i - 20'000, std::string(length, static_cast<char>('a' + i % 26))});
    rows.Add(want.back());
  }
  Write(object, rows);
  EXPECT_EQ(ReadAll(object), want);
  // A column that is taken is what the view was.
  auto scan = Open(object);
  auto chunk = Next(*scan);
  ASSERT_TRUE(chunk.ok());
  std::vector<Row> seen;
  test::AppendRows(**chunk, seen);
  const ColumnBuffers taken[] = {(*chunk)->TakeColumn(0), (*chunk)->TakeColumn(1)};
  for (size_t i = 0; i < seen.size(); ++i) {
    for (size_t column = 0; column < 2; ++column) {
      ASSERT_EQ(test::ValueAt(test::ViewOf(taken[column]), object.schema().columns[column], i),
                seen[i][column]);
    }
  }
}

TEST_F(ScanStateTest, ChunksOfIndexesAndJoinsAreExportedToArrow) {
  const Object dates =
      engine_.Create("d", {.schema = KeyValueSchema(ColumnType::kDate, ColumnType::kString)});
  Rows rows(dates.schema().columns);
  rows.Add({Date{-3}, std::string("long enough for a record")});
  rows.Add({Date{5}, std::string("b")});
  Write(dates, rows);
  auto scan = Open(dates);
  const auto exported = [&](const Scan::NextResult& chunk, std::vector<std::string> formats) {
    ArrowSchema schema;
    ArrowArray array;
    ExportArrow(*chunk, &schema, &array);
    ASSERT_EQ(static_cast<size_t>(schema.n_children), formats.size());
    EXPECT_EQ(array.length, static_cast<int64_t>((*chunk)->rows()));
    for (size_t i = 0; i < formats.size(); ++i) {
      EXPECT_EQ(schema.children[i]->format, formats[i]);
      EXPECT_EQ(schema.children[i]->name, (*chunk)->schema().columns[i].name);
      const auto* const buffers = array.children[i]->buffers;
      const bool offsets = formats[i] == "u" || formats[i] == "z";
      EXPECT_EQ(buffers[offsets ? 2 : 1], (*chunk)->column(i).values);
    }
    schema.release(&schema);
    array.release(&array);
  };
  exported(Next(*scan), {"tdD", "u"});
  const Object numbers = engine_.Create("n", {.schema = KeyValueSchema(ColumnType::kFloat64)});
  Rows pairs(numbers.schema().columns);
  pairs.Add({2.5, uint64_t{7}});
  Write(numbers, pairs);
  scan = Open(numbers);
  exported(Next(*scan), {"g", "L"});
  const Object inner = engine_.Create("i", {});
  EXPECT_TRUE(
      engine_.While([&] { return session_->Upsert(inner, {7}, std::vector<uint64_t>{9}); }).ok());
  scan = test::OrDie(session_->OpenJoin(numbers, inner, {}));
  exported(Next(*scan), {"g", "L", "L"});
}

TEST_F(ScanStateTest, ATokenGoesOnBehindItsChunkInBothDirections) {
  const Object object = CreateLong();
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    Query query{.range = {7, kScanRows - 7}, .direction = direction};
    std::vector<uint64_t> keys;
    int scans = 0;
    do {
      auto scan = Open(object, query);
      const Scan::NextResult chunk = Next(*scan);
      ASSERT_TRUE(chunk.ok());
      if (*chunk == nullptr) break;  // a token may lead to no more rows
      const auto part = (*chunk)->Uint64s(0);
      keys.insert(keys.end(), part.begin(), part.end());
      query.resume = (*chunk)->resume();
      ++scans;
    } while (!query.resume.empty());
    EXPECT_GT(scans, 5);
    std::vector<uint64_t> want(kScanRows - 14);
    std::iota(want.begin(), want.end(), 7u);
    if (direction == ScanDirection::kBackward) std::reverse(want.begin(), want.end());
    EXPECT_EQ(keys, want);
  }
  // The limit is that of the rows still wanted, and where it is reached there is no token.
  auto chunk = Next(*Open(object, {.limit = 5'000}));
  EXPECT_EQ((*chunk)->resume(), "");
  Query query;
  query.resume = (*Next(*Open(object)))->resume();
  query.limit = 3;
  const uint64_t behind = routing::kScanChunkRows;
  EXPECT_EQ(Count(*Open(object, query), behind), 3u);
}

TEST_F(ScanStateTest, ATokenGoesOnInTheMiddleOfAFirstPart) {
  const Object object = engine_.Create(
      "t", {.schema = KeyValueSchema(KeyTypes(ColumnType::kUint64, ColumnType::kInt64))});
  std::vector<Row> want;
  for (int64_t from = -30'000; from < 30'000; from += 10'000) {
    Rows rows(object.schema().columns);
    for (int64_t i = from; i < from + 10'000; ++i) {
      want.push_back({uint64_t{7}, i, uint64_t{1}});
      rows.Add(want.back());
    }
    Write(object, rows);
  }
  Query query;
  std::vector<Row> got;
  do {
    auto scan = Open(object, query);
    const Scan::NextResult chunk = Next(*scan);
    ASSERT_TRUE(chunk.ok());
    if (*chunk == nullptr) break;  // a token may lead to no more rows
    test::AppendRows(**chunk, got);
    query.resume = (*chunk)->resume();
  } while (!query.resume.empty());
  EXPECT_EQ(got, want);
}

TEST_F(ScanStateTest, TokensThatDoNotFitAreRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Object object = CreateLong();
  const Query query{.range = {0, kScanRows - 1}};
  const std::string token = (*Next(*Open(object, query)))->resume();
  const auto with = [&](Query changed, std::string resume) {
    changed.resume = std::move(resume);
    return changed;
  };
  EXPECT_TRUE(Refused(object, with(query, token)).ok());
  for (size_t i = 0; i < token.size(); ++i) {
    std::string damaged = token;
    damaged[i] = static_cast<char>(damaged[i] ^ 4);
    EXPECT_EQ(Refused(object, with(query, damaged)).code(), kInvalid) << i;
    if (i == 0) continue;
    EXPECT_EQ(Refused(object, with(query, token.substr(0, i))).code(), kInvalid) << i;
  }
  // Tokens of another query (a difference in anything but the limit), and of another object.
  Query other = query;
  other.limit = 77;
  EXPECT_TRUE(Refused(object, with(other, token)).ok());
  EXPECT_EQ(Refused(object, with({}, token)).code(), kInvalid);
  other = query;
  other.direction = ScanDirection::kBackward;
  EXPECT_EQ(Refused(object, with(other, token)).code(), kInvalid);
  other = query;
  other.values = ValueRange{0, 7};
  EXPECT_EQ(Refused(object, with(other, token)).code(), kInvalid);
  other = query;
  other.columns = KeysOnly(object).columns;
  EXPECT_EQ(Refused(object, with(other, token)).code(), kInvalid);
  const Object second = engine_.Create("second", {});
  EXPECT_EQ(Refused(second, with(query, token)).code(), kInvalid);
  const Object table = engine_.Create("table", {.kind = ObjectKind::kTable});
  EXPECT_EQ(Refused(table, with({.snapshot = *engine_->TakeSnapshot()}, token)).code(), kInvalid);
}

TEST_F(ScanStateTest, WhatDoesNotFitTheKindOfObjectIsRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Object index = engine_.Create("i", {});
  const Object table = engine_.Create("t", {.kind = ObjectKind::kTable});
  const Object hash = engine_.Create("h", {.kind = ObjectKind::kHash});
  const Object strings =
      engine_.Create("s", {.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString)});
  Query query;
  query.filter = Equal(Column("key"), Literal(uint64_t{7}));
  EXPECT_EQ(Refused(index, query).code(), kInvalid);
  EXPECT_TRUE(Refused(table, query).ok());
  query = {};
  query.aggregates = {{AggregateFunction::kCount, std::nullopt, "n"}};
  EXPECT_EQ(Refused(index, query).code(), kInvalid);
  query.group_by = {"key"};
  EXPECT_EQ(Refused(index, query).code(), kInvalid);
  EXPECT_TRUE(Refused(table, query).ok());
  // Columns: all, or those of the key.
  const auto refused_columns = [&](std::vector<NamedExpression> columns) {
    Query of_columns;
    of_columns.columns = std::move(columns);
    return Refused(index, of_columns);
  };
  EXPECT_TRUE(refused_columns({{Column("key"), ""}}).ok());
  EXPECT_TRUE(refused_columns({{Column("key"), "key"}, {Column("value"), ""}}).ok());
  EXPECT_EQ(refused_columns({{Column("value"), ""}}).code(), kInvalid);
  EXPECT_EQ(refused_columns({{Column("value"), ""}, {Column("key"), ""}}).code(), kInvalid);
  EXPECT_EQ(refused_columns({{Column("key"), "other"}}).code(), kInvalid);
  EXPECT_EQ(refused_columns({{Column("key") + Literal(uint64_t{1}), ""}}).code(), kInvalid);
  const std::string text(refused_columns({{Column("vale"), ""}}).message());
  EXPECT_NE(text.find("all (key, value) or those of the key (key)"), std::string::npos) << text;
  // Scans of tables have neither range nor direction nor values.
  EXPECT_EQ(Refused(table, {.range = {0, 7}}).code(), kInvalid);
  EXPECT_EQ(Refused(table, {.direction = ScanDirection::kBackward}).code(), kInvalid);
  EXPECT_EQ(Refused(table, {.values = ValueRange{0, 7}}).code(), kInvalid);
  EXPECT_EQ(Refused(index, {.range = {7, 0}}).code(), kInvalid);
  EXPECT_EQ(Refused(index, {.values = ValueRange{7, 0}}).code(), kInvalid);
  EXPECT_EQ(Refused(index, {.range = {.lo = 0, .lo_second = 7}}).code(), kInvalid);
  EXPECT_EQ(Refused(hash, {}).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Refused(strings, {.values = ValueRange{0, 7}}).code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace eris
