// Tables over real gRPC in process, with the fake engine behind: what reaches it, what comes back,
// streams that break and go on, snapshots that are let go.
#include "server/tables/table_service.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "clients/expression_text.h"
#include "clients/table_client.h"
#include "eris/key_encoding.h"
#include "gmock/gmock.h"
#include "server/tables/table_rows.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using client::OwnedRows;
using ::testing::HasSubstr;

template <class T>
std::string Bytes(const std::vector<T>& values) {
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

class TableServiceTest : public RpcTest {
 protected:
  explicit TableServiceTest(ServerConfig config_in = {})
      : RpcTest(std::move(config_in)),
        client_(*client::Client::Connect({.server = server->address(), .own_connection = true})),
        tables_(*client_) {
    EXPECT_TRUE(tables_.Create("t", schema_).ok());
  }

  // Rows key -> (key's text, null where key is odd), for keys [from, to).
  static OwnedRows Rows(int64_t from, int64_t to) {
    OwnedRows rows;
    rows.rows = static_cast<uint64_t>(to - from);
    std::vector<int64_t> keys, cents;
    std::vector<uint32_t> offsets = {0};
    rows.columns.resize(3);
    rows.columns[2].validity.resize((rows.rows + 7) / 8);
    for (int64_t key = from; key < to; ++key) {
      keys.push_back(key);
      rows.columns[1].values += std::to_string(key);
      offsets.push_back(static_cast<uint32_t>(rows.columns[1].values.size()));
      cents.push_back(-key);
      const auto row = static_cast<size_t>(key - from);
      if (key % 2 == 0) rows.columns[2].validity[row >> 3] |= static_cast<char>(1 << (row & 7));
    }
    rows.columns[0].values = Bytes(keys);
    rows.columns[1].offsets = Bytes(offsets);
    rows.columns[2].values = Bytes(cents);
    return rows;
  }
  static OwnedRows Keys(const std::vector<int64_t>& keys) {
    OwnedRows rows;
    rows.rows = keys.size();
    rows.columns.resize(1);
    rows.columns[0].values = Bytes(keys);
    return rows;
  }
  void Load(int64_t to) {
    OwnedRows rows = Rows(0, to);
    const auto written = tables_.Write("t", schema_, rows);
    ASSERT_TRUE(written.ok()) << written.status();
    EXPECT_EQ(written->stored, static_cast<uint64_t>(to));
  }
  grpc::Status Scan(const v1::ScanTableRequest& request,
                    std::vector<v1::ScanTableResponse>* responses, size_t read_max = 1000) {
    grpc::ClientContext context;
    auto reader = tables->ScanTable(&context, request);
    v1::ScanTableResponse response;
    while (responses->size() < read_max && reader->Read(&response)) responses->push_back(response);
    if (responses->size() == read_max) context.TryCancel();
    while (reader->Read(&response)) {
    }
    return reader->Finish();
  }
  // Reads one response of a scan that has more, and breaks its stream.
  v1::ScanTableResponse ScanOneAndBreak() {
    engine.Hold();
    std::thread helper([&] {
      EXPECT_TRUE(engine.AwaitHeld(1));
      engine.ReleaseHeld();
    });
    std::vector<v1::ScanTableResponse> responses;
    EXPECT_EQ(Scan(All(), &responses, 1).error_code(), grpc::StatusCode::CANCELLED);
    helper.join();
    EXPECT_TRUE(FakeEngine::Await([&] { return engine.scans_open() == 0; }));
    engine.Release();
    EXPECT_EQ(responses.size(), 1u);
    return responses.empty() ? v1::ScanTableResponse() : responses[0];
  }
  static v1::ScanTableRequest All() {
    v1::ScanTableRequest request;
    request.set_table("t");
    return request;
  }

  const Schema schema_ = {
      .columns = {{.name = "key", .type = ColumnType::kInt64},
                  {.name = "text", .type = ColumnType::kString},
                  {.name = "cents", .type = ColumnType::kDecimal, .scale = 2, .nullable = true}},
      .key = {0}};
  const std::unique_ptr<client::Client> client_;
  client::TableClient tables_;
};

TEST_F(TableServiceTest, TablesAreCreatedDescribedListedAndDropped) {
  const Schema heap{.columns = {{.name = "d", .type = ColumnType::kDate}}};
  ASSERT_TRUE(tables_.Create("h", heap).ok());
  EXPECT_EQ(tables_.Create("h", heap).status().code(), absl::StatusCode::kAlreadyExists);
  const auto info = tables_.Get("h");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->schema, heap);
  EXPECT_EQ(info->object.kind, ObjectKind::kHeapTable);
  const auto clustered = tables_.Get("t");
  ASSERT_TRUE(clustered.ok());
  EXPECT_EQ(clustered->schema, schema_);
  EXPECT_EQ(clustered->object.kind, ObjectKind::kTable);
  EXPECT_EQ(tables_.Get("none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tables_.Get("orders").status().code(), absl::StatusCode::kFailedPrecondition);
  const auto list = client_->List();
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->size(), 3u);
  EXPECT_TRUE(client_->Drop("h").ok());
  EXPECT_EQ(tables_.Get("h").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TableServiceTest, BoundsAreOfTheFirstKeyColumn) {
  client::TableBounds bounds{.start = Value(int64_t{-7}), .end = Value(int64_t{100})};
  ASSERT_TRUE(tables_.Create("b", schema_, bounds).ok());
  EXPECT_EQ(engine.last_table_options().expected.lo, KeyFromInt64(-7));
  EXPECT_EQ(engine.last_table_options().expected.hi, KeyFromInt64(100));
  bounds = {.splits = {Value(int64_t{1}), Value(int64_t{2})}};
  ASSERT_TRUE(tables_.Create("c", schema_, bounds).ok());
  EXPECT_EQ(engine.last_table_options().split_points.size(), 2u);
  bounds = {.start = Value(1.5)};
  EXPECT_THAT(std::string(tables_.Create("d", schema_, bounds).status().message()),
              HasSubstr("expected_start is f64, must be i64"));
}

TEST_F(TableServiceTest, RowsAreWrittenReplacedFoundAndErased) {
  Load(100);
  OwnedRows again = Rows(90, 110);
  const auto written = tables_.Write("t", schema_, again);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->stored, 20u);
  EXPECT_EQ(written->replaced, 10u);
  EXPECT_EQ(again.columns[0].values, Rows(90, 110).columns[0].values);  // lent, not given

  OwnedRows keys = Keys({5, 1000, 6});
  const auto found = tables_.LookUp("t", schema_, keys);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->found[0]);
  EXPECT_FALSE(found->found[1]);
  EXPECT_EQ(found->rows.GetString(1, 0), "5");
  EXPECT_TRUE(found->rows.IsNull(2, 0));
  EXPECT_TRUE(found->rows.IsNull(1, 1));
  EXPECT_EQ(found->rows.Get<int64_t>(2, 2), -6);
  const auto one = tables_.LookUp("t", schema_, keys, {"text"});
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->rows.columns.size(), 1u);
  EXPECT_EQ(tables_.LookUp("t", schema_, keys, {"none"}).status().code(),
            absl::StatusCode::kInvalidArgument);

  const auto erased = tables_.Erase("t", schema_, keys);
  ASSERT_TRUE(erased.ok()) << erased.status();
  EXPECT_EQ(erased->Count(), 2u);
  EXPECT_EQ(engine.table_rows("t"), 108u);
}

TEST_F(TableServiceTest, HeapTablesHaveNoKeyToAskFor) {
  const Schema heap{.columns = {{.name = "n", .type = ColumnType::kInt64}}};
  ASSERT_TRUE(tables_.Create("h", heap).ok());
  OwnedRows rows = Keys({1, 1, 2});
  const auto written = tables_.Write("h", heap, rows);
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->stored, 3u);
  EXPECT_EQ(written->replaced, 0u);
  EXPECT_EQ(tables_.Erase("h", heap, rows).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(tables_.LookUp("h", heap, rows).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TableServiceTest, BadRowsAreRefusedBeforeAnythingHasChanged) {
  OwnedRows rows = Rows(0, 10);
  rows.columns[0].values.pop_back();
  const auto written = tables_.Write("t", schema_, rows);
  EXPECT_EQ(written.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(written.status().message()), HasSubstr("rows.key: data of 79 bytes"));
  EXPECT_EQ(engine.table_rows("t"), 0u);
  rows = Rows(0, 10);
  EXPECT_EQ(tables_.Write("none", schema_, rows).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tables_.Write("orders", schema_, rows).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(TableServiceTest, StreamAnswersEachBatchAndGoesOnAfterABadOne) {
  struct Answer {
    absl::Status status;
    client::WrittenRows written;
  };
  std::vector<Answer> answers;
  client::RowStream stream(*client_, {.in_flight_max = 4},
                           [&](uint64_t index, absl::Status status, client::WrittenRows written) {
                             EXPECT_EQ(index, answers.size());
                             answers.push_back({std::move(status), written});
                           });
  for (int64_t batch = 0; batch < 20; ++batch) {
    OwnedRows rows = Rows(batch * 10, batch * 10 + 10);
    if (batch == 7) rows.columns[1].offsets.pop_back();
    ASSERT_TRUE(stream.Send("t", schema_, rows).ok());
    EXPECT_EQ(rows.rows, 10u);
  }
  ASSERT_TRUE(stream.Finish().ok());
  ASSERT_EQ(answers.size(), 20u);
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i].status.code(),
              i == 7 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kOk);
    EXPECT_EQ(answers[i].written.stored, i == 7 ? 0u : 10u);
  }
  EXPECT_EQ(engine.table_rows("t"), 190u);
}

TEST_F(TableServiceTest, StreamSaysHowManyRowsWereRefused) {
  engine.RefuseRowsFrom(4);
  absl::Status status;
  client::WrittenRows written;
  client::RowStream stream(*client_, {}, [&](uint64_t, absl::Status s, client::WrittenRows w) {
    status = std::move(s);
    written = w;
  });
  OwnedRows rows = Rows(0, 10);
  ASSERT_TRUE(stream.Send("t", schema_, rows).ok());
  ASSERT_TRUE(stream.Finish().ok());
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(written.stored, 4u);
  EXPECT_EQ(written.refused, 6u);
}

TEST_F(TableServiceTest, CancelledWriteLeavesTheEngineItsRows) {
  engine.Hold();
  {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
    v1::WriteRowsRequest request;
    request.set_table("t");
    request.mutable_rows()->set_rows(1);
    for (const auto& [type, bytes] :
         {std::pair(v1::COLUMN_TYPE_INT64, 8), std::pair(v1::COLUMN_TYPE_BYTES, 0),
          std::pair(v1::COLUMN_TYPE_DECIMAL64, 8)}) {
      v1::Column* column = request.mutable_rows()->add_columns();
      column->set_type(type);
      column->set_data(std::string(static_cast<size_t>(bytes), '\0'));
    }
    request.mutable_rows()->mutable_columns(1)->set_offsets(std::string(8, '\0'));
    v1::WriteRowsResponse response;
    EXPECT_EQ(tables->WriteRows(&context, request, &response).error_code(),
              grpc::StatusCode::DEADLINE_EXCEEDED);
  }
  engine.Release();
}

TEST_F(TableServiceTest, ScanGivesEveryRowOnceWithItsSchema) {
  Load(2500);
  const auto reader = tables_.Scan("t", {});
  OwnedRows rows;
  std::vector<int64_t> keys;
  for (;;) {
    const auto more = reader->Next(rows);
    ASSERT_TRUE(more.ok()) << more.status();
    if (!*more) break;
    for (uint64_t row = 0; row < rows.rows; ++row) {
      keys.push_back(rows.Get<int64_t>(0, row));
      ASSERT_EQ(rows.GetString(1, row), std::to_string(keys.back()));
      ASSERT_EQ(rows.IsNull(2, row), keys.back() % 2 != 0);
    }
  }
  ASSERT_EQ(keys.size(), 2500u);
  for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(keys[i], static_cast<int64_t>(i));
  EXPECT_EQ(reader->schema().columns, schema_.columns);
  EXPECT_EQ(reader->resumed(), 0u);
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.scans_open() == 0; }));
  // A scan that has ended keeps no snapshot for long.
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.snapshots_held() == 0; }));
}

TEST_F(TableServiceTest, QueryReachesTheEngineAsItWasWritten) {
  Load(10);
  Query query;
  query.filter = *client::ParseExpression(
      "key between -1 and 0.05 and not text in ('a', 'b') or cents is null and key + 1e3 * 2 < 5");
  query.columns = *client::ParseColumns("key as k, text");
  query.limit = 3;
  OwnedRows rows;
  const auto reader = tables_.Scan("t", query);
  ASSERT_TRUE(reader->Next(rows).ok());
  EXPECT_EQ(rows.rows, 3u);
  EXPECT_EQ(*reader->Next(rows), false);
  const Query seen = engine.last_query();
  EXPECT_EQ(seen.filter, query.filter);
  ASSERT_EQ(seen.columns.size(), 2u);
  EXPECT_EQ(seen.columns[0].expression, query.columns[0].expression);
  EXPECT_EQ(seen.columns[0].name, "k");
  EXPECT_EQ(seen.limit, 3u);

  Query sums;
  sums.aggregates = *client::ParseAggregates("count(*) as n, sum(cents * 2), avg(key)");
  sums.group_by = {"text"};
  const auto aggregates = tables_.Scan("t", sums);
  ASSERT_TRUE(aggregates->Next(rows).ok());
  EXPECT_EQ(rows.Get<uint64_t>(0, 0), 10u);
  const Query summed = engine.last_query();
  ASSERT_EQ(summed.aggregates.size(), 3u);
  EXPECT_EQ(summed.aggregates[1].argument, sums.aggregates[1].argument);
  EXPECT_EQ(summed.aggregates[2].function, AggregateFunction::kAverage);
  EXPECT_EQ(summed.group_by, sums.group_by);
}

TEST_F(TableServiceTest, ScanWithoutARowHasASchema) {
  std::vector<v1::ScanTableResponse> responses;
  ASSERT_TRUE(Scan(All(), &responses).ok());
  ASSERT_EQ(responses.size(), 1u);
  EXPECT_EQ(responses[0].schema().columns_size(), 3);
  EXPECT_EQ(responses[0].rows().rows(), 0u);
  OwnedRows rows;
  const auto reader = tables_.Scan("t", {});
  EXPECT_EQ(*reader->Next(rows), false);
  EXPECT_EQ(reader->schema().columns.size(), 3u);
}

TEST_F(TableServiceTest, BrokenScanGoesOnOnItsSnapshot) {
  Load(2500);
  const v1::ScanTableResponse first = ScanOneAndBreak();
  ASSERT_FALSE(first.resume_token().empty());
  // What is written now, the scan does not see.
  OwnedRows more = Rows(5000, 5100);
  ASSERT_TRUE(tables_.Write("t", schema_, more).ok());
  EXPECT_EQ(engine.snapshots_held(), 1);

  v1::ScanTableRequest rest = All();
  rest.set_resume_token(first.resume_token());
  std::vector<v1::ScanTableResponse> others;
  const grpc::Status status = Scan(rest, &others);
  ASSERT_TRUE(status.ok()) << status.error_message();
  uint64_t count = 0;
  for (const auto& response : others) count += response.rows().rows();
  EXPECT_EQ(count, 1500u);
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.snapshots_held() == 0; }));
  // Whoever has all rows can come back for a moment only.
  others.clear();
  const grpc::Status gone = Scan(rest, &others);
  EXPECT_EQ(gone.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_NE(gone.error_message().find("server.scan_resume_ms"), std::string::npos)
      << gone.error_message();
}

TEST_F(TableServiceTest, TokensOfOtherQueriesAreRefused) {
  Load(2500);
  const v1::ScanTableResponse first = ScanOneAndBreak();
  const auto refusal = [&](auto change) {
    v1::ScanTableRequest request = All();
    request.set_resume_token(first.resume_token());
    change(request);
    std::vector<v1::ScanTableResponse> none;
    const grpc::Status status = Scan(request, &none);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
    return status.error_message();
  };
  EXPECT_THAT(refusal([](auto& r) { r.set_table("u"); }), HasSubstr("another table or query"));
  EXPECT_THAT(refusal([](auto& r) {
                auto* filter = r.mutable_query()->mutable_filter();
                filter->set_kind(v1::Expression::KIND_COLUMN);
                filter->set_column("key");
              }),
              HasSubstr("another table or query"));
  EXPECT_THAT(refusal([](auto& r) { r.set_snapshot(5); }), HasSubstr("snapshot"));
  EXPECT_THAT(refusal([](auto& r) { r.set_resume_token("A"); }), HasSubstr("1 bytes"));
  v1::ScanTableRequest limited = All();
  limited.set_resume_token(first.resume_token());
  limited.mutable_query()->set_limit(7);
  std::vector<v1::ScanTableResponse> some;
  ASSERT_TRUE(Scan(limited, &some).ok());
  EXPECT_EQ(some[0].rows().rows(), 7u);
}

TEST_F(TableServiceTest, SnapshotsAreTakenSharedAndReleased) {
  Load(10);
  const auto snapshot = tables_.TakeSnapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  OwnedRows more = Rows(100, 200);
  ASSERT_TRUE(tables_.Write("t", schema_, more).ok());
  OwnedRows rows;
  for (int i = 0; i < 2; ++i) {
    const auto reader = tables_.Scan("t", {}, *snapshot);
    ASSERT_TRUE(*reader->Next(rows));
    EXPECT_EQ(rows.rows, 10u);
    EXPECT_FALSE(*reader->Next(rows));
  }
  EXPECT_EQ(engine.snapshots_held(), 1);
  EXPECT_TRUE(tables_.ReleaseSnapshot(*snapshot).ok());
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.snapshots_held() == 0; }));
  EXPECT_EQ(tables_.ReleaseSnapshot(*snapshot).code(), absl::StatusCode::kNotFound);
  const auto late = tables_.Scan("t", {}, *snapshot);
  EXPECT_EQ(late->Next(rows).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TableServiceTest, SnapshotGoesByItselfWhenNobodyAsks) {
  ASSERT_TRUE(tables_.TakeSnapshot(absl::Milliseconds(30)).ok());
  EXPECT_TRUE(FakeEngine::Await([&] { return engine.snapshots_held() == 0; }));
  EXPECT_EQ(tables_.TakeSnapshot(absl::Hours(2)).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(TableServiceTest, ScanIntoWritesInsideTheServer) {
  Load(50);
  ASSERT_TRUE(tables_.Create("u", schema_).ok());
  const auto rows = tables_.ScanInto("t", {.limit = 9}, "u");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(*rows, 50u);
  EXPECT_EQ(engine.table_rows("u"), 50u);
  EXPECT_EQ(engine.last_query().limit, 9u);
  EXPECT_EQ(tables_.ScanInto("t", {}, "none").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(tables_.ScanInto("t", {}, "u", 77).status().code(),
            absl::StatusCode::kFailedPrecondition);
  const auto snapshot = tables_.TakeSnapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_TRUE(tables_.ScanInto("t", {}, "u", *snapshot).ok());
  EXPECT_TRUE(engine.last_query_had_snapshot());
}

TEST_F(TableServiceTest, IndexesAreNotMadeOfTableKinds) {
  v1::CreateObjectRequest request;
  request.set_name("x");
  request.set_kind(v1::OBJECT_KIND_TABLE);
  v1::CreateObjectResponse response;
  grpc::ClientContext context;
  const grpc::Status status = catalog->CreateObject(&context, request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("CreateTable"));
}

// The first stream's deadline passes while the engine holds its second chunk back.
class SmallTableBudgetTest : public TableServiceTest {
 protected:
  static ServerConfig Small() {
    ServerConfig config;
    config.in_flight_bytes_max = 64 << 10;
    return config;
  }
  SmallTableBudgetTest() : TableServiceTest(Small()) {}
};

TEST_F(SmallTableBudgetTest, ScanIsChargedForTheRowsItAsksFor) {
  Load(300);
  const auto scan = [&](uint64_t limit, bool count) {
    v1::ScanTableRequest request = All();
    request.mutable_query()->set_limit(limit);
    if (count) {
      v1::AggregateColumn* const column = request.mutable_query()->add_aggregates();
      column->set_function(v1::AggregateColumn::FUNCTION_COUNT);
      column->set_name("n");
    }
    std::vector<v1::ScanTableResponse> responses;
    return Scan(request, &responses);
  };
  EXPECT_TRUE(scan(0, true).ok());
  EXPECT_TRUE(scan(100, false).ok());
  const grpc::Status refused = scan(0, false);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("2097152"));  // the message, twice
}

TEST(ExpectedChunkBytesTest, GrowsWithRowsUpToItsLimit) {
  const Schema schema{.columns = {{.name = "a", .type = ColumnType::kInt32},
                                       {.name = "b", .type = ColumnType::kString}}};
  EXPECT_EQ(ExpectedChunkBytes(schema, 1, 1 << 20), 5u + 37u);
  EXPECT_EQ(ExpectedChunkBytes(schema, 100, 1 << 20), 100 * (5u + 37u));
  EXPECT_EQ(ExpectedChunkBytes(schema, 0, 1 << 20), uint64_t{1} << 20);
  EXPECT_EQ(ExpectedChunkBytes(schema, ~uint64_t{0}, 1 << 20), uint64_t{1} << 20);
}

TEST_F(TableServiceTest, ReaderResumesByItselfBehindWhatItHas) {
  Load(2500);
  const auto impatient = *client::Client::Connect(
      {.server = server->address(), .timeout = absl::Milliseconds(500), .own_connection = true});
  client::TableClient impatient_tables(*impatient);
  const auto reader = impatient_tables.Scan("t", {.limit = 2400});
  engine.Hold();
  std::thread helper([&] {
    EXPECT_TRUE(engine.AwaitHeld(1));
    engine.ReleaseHeld();
    EXPECT_TRUE(FakeEngine::Await([&] { return !engine.last_query().resume.empty(); }));
    engine.Release();
  });
  OwnedRows rows;
  uint64_t count = 0;
  for (;;) {
    const auto more = reader->Next(rows);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) break;
    count += rows.rows;
  }
  helper.join();
  EXPECT_EQ(count, 2400u);
  EXPECT_EQ(reader->resumed(), 1u);
  EXPECT_EQ(engine.last_query().limit, 1400u);
}

}  // namespace
}  // namespace eris::server
