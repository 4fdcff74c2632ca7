#include "server/data/scan_call.h"

#include <algorithm>
#include <functional>

#include "gmock/gmock.h"
#include "tests/unit/server/rpc_fixture.h"
#include "wire/query.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

class ScanCallTest : public RpcTest {
 protected:
  explicit ScanCallTest(ServerConfig its = {}) : RpcTest(std::move(its)) {}
  static v1::ScanRequest All() {
    v1::ScanRequest request;
    request.set_object("orders");
    return request;
  }
  static v1::ScanRequest From(const std::string& token) {
    v1::ScanRequest request = All();
    request.set_resume_token(token);
    return request;
  }
  static std::vector<uint64_t> KeysOf(const std::vector<v1::ScanResponse>& chunks) {
    std::vector<uint64_t> keys;
    for (const auto& chunk : chunks) {
      for (uint64_t key : Elements(chunk.columns(0))) keys.push_back(key);
    }
    return keys;
  }
  static std::vector<uint64_t> Tens(uint64_t begin, uint64_t end) {
    std::vector<uint64_t> keys;
    for (uint64_t i = begin; i < end; ++i) keys.push_back(10 * i);
    return keys;
  }
  uint64_t TakeSnapshot(uint32_t time_to_live_ms = 0) {
    grpc::ClientContext context;
    v1::TakeSnapshotRequest request;
    request.set_time_to_live_ms(time_to_live_ms);
    v1::TakeSnapshotResponse response;
    const grpc::Status status = data->TakeSnapshot(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.snapshot();
  }
  void ExpectRefused(const v1::ScanRequest& request, grpc::StatusCode code,
                     const std::string& text) {
    std::vector<v1::ScanResponse> chunks;
    const grpc::Status status = Scan(request, &chunks);
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
    EXPECT_TRUE(chunks.empty());
  }
};

TEST_F(ScanCallTest, EveryRowOnceInOrderInChunks) {
  Load(2500);
  auto chunks = ScanAll(All());
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(KeysOf(chunks), Tens(0, 2500));
  EXPECT_EQ(Elements(chunks[0].columns(1))[1], 11u);
  EXPECT_FALSE(chunks[0].new_snapshot());
  EXPECT_FALSE(chunks[1].resume_token().empty());
  EXPECT_TRUE(chunks[2].resume_token().empty());
  // The last step's chunk goes when its callback returns, which may be after the call's end.
  EXPECT_TRUE(
      FakeEngine::Await([&] { return engine.scans_open() == 0 && engine.chunks_out() == 0; }));
}

TEST_F(ScanCallTest, FullChunkStaysBelowItsMessageLimit) {
  engine.rows_per_chunk = 32768;
  Load(40000);
  auto chunks = ScanAll(All());
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_LE(chunks[0].ByteSizeLong(), ScanCall::kMessageBytes);
}

TEST_F(ScanCallTest, RangeAndLimitBoundTheRows) {
  Load(2500);
  v1::ScanRequest request = All();
  request.mutable_query()->mutable_range()->set_lo(95);
  request.mutable_query()->mutable_range()->set_hi(200);
  auto chunks = ScanAll(request);
  EXPECT_EQ(KeysOf(chunks), Tens(10, 20));

  request.mutable_query()->set_limit(3);
  chunks = ScanAll(request);
  EXPECT_EQ(KeysOf(chunks), Tens(10, 13));
  EXPECT_TRUE(chunks.back().resume_token().empty());

  request.mutable_query()->set_limit(1'000'000);
  chunks = ScanAll(request);
  EXPECT_EQ(KeysOf(chunks), Tens(10, 20));
}

TEST_F(ScanCallTest, ScanWithoutARowHasASchema) {
  Load(10);
  v1::ScanRequest request = All();
  request.mutable_query()->mutable_range()->set_lo(5);
  request.mutable_query()->mutable_range()->set_hi(5);
  auto chunks = ScanAll(request);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks[0].schema().columns_size(), 2);
  EXPECT_EQ(chunks[0].rows(), 0u);
  EXPECT_TRUE(chunks[0].resume_token().empty());
}

// The limit of the request counts.
TEST_F(ScanCallTest, TokenGoesOnBehindItsChunkWithAnotherLimit) {
  Load(2500);
  v1::ScanRequest request = All();
  request.mutable_query()->set_limit(2200);
  auto chunks = ScanAll(request);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_TRUE(chunks[2].resume_token().empty());
  request.set_resume_token(chunks[0].resume_token());
  request.mutable_query()->set_limit(1200);
  auto rest = ScanAll(request);
  EXPECT_EQ(KeysOf(rest), Tens(1000, 2200));
  EXPECT_TRUE(rest[0].new_snapshot());
  EXPECT_FALSE(rest[1].new_snapshot());
  EXPECT_TRUE(rest[1].resume_token().empty());
}

// What is written between two streams is seen, behind the row where the first one broke.
TEST_F(ScanCallTest, ScanOfAnIndexGoesOnInANewSnapshotUnlessItWasGivenOne) {
  Load(1500);
  auto chunks = ScanAll(All());
  v1::ScanRequest with_snapshot = All();
  with_snapshot.set_snapshot(TakeSnapshot());
  auto same = ScanAll(with_snapshot);
  ASSERT_TRUE(Write(UpsertOf({20'000}, {1})).ok());
  const auto rest = ScanAll(From(chunks[0].resume_token()));
  EXPECT_EQ(KeysOf(rest).size(), 501u);
  EXPECT_TRUE(rest[0].new_snapshot());
  const auto same_rest = ScanAll(From(same[0].resume_token()));
  EXPECT_EQ(KeysOf(same_rest), Tens(1000, 1500));
  EXPECT_FALSE(same_rest[0].new_snapshot());
}

TEST_F(ScanCallTest, BackwardFilteredAndOfKeysOnlyAlsoAcrossTokens) {
  Load(2500);  // values 1, 11, 21, ...
  v1::ScanRequest request = All();
  request.mutable_query()->set_direction(v1::SCAN_DIRECTION_BACKWARD);
  request.mutable_query()->mutable_values()->set_lo(101);
  request.mutable_query()->mutable_values()->set_last(20'000);
  v1::NamedExpression* key = request.mutable_query()->add_columns();
  key->set_name("key");
  key->mutable_expression()->set_kind(v1::Expression::KIND_COLUMN);
  key->mutable_expression()->set_column("key");
  request.mutable_query()->set_limit(1700);
  std::vector<uint64_t> expected = Tens(10, 2000);
  std::reverse(expected.begin(), expected.end());
  expected.resize(1700);
  auto chunks = ScanAll(request);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(KeysOf(chunks), expected);
  EXPECT_EQ(chunks[0].columns_size(), 1);
  request.set_resume_token(chunks[0].resume_token());
  request.mutable_query()->set_limit(700);
  auto rest = ScanAll(request);
  expected.erase(expected.begin(), expected.begin() + 1000);
  EXPECT_EQ(KeysOf(rest), expected);
}

TEST_F(ScanCallTest, AllButTheLimitIsTheSameWithAToken) {
  Load(10);
  engine.rows_per_chunk = 5;
  auto chunks = ScanAll(All());
  for (const auto& change : std::vector<std::function<void(v1::Query&)>>{
           [](auto& query) { query.mutable_values()->set_lo(1); },
           [](auto& query) { query.set_direction(v1::SCAN_DIRECTION_BACKWARD); },
           [](auto& query) { query.mutable_range()->set_lo(1); }}) {
    v1::ScanRequest other = From(chunks[0].resume_token());
    change(*other.mutable_query());
    ExpectRefused(other, grpc::StatusCode::INVALID_ARGUMENT, "all but the limit must be the same");
  }
}

TEST_F(ScanCallTest, BadRequestsGetTheirStatus) {
  Load(2500);
  v1::ScanRequest inverted = All();
  inverted.mutable_query()->mutable_range()->set_lo(2);
  inverted.mutable_query()->mutable_range()->set_hi(1);
  ExpectRefused(inverted, grpc::StatusCode::INVALID_ARGUMENT, "hi 1 is below lo 2");
  v1::ScanRequest unknown = All();
  unknown.set_object("nothing");
  ExpectRefused(unknown, grpc::StatusCode::NOT_FOUND, "nothing");
  unknown.set_object("");
  ExpectRefused(unknown, grpc::StatusCode::INVALID_ARGUMENT, "empty");

  auto chunks = ScanAll(All());
  const std::string token = chunks[0].resume_token();
  std::string damaged = token;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  ExpectRefused(From(damaged), grpc::StatusCode::INVALID_ARGUMENT, "damaged");
  ExpectRefused(From("short"), grpc::StatusCode::INVALID_ARGUMENT, "5 bytes");
  const std::string foreign = ResumeTokenCodec(1).Encode({.object = ObjectId{1}});
  ExpectRefused(From(foreign), grpc::StatusCode::INVALID_ARGUMENT, "another server");
  v1::ScanRequest both = From(token);
  both.set_snapshot(5);
  ExpectRefused(both, grpc::StatusCode::INVALID_ARGUMENT, "the token brings its own snapshot");
  both = From(token);
  both.mutable_query()->add_group_by("key");
  ExpectRefused(both, grpc::StatusCode::INVALID_ARGUMENT, "aggregates are not resumed");
  both = All();
  both.set_snapshot(5);
  ExpectRefused(both, grpc::StatusCode::FAILED_PRECONDITION, "snapshot 5 is not there");

  ASSERT_TRUE(engine.Create("lines", {}).ok());
  v1::ScanRequest other = From(token);
  other.set_object("lines");
  ExpectRefused(other, grpc::StatusCode::INVALID_ARGUMENT, "is of object orders");
  ASSERT_TRUE(engine.Drop("orders").ok());
  ExpectRefused(From(token), grpc::StatusCode::NOT_FOUND, "orders");
  ASSERT_TRUE(engine.Create("orders", {}).ok());
  ExpectRefused(From(token), grpc::StatusCode::NOT_FOUND, "dropped");
}

TEST_F(ScanCallTest, ClientThatVanishesInTheMiddleLeavesNothingBehind) {
  engine.rows_per_chunk = 100;
  Load(100'000);
  {
    grpc::ClientContext context;
    auto reader = data->Scan(&context, All());
    v1::ScanResponse chunk;
    ASSERT_TRUE(reader->Read(&chunk));
    context.TryCancel();
    while (reader->Read(&chunk)) {
    }
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  // The last step's chunk goes when its callback returns, which may be after the call's end.
  EXPECT_TRUE(
      FakeEngine::Await([&] { return engine.scans_open() == 0 && engine.chunks_out() == 0; }));
}

TEST_F(ScanCallTest, DeadlineEndsAScanWhoseAeuIsHeldBack) {
  Load(10);
  engine.Hold();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  auto reader = data->Scan(&context, All());
  v1::ScanResponse chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.scans_open() == 0; }));
}

TEST_F(ScanCallTest, ObjectDroppedInTheMiddleEndsTheScanWithNotFound) {
  Load(10);
  engine.Hold();
  grpc::ClientContext context;
  auto reader = data->Scan(&context, All());
  EXPECT_TRUE(engine.AwaitHeld(1));
  ASSERT_TRUE(engine.Drop("orders").ok());
  engine.Release();
  v1::ScanResponse chunk;
  EXPECT_FALSE(reader->Read(&chunk));
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

// "orders" as a table, whose scans hold a lease on their snapshot.
class TableScanCallTest : public ScanCallTest {
 protected:
  explicit TableScanCallTest(ServerConfig its = {}) : ScanCallTest(std::move(its)) {
    EXPECT_TRUE(engine.Drop("orders").ok());
    EXPECT_TRUE(
        engine.Create("orders", {.kind = ObjectKind::kTable, .schema = KeyValueSchema()}).ok());
  }
  // The first response of a scan whose stream then breaks.
  v1::ScanResponse ScanOneAndBreak() {
    engine.Hold();
    v1::ScanResponse first;
    grpc::ClientContext context;
    auto reader = data->Scan(&context, All());
    EXPECT_TRUE(engine.AwaitHeld(1));
    engine.ReleaseHeld();
    EXPECT_TRUE(reader->Read(&first));
    EXPECT_TRUE(engine.AwaitHeld(1));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
    engine.Release();
    return first;
  }
  bool NoSnapshotIsHeld() {
    return FakeEngine::Await([&] { return engine.snapshots_held() == 0; });
  }
};

TEST_F(TableScanCallTest, BrokenScanGoesOnOnItsSnapshot) {
  Load(2500);
  const v1::ScanResponse first = ScanOneAndBreak();
  ASSERT_FALSE(first.resume_token().empty());
  // What is written now, the scan does not see.
  ASSERT_TRUE(Write(UpsertOf({50'000, 50'001}, {1, 2})).ok());
  EXPECT_EQ(engine.snapshots_held(), 1);
  const v1::ScanRequest rest = From(first.resume_token());
  const auto others = ScanAll(rest);
  EXPECT_EQ(KeysOf(others), Tens(1000, 2500));
  EXPECT_FALSE(others[0].new_snapshot());
  EXPECT_TRUE(NoSnapshotIsHeld());
  // Whoever has all rows can come back for a moment only.
  ExpectRefused(rest, grpc::StatusCode::FAILED_PRECONDITION, "server.scan_resume_ms");
}

TEST_F(TableScanCallTest, LimitMayChangeAndEndsTheScan) {
  Load(2500);
  v1::ScanRequest request = From(ScanOneAndBreak().resume_token());
  request.mutable_query()->set_limit(7);
  auto some = ScanAll(request);
  ASSERT_EQ(some.size(), 1u);
  EXPECT_EQ(KeysOf(some), Tens(1000, 1007));
  EXPECT_TRUE(some[0].resume_token().empty());
  EXPECT_TRUE(NoSnapshotIsHeld());
}

TEST_F(TableScanCallTest, QueryReachesTheEngineAsItWasWritten) {
  Load(10);
  Query query;
  query.filter =
      Expression{.kind = Expression::Kind::kLess,
                 .arguments = {{.kind = Expression::Kind::kColumn, .column = "key"},
                               {.kind = Expression::Kind::kLiteral, .value = uint64_t{7}}}};
  query.columns.push_back({.expression = query.filter->arguments[0], .name = "key"});
  query.limit = 3;
  v1::ScanRequest request = All();
  ASSERT_TRUE(
      wire::FillQuery(ObjectKind::kTable, KeyValueSchema(), query, request.mutable_query()).ok());
  auto chunks = ScanAll(request);
  EXPECT_EQ(chunks[0].rows(), 3u);
  EXPECT_EQ(engine.last_query().filter, query.filter);
  EXPECT_EQ(engine.last_query().limit, 3u);
  // Aggregates have no tokens.
  request.Clear();
  request.set_object("orders");
  v1::AggregateColumn* const count = request.mutable_query()->add_aggregates();
  count->set_function(v1::AggregateColumn::FUNCTION_COUNT);
  count->set_name("n");
  chunks = ScanAll(request);
  EXPECT_EQ(Elements(chunks[0].columns(0)), std::vector<uint64_t>{10});
  EXPECT_TRUE(chunks[0].resume_token().empty());
  EXPECT_EQ(engine.last_query().aggregates.size(), 1u);
}

TEST_F(TableScanCallTest, SnapshotsAreTakenSharedAndReleased) {
  Load(10);
  v1::ScanRequest request = All();
  request.set_snapshot(TakeSnapshot());
  ASSERT_TRUE(Write(UpsertOf({5000}, {1})).ok());
  for (int i = 0; i < 2; ++i) {
    auto chunks = ScanAll(request);
    EXPECT_EQ(KeysOf(chunks), Tens(0, 10));
  }
  EXPECT_EQ(engine.snapshots_held(), 1);
  const auto release = [&] {
    grpc::ClientContext context;
    v1::ReleaseSnapshotRequest its;
    its.set_snapshot(request.snapshot());
    v1::ReleaseSnapshotResponse response;
    return data->ReleaseSnapshot(&context, its, &response).error_code();
  };
  EXPECT_EQ(release(), grpc::StatusCode::OK);
  EXPECT_TRUE(NoSnapshotIsHeld());
  EXPECT_EQ(release(), grpc::StatusCode::NOT_FOUND);
  ExpectRefused(request, grpc::StatusCode::FAILED_PRECONDITION, "is not there");
}

TEST_F(TableScanCallTest, SnapshotGoesByItselfWhenNobodyAsks) {
  (void)TakeSnapshot(30);
  EXPECT_TRUE(NoSnapshotIsHeld());
  grpc::ClientContext context;
  v1::TakeSnapshotRequest request;
  request.set_time_to_live_ms(7'200'000);
  v1::TakeSnapshotResponse response;
  EXPECT_THAT(data->TakeSnapshot(&context, request, &response).error_message(),
              HasSubstr("time_to_live_ms is 7200000, must be at most 3600000"));
}

TEST_F(TableScanCallTest, ScanIntoWritesInsideTheServer) {
  Load(50);
  ASSERT_TRUE(engine.Create("target", {}).ok());
  v1::ScanIntoRequest request;
  request.set_table("orders");
  request.set_target("target");
  request.mutable_query()->set_limit(9);
  v1::ScanIntoResponse response;
  const auto scan_into = [&] {
    grpc::ClientContext context;
    return data->ScanInto(&context, request, &response);
  };
  ASSERT_TRUE(scan_into().ok());
  EXPECT_EQ(response.rows(), 50u);
  EXPECT_EQ(engine.Describe("target")->keys, 50u);
  EXPECT_EQ(engine.last_query().limit, 9u);
  EXPECT_FALSE(engine.last_query_had_snapshot());
  request.set_snapshot(TakeSnapshot());
  EXPECT_TRUE(scan_into().ok());
  EXPECT_TRUE(engine.last_query_had_snapshot());
  request.set_snapshot(77);
  EXPECT_EQ(scan_into().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  request.set_target("none");
  EXPECT_EQ(scan_into().error_code(), grpc::StatusCode::NOT_FOUND);
}

class SmallTableBudgetTest : public TableScanCallTest {
 protected:
  static ServerConfig Small() {
    ServerConfig config;
    config.in_flight_bytes_max = 64 << 10;
    return config;
  }
  SmallTableBudgetTest() : TableScanCallTest(Small()) {}
};

TEST_F(SmallTableBudgetTest, ScanIsChargedForTheRowsItAsksFor) {
  Load(300);
  const auto scan = [&](uint64_t limit, bool count) {
    v1::ScanRequest request = All();
    request.mutable_query()->set_limit(limit);
    if (count) {
      v1::AggregateColumn* const column = request.mutable_query()->add_aggregates();
      column->set_function(v1::AggregateColumn::FUNCTION_COUNT);
      column->set_name("n");
    }
    std::vector<v1::ScanResponse> responses;
    return Scan(request, &responses);
  };
  EXPECT_TRUE(scan(0, true).ok());
  EXPECT_TRUE(scan(100, false).ok());
  const grpc::Status refused = scan(0, false);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(refused.error_message(), HasSubstr("2097152"));  // the message, twice
}

TEST(QueryFingerprintTest, IsOfTheQueryButNotOfItsLimit) {
  v1::Query query;
  query.add_group_by("a");
  const uint64_t print = QueryFingerprint(query);
  query.set_limit(5);
  EXPECT_EQ(QueryFingerprint(query), print);
  query.add_group_by("b");
  EXPECT_NE(QueryFingerprint(query), print);
}

}  // namespace
}  // namespace eris::server
