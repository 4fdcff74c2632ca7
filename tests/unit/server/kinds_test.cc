// Every call on objects of every kind and type over real gRPC in process, against the fake engine:
// what goes in comes back, and odd columns are refused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "tests/unit/server/cell_messages.h"
#include "tests/unit/server/rpc_fixture.h"
#include "wire/objects.h"
#include "wire/query.h"
#include "wire/schema.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

struct KindCase {
  std::string name;
  CreateOptions options;
  std::vector<FakeRow> rows;  // in the order of their keys, which differ
};

// A key of each type, ascending, with a value.
template <class T>
KindCase KeyValueCase(const std::string& name, ColumnType type, const std::vector<T>& keys,
                      ColumnType value = ColumnType::kUint64) {
  KindCase one{name, {.schema = KeyValueSchema(type, value)}, {}};
  for (size_t i = 0; i < keys.size(); ++i) {
    one.rows.push_back({FakeBytes(keys[i]), value == ColumnType::kUint64
                                                ? FakeBytes<uint64_t>(100 + i)
                                                : std::string(i * 13, static_cast<char>(i))});
  }
  return one;
}

KindCase PairCase() {
  using Days = std::numeric_limits<int32_t>;
  KindCase one{
      "Pairs", {.schema = KeyValueSchema(KeyTypes(ColumnType::kUint64, ColumnType::kDate))}, {}};
  const std::vector<std::pair<uint64_t, int32_t>> keys = {
      {0, Days::min()}, {0, Days::max()}, {7, -1}, {7, 0}, {8, 0}, {~uint64_t{0}, Days::max()}};
  for (const auto& [user, day] : keys) {
    one.rows.push_back({FakeBytes(user), FakeBytes(day), FakeBytes<uint64_t>(one.rows.size())});
  }
  return one;
}

KindCase TableCase(bool clustered) {
  KindCase one{clustered ? "Table" : "Heap",
               {.kind = clustered ? ObjectKind::kTable : ObjectKind::kHeapTable,
                .schema = {.columns = {{.name = "text", .type = ColumnType::kString},
                                       {.name = "key", .type = ColumnType::kInt32},
                                       {.name = "cents",
                                        .type = ColumnType::kDecimal,
                                        .scale = 2,
                                        .nullable = true}}}},
               {}};
  if (clustered) one.options.schema.key = {1};
  for (int32_t i = -3; i < 4; ++i) {
    one.rows.push_back({std::string(static_cast<size_t>(i + 3), 'x'), FakeBytes(i), std::nullopt});
    if (i % 2 == 0) one.rows.back()[2] = FakeBytes<int64_t>(i);
  }
  return one;
}

std::vector<KindCase> Cases() {
  using Ints = std::numeric_limits<int64_t>;
  using Floats = std::numeric_limits<double>;
  using Days = std::numeric_limits<int32_t>;
  const std::vector<uint64_t> numbers = {0, 1, 2, uint64_t{1} << 63, ~uint64_t{0}};
  const std::vector<int64_t> ints = {Ints::min(), -1, 0, 1, Ints::max()};
  std::vector<KindCase> cases = {
      KeyValueCase("Uint64", ColumnType::kUint64, numbers),
      KeyValueCase("Int64", ColumnType::kInt64, ints),
      KeyValueCase<double>("Float64", ColumnType::kFloat64,
                           {-Floats::infinity(), -Floats::max(), -Floats::denorm_min(), 0.0,
                            Floats::denorm_min(), Floats::max(), Floats::infinity()}),
      KeyValueCase<int32_t>("Date", ColumnType::kDate, {Days::min(), -1, 0, 1, Days::max()}),
      KeyValueCase("Timestamp", ColumnType::kTimestamp, ints),
      PairCase(),
      KeyValueCase("Bytes", ColumnType::kInt64, ints, ColumnType::kBytes),
      KeyValueCase("Hash", ColumnType::kUint64, numbers),
      TableCase(true),
      TableCase(false)};
  cases[7].options.kind = ObjectKind::kHash;
  return cases;
}

class KindsTest : public RpcTest, public ::testing::WithParamInterface<KindCase> {
 protected:
  KindsTest() {
    v1::CreateObjectRequest request;
    request.set_name("o");
    EXPECT_TRUE(wire::FillCreateOptions(GetParam().options, &request).ok());
    v1::CreateObjectResponse response;
    grpc::ClientContext context;
    const grpc::Status status = catalog->CreateObject(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(*wire::SchemaFrom(response.object().schema()), schema);
    engine.rows_per_chunk = 2;
  }

  v1::LookupRequest Keys(const std::vector<FakeRow>& from) const {
    v1::LookupRequest request;
    request.set_object("o");
    FillCells(schema, schema.key, from, request.mutable_keys());
    return request;
  }
  v1::WriteRequest Rows(v1::WriteMode mode, const std::vector<FakeRow>& from) const {
    v1::WriteRequest request;
    request.set_object("o");
    request.set_mode(mode);
    FillCells(schema, mode == v1::WRITE_MODE_ERASE ? schema.key : wire::AllColumns(schema), from,
              request.mutable_columns());
    return request;
  }
  v1::WriteMode Stores() const {
    return schema.has_key() ? v1::WRITE_MODE_UPSERT : v1::WRITE_MODE_APPEND;
  }
  void Store() {
    const grpc::Status status = Write(Rows(Stores(), rows));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  std::vector<FakeRow> Only(absl::Span<const uint32_t> which, size_t from = 0) const {
    return Pick({rows.begin() + static_cast<ptrdiff_t>(from), rows.end()}, which);
  }
  std::vector<uint32_t> NotOfTheKey() const {
    std::vector<uint32_t> columns;
    for (uint32_t i = 0; i < schema.columns.size(); ++i) {
      if (!PartOf(schema, i)) columns.push_back(i);
    }
    return columns;
  }
  static std::vector<FakeRow> CellsOf(const std::vector<v1::ScanResponse>& chunks) {
    std::vector<FakeRow> cells;
    const absl::StatusOr<Schema> its = wire::AnsweredSchemaFrom(chunks[0].schema());
    EXPECT_TRUE(its.ok()) << its.status();
    const wire::ColumnTypes types = wire::TypesOf(*its, wire::AllColumns(*its));
    for (const v1::ScanResponse& chunk : chunks) {
      for (FakeRow& row : CellsIn(types, chunk.rows(), chunk.columns())) cells.push_back(row);
    }
    return cells;
  }
  static std::string AllBits(size_t count) {
    std::string bits((count + 7) / 8, '\0');
    for (size_t i = 0; i < count; ++i) bits[i >> 3] |= static_cast<char>(1 << (i & 7));
    return bits;
  }

  const Schema schema = GetParam().options.schema;
  const std::vector<FakeRow> rows = GetParam().rows;
};

TEST_P(KindsTest, RowsGoRound) {
  v1::WriteResponse written;
  const std::vector<FakeRow> reversed(rows.rbegin(), rows.rend());
  const grpc::Status stored = Write(Rows(Stores(), reversed), &written);
  ASSERT_TRUE(stored.ok()) << stored.error_message();
  EXPECT_EQ(written.written(), rows.size());
  EXPECT_EQ(written.refused(), 0u);
  EXPECT_FALSE(written.has_refusal());
  EXPECT_EQ(written.columns_size(), 0);
  EXPECT_EQ(engine.Describe("o")->keys, rows.size());
  if (!schema.has_key()) return;
  EXPECT_EQ(written.existed(), std::string(1, '\0'));

  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(Keys(rows), &found).ok());
  EXPECT_EQ(found.found(), AllBits(rows.size()));
  EXPECT_EQ(found.executed(), "");
  EXPECT_EQ(CellsIn(wire::TypesOf(schema, NotOfTheKey()), rows.size(), found.columns()),
            Only(NotOfTheKey()));
  // Columns by name, the key's too.
  v1::LookupRequest two = Keys(rows);
  two.add_columns(schema.columns[0].name);
  two.add_columns(schema.columns[1].name);
  ASSERT_TRUE(Lookup(two, &found).ok());
  EXPECT_EQ(CellsIn(wire::TypesOf(schema, {0, 1}), rows.size(), found.columns()), Only({0, 1}));
  two.add_columns("nothing");
  EXPECT_THAT(Lookup(two).error_message(), HasSubstr("column \"nothing\" of the lookup"));

  ASSERT_TRUE(Write(Rows(Stores(), {rows[0], rows[1]}), &written).ok());
  EXPECT_EQ(written.existed(), "\x03");
  const std::vector<FakeRow> others(rows.begin() + 1, rows.end());
  ASSERT_TRUE(Write(Rows(v1::WRITE_MODE_ERASE, others), &written).ok());
  EXPECT_EQ(written.written(), others.size());
  EXPECT_EQ(written.existed(), AllBits(others.size()));
  ASSERT_TRUE(Write(Rows(v1::WRITE_MODE_ERASE, {rows[1]}), &written).ok());
  EXPECT_EQ(written.written(), 0u);
  EXPECT_EQ(engine.Describe("o")->keys, 1u);
  ASSERT_TRUE(Lookup(Keys(rows), &found).ok());
  EXPECT_EQ(found.found(), "\x01");
  const auto left = CellsIn(wire::TypesOf(schema, NotOfTheKey()), rows.size(), found.columns());
  EXPECT_EQ(left[0], Only(NotOfTheKey())[0]);
  if (GetParam().options.kind == ObjectKind::kTable) {
    EXPECT_EQ(left[1], FakeRow(2));
  }
}

// Also of batches that the engine does not copy.
TEST_P(KindsTest, BatchesOfAnySizeGoRound) {
  std::vector<FakeRow> many;
  while (many.size() < 2000) many.insert(many.end(), rows.begin(), rows.end());
  for (const size_t count : {size_t{1}, size_t{3}, size_t{511}, many.size()}) {
    const std::vector<FakeRow> some(many.begin(), many.begin() + static_cast<ptrdiff_t>(count));
    engine.Hold();
    std::thread writer([&] { EXPECT_TRUE(Write(Rows(Stores(), some)).ok()); });
    EXPECT_TRUE(engine.AwaitHeld(1));
    engine.Release();
    writer.join();
    if (!schema.has_key()) continue;
    v1::LookupResponse found;
    ASSERT_TRUE(Lookup(Keys(some), &found).ok());
    EXPECT_EQ(found.found(), AllBits(count));
    EXPECT_EQ(engine.Describe("o")->keys, std::min(count, rows.size()));
  }
}

TEST_P(KindsTest, CallThatIsGivenUpLeavesTheEngineItsColumns) {
  std::vector<FakeRow> many;
  while (many.size() < 2000) many.insert(many.end(), rows.begin(), rows.end());
  for (const std::vector<FakeRow>& some : {rows, many}) {
    engine.Hold();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    v1::WriteResponse response;
    EXPECT_EQ(data->Write(&context, Rows(Stores(), some), &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
    EXPECT_TRUE(engine.AwaitHeld(0));
    engine.Release();
  }
}

TEST_P(KindsTest, StreamsAnswerEachBatchAndGoOnAfterABadOne) {
  grpc::ClientContext context, lookup_context;
  auto stream = data->WriteStream(&context);
  for (int i = 0; i < 20; ++i) {
    v1::WriteRequest request = Rows(Stores(), rows);
    if (i == 7) request.mutable_columns()->RemoveLast();
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  v1::WriteStreamResponse answer;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(stream->Read(&answer));
    EXPECT_EQ(answer.status().code(), i == 7 ? grpc::StatusCode::INVALID_ARGUMENT : 0);
    EXPECT_EQ(answer.response().written(), i == 7 ? 0 : rows.size());
  }
  EXPECT_TRUE(stream->Finish().ok());
  if (!schema.has_key()) return;
  auto lookups = data->LookupStream(&lookup_context);
  ASSERT_TRUE(lookups->Write(Keys(rows)));
  lookups->WritesDone();
  v1::LookupStreamResponse found;
  ASSERT_TRUE(lookups->Read(&found));
  EXPECT_EQ(found.status().code(), 0) << found.status().message();
  EXPECT_EQ(found.response().found(), AllBits(rows.size()));
  EXPECT_TRUE(lookups->Finish().ok());
}

TEST_P(KindsTest, RefusedRowsAreCountedAndTheOthersStored) {
  const bool heap = !schema.has_key();
  const FakeKey refused = heap ? FakeKey(1, 0) : *KeyOf(schema, KeyCells(schema, rows[1]), 1);
  engine.RefuseKeys({refused.first});
  const std::vector<FakeRow> three = {rows[0], rows[1], rows.back()};
  uint64_t count = 0;
  for (size_t i = 0; i < 3 && !heap; ++i) {
    count += KeyOf(schema, KeyCells(schema, three[i]), i)->first == refused.first ? 1 : 0;
  }
  if (heap) count = 2;  // the number does not go on
  v1::WriteResponse written;
  const grpc::Status status = Write(Rows(Stores(), three), &written);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(written.refused(), count);
  EXPECT_EQ(written.written(), 3 - count);
  EXPECT_EQ(written.refusal().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(written.refusal().message(), HasSubstr("no memory"));
  EXPECT_EQ(written.executed().empty(), heap);
  // None at all: the call itself is refused.
  EXPECT_EQ(Write(Rows(Stores(), {rows[1]})).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

TEST_P(KindsTest, OddColumnsAreRefusedByEveryCall) {
  const auto refused = [&](auto request, auto columns_of, auto call) {
    const auto expect = [&](const std::string& text, auto change) {
      auto odd = request;
      change(*columns_of(odd));
      const grpc::Status status = call(odd);
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << text;
      EXPECT_THAT(status.error_message(), HasSubstr(text));
    };
    expect(" columns, must be ", [](wire::Columns& c) { c.RemoveLast(); });
    expect(" columns, must be ", [](wire::Columns& c) { *c.Add() = c[0]; });
    expect(" columns, must be ", [](wire::Columns& c) { c.Clear(); });
    for (int i = 0; i < columns_of(request)->size(); ++i) {
      const v1::ColumnType type = (*columns_of(request))[i].type();
      expect("type is COLUMN_TYPE_DECIMAL128 (25), must be " + v1::ColumnType_Name(type),
             [i](wire::Columns& c) { c[i].set_type(v1::COLUMN_TYPE_DECIMAL128); });
      expect(": validity of 2 bytes", [i](wire::Columns& c) { c[i].set_validity("12"); });
      expect(i == 0 ? "must be a multiple of" : " bytes, must be ", [&](wire::Columns& c) {
        const bool strings = type == v1::COLUMN_TYPE_BYTES || type == v1::COLUMN_TYPE_STRING;
        (strings ? c[i].mutable_offsets() : c[i].mutable_data())->pop_back();
      });
    }
  };
  const auto write = [this](const v1::WriteRequest& request) { return Write(request); };
  const auto columns_of = [](auto& request) { return request.mutable_columns(); };
  refused(Rows(Stores(), rows), columns_of, write);
  if (schema.has_key()) {
    refused(Rows(v1::WRITE_MODE_ERASE, rows), columns_of, write);
    refused(
        Keys(rows), [](auto& request) { return request.mutable_keys(); },
        [this](const v1::LookupRequest& request) { return Lookup(request); });
  } else {
    for (const grpc::Status& status : {Lookup(Keys(rows)), Write(Rows(v1::WRITE_MODE_UPSERT, rows)),
                                       Write(Rows(v1::WRITE_MODE_ERASE, rows))}) {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
      EXPECT_THAT(status.error_message(), HasSubstr("its rows have no key"));
    }
  }
  EXPECT_EQ(engine.Describe("o")->keys, 0u);
}

TEST_P(KindsTest, ScansGoOnFromEveryToken) {
  if (GetParam().options.kind == ObjectKind::kHash) return;  // the engine refuses them
  const bool index = GetParam().options.kind == ObjectKind::kIndex;
  Store();
  for (const bool backward : {false, true}) {
    if (backward && !index) continue;
    std::vector<FakeRow> expected = rows;
    if (backward) std::reverse(expected.begin(), expected.end());
    v1::ScanRequest request;
    request.set_object("o");
    if (backward) request.mutable_query()->set_direction(v1::SCAN_DIRECTION_BACKWARD);
    const std::vector<v1::ScanResponse> chunks = ScanAll(request);
    EXPECT_EQ(CellsOf(chunks), expected);
    EXPECT_EQ(wire::SchemaFrom(chunks[0].schema())->columns, schema.columns);
    EXPECT_FALSE(chunks[0].new_snapshot());
    EXPECT_EQ(chunks.back().resume_token().empty(), index);
    for (size_t i = 0; i + 1 < chunks.size(); ++i) {
      EXPECT_EQ(chunks[i + 1].has_schema(), false);
      request.set_resume_token(chunks[i].resume_token());
      const std::vector<v1::ScanResponse> rest = ScanAll(request);
      EXPECT_EQ(CellsOf(rest),
                std::vector<FakeRow>(expected.begin() + 2 * (i + 1), expected.end()));
      EXPECT_EQ(rest[0].new_snapshot(), index);
    }
  }
}

TEST_P(KindsTest, ScansOfSomeColumnsAndRows) {
  if (GetParam().options.kind == ObjectKind::kHash) return;
  Store();
  v1::ScanRequest request;
  request.set_object("o");
  std::vector<uint32_t> which = schema.key;
  if (which.empty()) which = {2, 0};
  Query query{.limit = rows.size() - 1};
  for (const uint32_t column : which) {
    const std::string& name = schema.columns[column].name;
    query.columns.push_back(
        {.expression = {.kind = Expression::Kind::kColumn, .column = name}, .name = name});
  }
  if (GetParam().options.kind == ObjectKind::kIndex) {
    const FakeKey from = *KeyOf(schema, KeyCells(schema, rows[1]), 1);
    const FakeKey to = *KeyOf(schema, KeyCells(schema, rows.back()), 1);
    query.range = {from.first, to.first, from.second, to.second};
  }
  ASSERT_TRUE(
      wire::FillQuery(GetParam().options.kind, schema, query, request.mutable_query()).ok());
  std::vector<FakeRow> expected = Only(which, query.range == KeyRange{} ? 0 : 1);
  expected.pop_back();
  const std::vector<v1::ScanResponse> chunks = ScanAll(request);
  EXPECT_EQ(CellsOf(chunks), expected);
  EXPECT_TRUE(chunks.back().resume_token().empty() || query.range != KeyRange{});
}

TEST_P(KindsTest, AggregatesTellTheirEndsInTheObjectsTypes) {
  if (GetParam().options.kind != ObjectKind::kIndex) return;
  if (ValueTypeOf(schema) != ColumnType::kUint64) return;
  Store();
  RangeAggregate expected;
  for (size_t i = 1; i < rows.size(); ++i) {
    const FakeKey key = *KeyOf(schema, KeyCells(schema, rows[i]), i);
    const auto value = FakeValue<uint64_t>(*rows[i].back());
    expected.Add({1, value, value, value, 0, key.first, key.first, key.second, key.second});
  }
  if (schema.key.size() == 1) {
    expected.first_second = RangeAggregate().first_second;
    expected.last_second = RangeAggregate().last_second;
  }
  const FakeKey from = *KeyOf(schema, KeyCells(schema, rows[1]), 1);
  AggregateOptions options{.range = {.lo = from.first, .lo_second = from.second}};
  for (const bool count_only : {false, true}) {
    options.count_only = count_only;
    v1::AggregateRequest request;
    request.set_object("o");
    ASSERT_TRUE(wire::FillAggregateOptions(ObjectKind::kIndex, schema, options, &request).ok());
    v1::AggregateResponse response;
    const grpc::Status status = Aggregate(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(wire::AggregateFrom(schema, response),
              count_only ? RangeAggregate{.count = expected.count} : expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindsTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

class FloatKeysTest : public RpcTest {
 protected:
  FloatKeysTest() {
    EXPECT_TRUE(engine.Create("floats", {.schema = KeyValueSchema(ColumnType::kFloat64)}).ok());
  }
  static v1::WriteRequest WriteKeys(v1::WriteMode mode, const std::vector<double>& keys) {
    v1::WriteRequest request;
    request.set_object("floats");
    request.set_mode(mode);
    AddColumn(request.mutable_columns(), keys);
    if (mode == v1::WRITE_MODE_ERASE) return request;
    AddColumn(request.mutable_columns(), std::vector<uint64_t>(keys.size()));
    return request;
  }
  static v1::LookupRequest LookupKeys(const std::vector<double>& keys) {
    v1::LookupRequest request;
    request.set_object("floats");
    AddColumn(request.mutable_keys(), keys);
    return request;
  }
};

TEST_F(FloatKeysTest, NanIsRefusedWithItsPositionAndNothingIsWritten) {
  std::vector<double> keys(1000, 0.5);
  keys[700] = std::nan("");
  keys[701] = -std::nan("7");
  for (const grpc::Status& status :
       {Lookup(LookupKeys(keys)), Write(WriteKeys(v1::WRITE_MODE_UPSERT, keys)),
        Write(WriteKeys(v1::WRITE_MODE_ADD, keys)), Write(WriteKeys(v1::WRITE_MODE_ERASE, keys))}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(status.error_message(), HasSubstr("element 700 is NaN"));
  }
  EXPECT_EQ(engine.Describe("floats")->keys, 0u);
}

TEST_F(FloatKeysTest, MinusZeroFindsZero) {
  ASSERT_TRUE(Write(WriteKeys(v1::WRITE_MODE_UPSERT, {-0.0})).ok());
  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(LookupKeys({0.0}), &found).ok());
  EXPECT_EQ(found.found(), "\x01");
  v1::ScanRequest scan;
  scan.set_object("floats");
  const std::vector<v1::ScanResponse> chunks = ScanAll(scan);
  EXPECT_FALSE(std::signbit(Elements<double>(chunks[0].columns(0))[0]));
}

// A name is looked up for each request.
TEST_F(FloatKeysTest, StreamWritesToTheObjectThatHasTheNameNow) {
  grpc::ClientContext context;
  auto stream = data->WriteStream(&context);
  const v1::WriteRequest request = WriteKeys(v1::WRITE_MODE_UPSERT, {1.5});
  v1::WriteStreamResponse answer;
  const auto code = [&](const v1::WriteRequest& one) {
    EXPECT_TRUE(stream->Write(one) && stream->Read(&answer));
    return answer.status().code();
  };
  EXPECT_EQ(code(request), 0);
  ASSERT_TRUE(engine.Drop("floats").ok());
  EXPECT_EQ(code(request), grpc::StatusCode::NOT_FOUND);
  ASSERT_TRUE(engine.Create("floats", {}).ok());
  EXPECT_EQ(code(request), grpc::StatusCode::INVALID_ARGUMENT);
  v1::WriteRequest other = UpsertOf({1}, {2});
  other.set_object("floats");
  EXPECT_EQ(code(other), 0);
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace eris::server
