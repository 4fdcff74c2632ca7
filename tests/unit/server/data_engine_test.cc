// The data service over real gRPC in process, with a real engine behind: strings whose answers do
// not fit, tokens inside of first key parts, snapshots of streams that break while rows come and
// go, and columns that no message should have.
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eris/engine.h"
#include "eris/v1/data.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc_server.h"
#include "tests/support/seed.h"
#include "tests/unit/server/cell_messages.h"
#include "tests/unit/server/io_thread.h"
#include "wire/query.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

class DataEngineTest : public ::testing::Test {
 protected:
  DataEngineTest() {
    Options options;
    options.topology = "numa:3 core:1 pu:1";  // sessions of all of them
    options.aeu_count = 3;
    options.memory_limit_bytes = uint64_t{1} << 30;
    engine_ = *Engine::Open(options);
    config_.listen = "127.0.0.1:0";
    config_.receive_message_bytes_max = 64 << 20;
    Serve();
  }
  ~DataEngineTest() override { server_.reset(); }

  void Serve() {
    server_.reset();
    auto server = RpcServer::Start(config_, engine_.get(), io_thread_.io());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    data_ = v1::Data::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments));
  }
  void Create(const std::string& name, const CreateOptions& options) {
    const auto created = engine_->Create(name, options);
    ASSERT_TRUE(created.ok()) << created.status();
    schema_ = options.schema;
    kind_ = options.kind;
  }

  v1::WriteRequest WriteOf(v1::WriteMode mode, const std::vector<FakeRow>& rows) const {
    v1::WriteRequest request;
    request.set_object("o");
    request.set_mode(mode);
    FillCells(schema_, mode == v1::WRITE_MODE_ERASE ? schema_.key : wire::AllColumns(schema_), rows,
              request.mutable_columns());
    return request;
  }
  grpc::Status Write(const v1::WriteRequest& request, v1::WriteResponse* response = nullptr) {
    v1::WriteResponse unused;
    grpc::ClientContext context;
    return data_->Write(&context, request, response == nullptr ? &unused : response);
  }
  void Store(const std::vector<FakeRow>& rows) {
    const grpc::Status status = Write(WriteOf(v1::WRITE_MODE_UPSERT, rows));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  v1::LookupRequest LookupOf(const std::vector<FakeRow>& rows,
                             uint64_t answer_bytes_max = 0) const {
    v1::LookupRequest request;
    request.set_object("o");
    FillCells(schema_, schema_.key, rows, request.mutable_keys());
    request.set_answer_bytes_max(answer_bytes_max);
    return request;
  }
  grpc::Status Lookup(const v1::LookupRequest& request, v1::LookupResponse* response) {
    grpc::ClientContext context;
    return data_->Lookup(&context, request, response);
  }
  v1::ScanRequest ScanOf(const Query& query) const {
    v1::ScanRequest request;
    request.set_object("o");
    EXPECT_TRUE(wire::FillQuery(kind_, schema_, query, request.mutable_query()).ok());
    return request;
  }
  std::vector<FakeRow> CellsOf(const v1::ScanResponse& response) const {
    return CellsIn(wire::TypesOf(schema_, wire::AllColumns(schema_)), response.rows(),
                   response.columns());
  }
  uint64_t Count() { return engine_->Describe("o")->keys; }

  IoThread io_thread_;
  ServerConfig config_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Data::Stub> data_;
  Schema schema_;
  ObjectKind kind_ = ObjectKind::kIndex;
};

void ExpectRefused(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

// For an index and for a table: a lookup that is asked for the key answers the stored one.
TEST_F(DataEngineTest, LookupOfMinusZeroAnswersTheKeyZero) {
  for (const ObjectKind kind : {ObjectKind::kIndex, ObjectKind::kTable}) {
    Create("o", {.kind = kind, .schema = KeyValueSchema(ColumnType::kFloat64)});
    const FakeRow minus_zero = {FakeBytes(-0.0), FakeBytes<uint64_t>(7)};
    Store({minus_zero});
    v1::LookupRequest request = LookupOf({minus_zero});
    for (const char* name : {"key", "value"}) request.add_columns(name);
    v1::LookupResponse response;
    const grpc::Status status = Lookup(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(CellsIn(wire::TypesOf(schema_, wire::AllColumns(schema_)), 1, response.columns()),
              (std::vector<FakeRow>{{FakeBytes(0.0), FakeBytes<uint64_t>(7)}}));
    ASSERT_TRUE(engine_->Drop("o").ok());
  }
}

class StringsTest : public DataEngineTest {
 protected:
  StringsTest() {
    Create("o", {.schema = KeyValueSchema(ColumnType::kUint64, ColumnType::kString),
                 .expected = {0, 1000}});
  }
  static FakeRow Row(uint64_t key, std::string value) { return {FakeBytes(key), std::move(value)}; }
};

TEST_F(StringsTest, ConditionalWritesAnswerTheStringsBefore) {
  Store({Row(1, "one"), Row(2, "a longer string")});
  const std::vector<FakeRow> rows = {Row(1, "1"), Row(2, "2"), Row(3, "3")};
  v1::WriteRequest request = WriteOf(v1::WRITE_MODE_COMPARE_AND_SET, rows);
  FillCells(schema_, {1}, {Row(1, "none"), Row(2, "a longer string"), Row(3, "")},
            request.mutable_expected());
  v1::WriteResponse response;
  const grpc::Status status = Write(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(CellsIn({ColumnType::kString}, 3, response.columns()),
            (std::vector<FakeRow>{{"one"}, {"a longer string"}, {""}}));
  EXPECT_EQ(response.applied(), "\x02");
  EXPECT_EQ(response.existed(), "\x03");
  EXPECT_EQ(response.written(), 1u);
  ExpectRefused(Write(WriteOf(v1::WRITE_MODE_ADD, rows)), grpc::StatusCode::FAILED_PRECONDITION,
                "object \"o\" is an index whose values are of type string");
}

TEST_F(StringsTest, ScansSendTheStringsInMessagesOfTwoMegabytes) {
  for (uint64_t key = 0; key < 40; ++key) {
    Store({Row(key * 20, std::string(key % 5 == 0 ? kValueBytesMax : key * 1000, 'v'))});
  }
  v1::ScanRequest request = ScanOf({});
  std::string token;
  for (const uint64_t first : {0, 1}) {
    grpc::ClientContext context;
    const auto scan = data_->Scan(&context, request);
    v1::ScanResponse chunk;
    uint64_t row = 0;
    while (scan->Read(&chunk)) {
      EXPECT_LE(chunk.ByteSizeLong(), 2u << 20);
      for (const FakeRow& cells : CellsOf(chunk)) {
        row = FakeValue<uint64_t>(*cells[0]) / 20;
        EXPECT_EQ(cells[1]->size(), row % 5 == 0 ? kValueBytesMax : row * 1000);
      }
      if (first == 0 && token.empty()) token = chunk.resume_token();
    }
    EXPECT_TRUE(scan->Finish().ok());
    EXPECT_EQ(row, 39u);
    request.set_resume_token(token);
  }
}

TEST_F(StringsTest, AnswersThatDoNotFitSayWhichKeysWereLeftOut) {
  std::vector<FakeRow> rows;
  for (uint64_t key = 0; key < 20; ++key) rows.push_back(Row(key * 50, std::string(100'000, 'v')));
  Store(rows);
  v1::LookupResponse response;
  ASSERT_TRUE(Lookup(LookupOf(rows, 1'000'000), &response).ok());
  EXPECT_EQ(response.refusal().code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_LE(response.columns(0).data().size(), 1'000'000u);
  const std::vector<FakeRow> cells = CellsIn({ColumnType::kString}, 20, response.columns());
  int executed = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const bool was = BitAt(response.executed(), i);
    executed += was ? 1 : 0;
    EXPECT_EQ(cells[i][0]->size(), was ? 100'000u : 0u);
    EXPECT_EQ(BitAt(response.found(), i), was);
  }
  EXPECT_EQ(executed, 9);
  // None at all: the call itself is refused.
  ExpectRefused(Lookup(LookupOf(rows, 99'999), &response), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "99999");
}

TEST_F(StringsTest, LimitsAreNamed) {
  ExpectRefused(
      Write(WriteOf(v1::WRITE_MODE_UPSERT, {Row(7, std::string(kValueBytesMax + 1, 'x'))})),
      grpc::StatusCode::INVALID_ARGUMENT, "1048577");
  std::vector<FakeRow> rows;
  for (uint64_t key = 0; key < 34; ++key) rows.push_back(Row(key, std::string(1'000'000, 'x')));
  EXPECT_EQ(Write(WriteOf(v1::WRITE_MODE_UPSERT, rows)).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Count(), 0u);
  v1::ScanRequest request = ScanOf({.values = ValueRange{1, 2}});
  grpc::ClientContext context;
  const auto scan = data_->Scan(&context, request);
  v1::ScanResponse chunk;
  EXPECT_FALSE(scan->Read(&chunk));
  EXPECT_EQ(scan->Finish().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_F(StringsTest, AnswersCountInTheBudget) {
  config_.in_flight_bytes_max = 8 << 20;
  config_.receive_message_bytes_max = 4 << 20;
  config_.stream_bytes_max = 4 << 20;
  Serve();
  std::vector<FakeRow> rows;
  for (uint64_t key = 0; key < 12; ++key) {
    rows.push_back(Row(key, std::string(1'000'000, 'v')));
    Store({rows.back()});
  }
  v1::LookupResponse response;
  ExpectRefused(Lookup(LookupOf(rows), &response), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "server.in_flight_bytes_max");
  EXPECT_TRUE(Lookup(LookupOf({rows[1], rows[2]}), &response).ok());
}

class PairsTest : public DataEngineTest {
 protected:
  using Row = std::pair<FakeKey, uint64_t>;
  PairsTest() {
    Create("o", {.schema = KeyValueSchema(KeyTypes(ColumnType::kInt64, ColumnType::kDate)),
                 .split_points = {KeyFromInt64(-5), KeyFromInt64(5)}});
  }

  // Rows under first parts on both sides of each bound: few, many, and more than a chunk holds.
  std::vector<Row> Load() {
    std::vector<Row> rows;
    std::mt19937_64 random(kSeed);
    for (const auto& [number, count] :
         {std::pair(-100, 1), {-6, 3}, {-5, 30'000}, {0, 50'000}, {4, 2}, {5, 1}, {100, 7}}) {
      for (int i = 0; i < count; ++i) {
        rows.push_back({{KeyFromInt64(number), KeyFromDate((i - count / 2) * 3)}, random() % 1000});
      }
    }
    std::vector<FakeRow> shuffled;
    for (const auto& [key, value] : rows) {
      shuffled.push_back({KeyCell(ColumnType::kInt64, key.first),
                          KeyCell(ColumnType::kDate, key.second), FakeBytes(value)});
    }
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    Store(shuffled);
    return rows;
  }
  static Row RowOf(const FakeRow& cells) {
    return {
        {KeyFromInt64(FakeValue<int64_t>(*cells[0])), KeyFromDate(FakeValue<int32_t>(*cells[1]))},
        FakeValue<uint64_t>(*cells[2])};
  }
  static constexpr uint64_t kSeed = 20261121;
};

TEST_F(PairsTest, AnAggregateOnASnapshotIsOfItsMoment) {
  const std::vector<Row> rows = Load();
  v1::TakeSnapshotResponse taken;
  grpc::ClientContext take_context;
  ASSERT_TRUE(data_->TakeSnapshot(&take_context, {}, &taken).ok());
  Store({{KeyCell(ColumnType::kInt64, KeyFromInt64(7)), KeyCell(ColumnType::kDate, KeyFromDate(7)),
          FakeBytes<uint64_t>(1)}});
  const auto count = [&](uint64_t snapshot, v1::AggregateResponse* response) {
    v1::AggregateRequest request;
    request.set_object("o");
    request.set_count_only(true);
    request.set_snapshot(snapshot);
    grpc::ClientContext context;
    return data_->Aggregate(&context, request, response);
  };
  v1::AggregateResponse before, now;
  ASSERT_TRUE(count(taken.snapshot(), &before).ok());
  ASSERT_TRUE(count(0, &now).ok());
  EXPECT_EQ(before.count(), rows.size());
  EXPECT_EQ(now.count(), rows.size() + 1);
  ExpectRefused(count(taken.snapshot() + 1, &now), grpc::StatusCode::FAILED_PRECONDITION,
                "is not there");
}

// Each chunk is asked for by the token of the one before.
TEST_F(PairsTest, TokensGoOnInsideAFirstPartBothWays) {
  const std::vector<Row> rows = Load();
  Query query{.range = {KeyFromInt64(-6), KeyFromInt64(5), KeyFromDate(0), KeyFromDate(1)},
              .values = ValueRange{100, 899}};
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    std::vector<Row> expected, seen;
    for (const auto& [key, value] : rows) {
      const bool in_range = key >= FakeKey(query.range.lo, query.range.lo_second) &&
                            key < FakeKey(*query.range.hi, query.range.hi_second);
      if (in_range && query.values->Contains(value)) expected.push_back({key, value});
    }
    if (direction == ScanDirection::kBackward) std::reverse(expected.begin(), expected.end());
    expected.resize(expected.size() - 10);  // the limit
    query.direction = direction;
    v1::ScanRequest request = ScanOf(query);
    int chunks = 0;
    do {
      request.mutable_query()->set_limit(expected.size() - seen.size());
      grpc::ClientContext context;
      const auto scan = data_->Scan(&context, request);
      v1::ScanResponse chunk;
      ASSERT_TRUE(scan->Read(&chunk));
      EXPECT_EQ(chunk.new_snapshot(), chunks > 0);
      ++chunks;
      for (const FakeRow& cells : CellsOf(chunk)) seen.push_back(RowOf(cells));
      request.set_resume_token(chunk.resume_token());
      context.TryCancel();
      (void)scan->Finish();
    } while (!request.resume_token().empty());
    EXPECT_GE(chunks, 4);
    ASSERT_EQ(seen.size(), expected.size());
    EXPECT_TRUE(seen == expected) << "seed " << kSeed;
  }
}

TEST_F(PairsTest, RandomRangesHoldTheirRows) {
  const std::vector<Row> rows = Load();
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", range " << i);
    const auto bound = [&]() -> FakeKey {
      const Row& row = rows[random() % rows.size()];
      // Below a row, at it, in front of its first part's rows.
      return {row.first.first, random() % 3 == 0 ? 0 : row.first.second - random() % 2};
    };
    FakeKey lo = bound(), hi = bound();
    if (hi < lo) std::swap(lo, hi);
    const KeyRange range{lo.first, hi.first, lo.second, hi.second};
    RangeAggregate expected;
    for (const auto& [key, value] : rows) {
      if (key < lo || key >= hi) continue;
      expected.Add({1, value, value, value, 0, key.first, key.first, key.second, key.second});
    }
    v1::AggregateRequest request;
    request.set_object("o");
    ASSERT_TRUE(wire::FillAggregateOptions(kind_, schema_, {.range = range}, &request).ok());
    v1::AggregateResponse response;
    grpc::ClientContext context, scan_context;
    const grpc::Status status = data_->Aggregate(&context, request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(wire::AggregateFrom(schema_, response), expected);
    const auto scan = data_->Scan(
        &scan_context, ScanOf({.range = range, .direction = ScanDirection::kBackward, .limit = 1}));
    v1::ScanResponse last;
    ASSERT_TRUE(scan->Read(&last));
    ASSERT_EQ(last.rows(), expected.count > 0 ? 1u : 0u);
    if (last.rows() == 0) continue;
    EXPECT_EQ(RowOf(CellsOf(last)[0]).first, FakeKey(expected.last_key, expected.last_second));
  }
}

// key -> (key as text, null where odd), as a table and as an index (without nulls).
class BrokenStreamsTest : public DataEngineTest, public ::testing::WithParamInterface<ObjectKind> {
 protected:
  BrokenStreamsTest() {
    Schema schema = KeyValueSchema(ColumnType::kInt64, ColumnType::kString);
    schema.columns[1].nullable = nullable();
    Create("o", {.kind = GetParam(), .schema = schema, .expected = Int64Range(0, kRows)});
  }
  bool nullable() const { return GetParam() == ObjectKind::kTable; }
  std::vector<FakeRow> Rows(int64_t from, int64_t to, const std::string& prefix = "") const {
    std::vector<FakeRow> rows;
    for (int64_t key = from; key < to; ++key) {
      rows.push_back({FakeBytes(key), prefix + std::to_string(key)});
      if (nullable() && key % 2 != 0) rows.back()[1].reset();
    }
    return rows;
  }
  static constexpr int64_t kRows = 300'000;
};

// A table's on its snapshot, an index's on new ones.
TEST_P(BrokenStreamsTest, ScanGivesEveryRowOnceAndATableAsItWas) {
  for (int64_t from = 0; from < kRows; from += 50'000) Store(Rows(from, from + 50'000));
  v1::TakeSnapshotResponse taken;
  grpc::ClientContext take_context;
  ASSERT_TRUE(data_->TakeSnapshot(&take_context, {}, &taken).ok());
  v1::ScanRequest request = ScanOf({});
  std::set<int64_t> keys;
  int streams = 0;
  for (bool done = false; !done; ++streams) {
    ASSERT_LT(streams, 1000);
    grpc::ClientContext context;
    auto reader = data_->Scan(&context, request);
    v1::ScanResponse response;
    // Some responses of each stream, then it breaks, and rows change.
    int left = 2;
    while (left > 0 && reader->Read(&response)) {
      --left;
      for (const FakeRow& row : CellsOf(response)) {
        const auto key = FakeValue<int64_t>(*row[0]);
        ASSERT_TRUE(keys.insert(key).second) << key << " twice";
        if (nullable()) {
          ASSERT_EQ(row, Rows(key, key + 1)[0]);
        }
      }
      request.set_resume_token(response.resume_token());
    }
    if (left == 0) context.TryCancel();
    while (reader->Read(&response)) {
    }
    const grpc::Status status = reader->Finish();
    // The server may have sent the rest before it heard of the break.
    done = (left > 0 && status.ok()) || request.resume_token().empty();
    ASSERT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::CANCELLED)
        << status.error_message();
    const int64_t changed = streams * 1000;
    Store(Rows(changed, changed + 500, "new"));
    if (!nullable()) continue;
    ASSERT_TRUE(Write(WriteOf(v1::WRITE_MODE_ERASE, Rows(changed + 500, changed + 1000))).ok());
  }
  EXPECT_EQ(keys.size(), static_cast<size_t>(kRows));
  EXPECT_GE(streams, 2);
  // The snapshot that was taken before all that has every row as it was.
  request.clear_resume_token();
  request.set_snapshot(taken.snapshot());
  grpc::ClientContext context;
  auto reader = data_->Scan(&context, request);
  uint64_t count = 0;
  for (v1::ScanResponse response; reader->Read(&response); count += response.rows()) {
    for (const FakeRow& row : CellsOf(response)) {
      const auto key = FakeValue<int64_t>(*row[0]);
      ASSERT_EQ(row, Rows(key, key + 1)[0]);
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(count, static_cast<uint64_t>(kRows));
}

// Messages that are changed at random are refused or stored, and what is stored is what they say.
TEST_P(BrokenStreamsTest, ChangedMessagesAreRefusedOrStored) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(test::SeedText(seed));
  std::mt19937_64 random(seed);
  const auto below = [&](uint64_t n) { return random() % n; };
  const v1::WriteRequest original = WriteOf(v1::WRITE_MODE_UPSERT, Rows(0, 100));
  int stored = 0, refused = 0;
  for (int i = 0; i < 2000; ++i) {
    v1::WriteRequest request = original;
    for (uint64_t change = below(3); change > 0; --change) {
      v1::Column& column = *request.mutable_columns(static_cast<int>(below(2)));
      std::string* const parts[] = {column.mutable_data(), column.mutable_validity(),
                                    column.mutable_offsets()};
      std::string& bytes = *parts[below(3)];
      switch (below(6)) {
        case 0:
          request.set_mode(static_cast<v1::WriteMode>(below(9)));
          break;
        case 1:
          bytes.resize(below(bytes.size() + 20));
          break;
        case 2:
          column.set_type(static_cast<v1::ColumnType>(below(32)));
          break;
        case 3:
          if (below(2) == 0)
            request.add_columns();
          else
            request.mutable_columns()->RemoveLast();
          change = 1;  // the column may be gone
          break;
        default:
          if (!bytes.empty()) bytes[below(bytes.size())] = static_cast<char>(random());
      }
    }
    const grpc::Status status = Write(request);
    ++(status.ok() ? stored : refused);
    if (!status.ok() && request.mode() == original.mode()) {
      ASSERT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    }
  }
  EXPECT_GT(stored, 100);
  EXPECT_GT(refused, 100);
  Store(Rows(0, 100));
  EXPECT_GE(Count(), 100u);
  v1::LookupResponse found;
  ASSERT_TRUE(Lookup(LookupOf(Rows(0, 100)), &found).ok());
  EXPECT_EQ(CellsIn({ColumnType::kString}, 100, found.columns()), Pick(Rows(0, 100), {1}));
}

TEST_P(BrokenStreamsTest, SnapshotsThatAreHeldWhileTheServerStopsAreLetGo) {
  Store(Rows(0, 1000));
  v1::TakeSnapshotRequest take;
  take.set_time_to_live_ms(600'000);
  v1::TakeSnapshotResponse taken;
  grpc::ClientContext take_context;
  ASSERT_TRUE(data_->TakeSnapshot(&take_context, take, &taken).ok());
  v1::ScanRequest request = ScanOf({});
  request.set_snapshot(taken.snapshot());
  grpc::ClientContext context;
  auto reader = data_->Scan(&context, request);
  v1::ScanResponse response;
  EXPECT_TRUE(reader->Read(&response));
  context.TryCancel();
  (void)reader->Finish();
  server_.reset();
  engine_->Close();
}

INSTANTIATE_TEST_SUITE_P(Kinds, BrokenStreamsTest,
                         ::testing::Values(ObjectKind::kTable, ObjectKind::kIndex),
                         [](const auto& info) {
                           return info.param == ObjectKind::kTable ? "Table" : "Index";
                         });

}  // namespace
}  // namespace eris::server
