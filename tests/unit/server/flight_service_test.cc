// Arrow Flight over real gRPC in process, with a real engine behind: schemas, endpoints, shares,
// tickets that do not fit, clients that leave or do not read.
#include <grpcpp/grpcpp.h>

#include <arrow/ipc_generated.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "arrow/flight.grpc.pb.h"
#include "eris/engine.h"
#include "eris/expression.h"
#include "eris/v1/data.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/flight/flight_query.h"
#include "server/guard/snapshot_leases.h"
#include "server/rpc_server.h"
#include "server/state/token_seal.h"
#include "tests/support/table_rows.h"
#include "tests/unit/server/io_thread.h"
#include "wire/arrow_ipc.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
namespace protocol = ::arrow::flight::protocol;

const Schema kColumns = {
    .columns = {{.name = "id", .type = ColumnType::kUint64},
                {.name = "note", .type = ColumnType::kString, .nullable = true}},
    .key = {0}};

class FlightServiceTest : public ::testing::Test {
 protected:
  FlightServiceTest() {
    Options options;
    options.topology = "numa:2 core:1 pu:1";
    options.aeu_count = 2;
    options.memory_limit_bytes = uint64_t{1} << 30;
    engine_ = *Engine::Open(options);
    session_ = engine_->NewSession();
    config_.listen = "127.0.0.1:0";
    Serve();
  }
  ~FlightServiceTest() override { server_.reset(); }

  void Serve() {
    server_.reset();
    auto server = RpcServer::Start(config_, engine_.get(), io_thread_.io());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = protocol::FlightService::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments));
  }

  // A table or an index of `rows` rows, with ids 0, 1, ...
  void Load(const std::string& name, uint64_t rows, ObjectKind kind = ObjectKind::kTable) {
    const bool is_table = kind == ObjectKind::kTable;
    const Schema schema = is_table ? kColumns : KeyValueSchema();
    const auto created = engine_->Create(
        name, {.kind = kind, .schema = schema, .expected = {.hi = std::max<uint64_t>(rows, 1)}});
    ASSERT_TRUE(created.ok()) << created.status();
    if (rows == 0) return;
    test::Rows all(schema.columns);
    for (uint64_t i = 0; i < rows; ++i) {
      all.Add({i, is_table ? Value(std::to_string(i)) : Value(uint64_t{i})});
    }
    const auto written = session_->Write(*session_->Open(name), {.rows = all.batch()});
    ASSERT_TRUE(written.status.ok()) << written.status;
  }

  static protocol::FlightDescriptor Path(const std::string& name) {
    protocol::FlightDescriptor descriptor;
    descriptor.set_type(protocol::FlightDescriptor::PATH);
    descriptor.add_path(name);
    return descriptor;
  }
  static protocol::FlightDescriptor Command(const std::string& text) {
    protocol::FlightDescriptor descriptor;
    descriptor.set_type(protocol::FlightDescriptor::CMD);
    descriptor.set_cmd(text);
    return descriptor;
  }
  grpc::Status InfoOf(const protocol::FlightDescriptor& descriptor, protocol::FlightInfo* info) {
    grpc::ClientContext context;
    return stub_->GetFlightInfo(&context, descriptor, info);
  }
  protocol::FlightInfo InfoOf(const protocol::FlightDescriptor& descriptor) {
    protocol::FlightInfo info;
    const grpc::Status status = InfoOf(descriptor, &info);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return info;
  }

  // Reads a ticket; appends the ids, which are the first column.
  grpc::Status Get(const protocol::Ticket& ticket, std::vector<uint64_t>* ids) {
    grpc::ClientContext context;
    auto reader = stub_->DoGet(&context, ticket);
    protocol::FlightData data;
    for (bool first = true; reader->Read(&data); first = false) {
      const ipc::Message& message = *ipc::GetMessage(data.data_header().data());
      EXPECT_EQ(message.header_type(),
                first ? ipc::MessageHeader_Schema : ipc::MessageHeader_RecordBatch);
      if (first) continue;
      const ipc::RecordBatch& batch = *message.header_as_RecordBatch();
      EXPECT_EQ(message.body_length(), static_cast<int64_t>(data.data_body().size()));
      const size_t old = ids->size();
      ids->resize(old + static_cast<size_t>(batch.length()));
      std::memcpy(ids->data() + old, data.data_body().data() + batch.buffers()->Get(1)->offset(),
                  (ids->size() - old) * sizeof(uint64_t));
    }
    return reader->Finish();
  }
  std::vector<uint64_t> Get(const protocol::FlightInfo& info) {
    std::vector<uint64_t> ids;
    for (const protocol::FlightEndpoint& endpoint : info.endpoint()) {
      const grpc::Status status = Get(endpoint.ticket(), &ids);
      EXPECT_TRUE(status.ok()) << status.error_message();
    }
    return ids;
  }
  struct ActionAnswer {
    grpc::Status status;
    std::string body;
  };
  ActionAnswer DoAction(const std::string& type, const google::protobuf::Message& body) {
    return DoAction(type, body.SerializeAsString());
  }
  ActionAnswer DoAction(const std::string& type, const std::string& body) {
    protocol::Action action;
    action.set_type(type);
    action.set_body(body);
    grpc::ClientContext context;
    auto reader = stub_->DoAction(&context, action);
    protocol::Result result;
    ActionAnswer answer;
    while (reader->Read(&result)) answer.body += result.body();
    answer.status = reader->Finish();
    return answer;
  }
  static std::vector<uint64_t> Sorted(std::vector<uint64_t> ids) {
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  static std::vector<uint64_t> UpTo(uint64_t end) {
    std::vector<uint64_t> ids;
    for (uint64_t id = 0; id < end; ++id) ids.push_back(id);
    return ids;
  }

  IoThread io_thread_;
  ServerConfig config_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<protocol::FlightService::Stub> stub_;
};

void ExpectRefusedFlight(const grpc::Status& status, grpc::StatusCode code,
                         const std::string& text) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

TEST_F(FlightServiceTest, TableIsReadByItsPath) {
  Load("t", 70'000);
  const protocol::FlightInfo info = InfoOf(Path("t"));
  ASSERT_EQ(info.endpoint_size(), 1);
  EXPECT_EQ(info.total_records(), -1);
  EXPECT_FALSE(info.ordered());
  EXPECT_EQ(info.flight_descriptor().path(0), "t");
  EXPECT_EQ(info.schema(), wire::FramedArrow(wire::ArrowSchema(kColumns)));
  EXPECT_EQ(Sorted(Get(info)), UpTo(70'000));
  EXPECT_EQ(Sorted(Get(info)), UpTo(70'000));  // once more, with the same ticket

  grpc::ClientContext context;
  protocol::SchemaResult schema;
  ASSERT_TRUE(stub_->GetSchema(&context, Path("t"), &schema).ok());
  EXPECT_EQ(schema.schema(), info.schema());
}

TEST_F(FlightServiceTest, ObjectWithoutARowHasASchema) {
  Load("t", 0);
  EXPECT_TRUE(Get(InfoOf(Path("t"))).empty());
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "t", "shares": 3})"));
  EXPECT_EQ(info.endpoint_size(), 1);
  EXPECT_EQ(info.total_records(), 0);
  EXPECT_TRUE(Get(info).empty());
}

TEST_F(FlightServiceTest, SharesTogetherAreTheSnapshot) {
  Load("t", 200'000);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "t", "shares": 3})"));
  ASSERT_EQ(info.endpoint_size(), 3);
  EXPECT_TRUE(info.endpoint(0).has_expiration_time());
  // Written after the snapshot.
  test::Rows more(kColumns.columns);
  more.Add({uint64_t{1'000'000}, Value()});
  ASSERT_TRUE(session_->Write(*session_->Open("t"), {.rows = more.batch()}).status.ok());
  EXPECT_EQ(Sorted(Get(info)), UpTo(200'000));
  EXPECT_EQ(Get(InfoOf(Path("t"))).size(), 200'001u);
  // At least one for each AEU.
  EXPECT_EQ(InfoOf(Command(R"({"object": "t", "shares": 1})")).endpoint_size(), 2);
}

// Its lease is let go, as it is after some time without use.
TEST_F(FlightServiceTest, TicketsOfAnEndedSnapshotAreRefused) {
  Load("t", 1000);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "t", "shares": 2})"));
  const std::string& ticket = info.endpoint(1).ticket().ticket();
  constexpr size_t kHeadBytes = 50;  // flight_ticket.h
  v1::ScanRequest scan;
  ASSERT_TRUE(scan.ParseFromString(
      ticket.substr(kHeadBytes, ticket.size() - kHeadBytes - TokenSeal::kChecksumBytes)));
  v1::ReleaseSnapshotRequest request;
  request.set_snapshot(scan.snapshot());
  v1::ReleaseSnapshotResponse response;
  grpc::ClientContext context;
  const auto data = v1::Data::NewStub(
      grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  ASSERT_TRUE(data->ReleaseSnapshot(&context, request, &response).ok());
  std::vector<uint64_t> ids;
  ExpectRefusedFlight(Get(info.endpoint(1).ticket(), &ids), grpc::StatusCode::FAILED_PRECONDITION,
                      "call GetFlightInfo again");
}

TEST_F(FlightServiceTest, SnapshotEndsSoonAfterAllTicketsWereRead) {
  Load("t", 1000);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "t", "shares": 2})"));
  ASSERT_EQ(info.endpoint_size(), 2);
  std::vector<uint64_t> ids;
  EXPECT_TRUE(Get(info.endpoint(0).ticket(), &ids).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  EXPECT_EQ(Sorted(Get(info)), UpTo(1000));  // one ticket was left
  EXPECT_EQ(Sorted(Get(info)), UpTo(1000));  // once more, in time
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  ids.clear();
  for (const protocol::FlightEndpoint& endpoint : info.endpoint()) {
    ExpectRefusedFlight(Get(endpoint.ticket(), &ids), grpc::StatusCode::FAILED_PRECONDITION,
                        "call GetFlightInfo again");
  }
  EXPECT_TRUE(ids.empty());
}

TEST_F(FlightServiceTest, SnapshotOfReadersThatVanishEnds) {
  config_.flight_snapshot_ms = 1000;
  Serve();
  Load("t", 200'000);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "t", "shares": 2})"));
  for (const protocol::FlightEndpoint& endpoint : info.endpoint()) {
    grpc::ClientContext context;
    auto reader = stub_->DoGet(&context, endpoint.ticket());
    protocol::FlightData data;
    ASSERT_TRUE(reader->Read(&data));
    context.TryCancel();
    (void)reader->Finish();
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::vector<uint64_t> ids;
  ExpectRefusedFlight(Get(info.endpoint(0).ticket(), &ids), grpc::StatusCode::FAILED_PRECONDITION,
                      "call GetFlightInfo again");
}

// More infos than clients may hold snapshots: the oldest ones' go.
TEST_F(FlightServiceTest, InfosThatNobodyReadsHoldFewSnapshots) {
  Load("o", 10, ObjectKind::kIndex);
  const protocol::FlightDescriptor asked = Command(R"({"object": "o", "shares": 1})");
  const protocol::FlightInfo first = InfoOf(asked);
  protocol::FlightInfo last;
  for (size_t i = 0; i < SnapshotLeases::kTakenMax + 10; ++i) {
    last.Clear();
    const grpc::Status status = InfoOf(asked, &last);
    ASSERT_TRUE(status.ok()) << i << ": " << status.error_message();
  }
  EXPECT_EQ(Get(last), UpTo(10));
  std::vector<uint64_t> ids;
  ExpectRefusedFlight(Get(first.endpoint(0).ticket(), &ids), grpc::StatusCode::FAILED_PRECONDITION,
                      "call GetFlightInfo again");
}

TEST_F(FlightServiceTest, EndpointsAreRenewed) {
  config_.flight_snapshot_ms = 1000;
  Serve();
  Load("o", 10, ObjectKind::kIndex);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "o", "shares": 1})"));
  protocol::RenewFlightEndpointRequest request;
  *request.mutable_endpoint() = info.endpoint(0);
  const auto ends = [](const protocol::FlightEndpoint& endpoint) {
    return endpoint.expiration_time().seconds() * 1000 +
           endpoint.expiration_time().nanos() / 1'000'000;
  };
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    const auto renewed = DoAction("RenewFlightEndpoint", request);
    ASSERT_TRUE(renewed.status.ok()) << renewed.status.error_message();
    protocol::FlightEndpoint endpoint;
    ASSERT_TRUE(endpoint.ParseFromString(renewed.body));
    EXPECT_EQ(endpoint.ticket().ticket(), info.endpoint(0).ticket().ticket());
    EXPECT_EQ(endpoint.app_metadata(), info.endpoint(0).app_metadata());
    EXPECT_GE(ends(endpoint), ends(info.endpoint(0)) + 600);
  }
  EXPECT_EQ(Get(info), UpTo(10));
  std::this_thread::sleep_for(std::chrono::milliseconds(1300));
  ExpectRefusedFlight(DoAction("RenewFlightEndpoint", request).status,
                      grpc::StatusCode::FAILED_PRECONDITION, "call GetFlightInfo again");
  // Without a snapshot it does not expire.
  *request.mutable_endpoint() = InfoOf(Path("o")).endpoint(0);
  const auto endless = DoAction("RenewFlightEndpoint", request);
  EXPECT_TRUE(endless.status.ok()) << endless.status.error_message();
  EXPECT_EQ(endless.body, request.endpoint().SerializeAsString());
}

TEST_F(FlightServiceTest, InfosAreCancelled) {
  Load("t", 100);
  protocol::CancelFlightInfoRequest request;
  *request.mutable_info() = InfoOf(Command(R"({"object": "t", "shares": 2})"));
  for (int i = 0; i < 2; ++i) {  // the second time it is cancelled already
    const auto cancelled = DoAction("CancelFlightInfo", request);
    ASSERT_TRUE(cancelled.status.ok()) << cancelled.status.error_message();
    protocol::CancelFlightInfoResult result;
    ASSERT_TRUE(result.ParseFromString(cancelled.body));
    EXPECT_EQ(result.status(), protocol::CANCEL_STATUS_CANCELLED);
    std::vector<uint64_t> ids;
    ExpectRefusedFlight(Get(request.info().endpoint(1).ticket(), &ids),
                        grpc::StatusCode::FAILED_PRECONDITION, "call GetFlightInfo again");
  }
  *request.mutable_info() = InfoOf(Path("t"));
  protocol::CancelFlightInfoResult result;
  ASSERT_TRUE(result.ParseFromString(DoAction("CancelFlightInfo", request).body));
  EXPECT_EQ(result.status(), protocol::CANCEL_STATUS_NOT_CANCELLABLE);
  // More than an info can have: each is checked, which takes time.
  const protocol::FlightEndpoint endpoint = request.info().endpoint(0);
  for (uint32_t i = 0; i < 2 * kFlightSharesMax; ++i)
    *request.mutable_info()->add_endpoint() = endpoint;
  ExpectRefusedFlight(DoAction("CancelFlightInfo", request).status,
                      grpc::StatusCode::INVALID_ARGUMENT, "8193 endpoints, must have at most 8192");
}

TEST_F(FlightServiceTest, ActionsThatDoNotFitAreRefused) {
  Load("t", 100);
  ExpectRefusedFlight(DoAction("drop", protocol::Empty()).status, grpc::StatusCode::UNIMPLEMENTED,
                      "action \"drop\" is unknown; there are CancelFlightInfo and");
  protocol::RenewFlightEndpointRequest request;
  ExpectRefusedFlight(DoAction("RenewFlightEndpoint", request).status,
                      grpc::StatusCode::INVALID_ARGUMENT, "ticket: 0 bytes");
  *request.mutable_endpoint() = InfoOf(Path("t")).endpoint(0);
  request.mutable_endpoint()->mutable_ticket()->mutable_ticket()->back() ^= 1;
  ExpectRefusedFlight(DoAction("RenewFlightEndpoint", request).status,
                      grpc::StatusCode::INVALID_ARGUMENT, "damaged");
  ExpectRefusedFlight(DoAction("CancelFlightInfo", protocol::CancelFlightInfoRequest()).status,
                      grpc::StatusCode::INVALID_ARGUMENT, "no endpoint");
  ExpectRefusedFlight(DoAction("CancelFlightInfo", std::string("\n\x05x")).status,
                      grpc::StatusCode::INVALID_ARGUMENT,
                      "the body of action CancelFlightInfo is no CancelFlightInfoRequest");
}

TEST_F(FlightServiceTest, AnswersAndActionsHaveLimits) {
  config_.receive_message_bytes_max = 64 << 20;
  Serve();
  Load("t", 100);
  std::string ids = "0";
  for (uint64_t i = 0; i < 1000; ++i) ids += ", " + std::to_string((uint64_t{1} << 60) + i);
  protocol::FlightInfo info;
  ExpectRefusedFlight(
      InfoOf(Command(R"({"object": "t", "shares": 4096, "filter": "id in ()" + ids + ")\"}"),
             &info),
      grpc::StatusCode::INVALID_ARGUMENT, "ask for fewer shares");
  ExpectRefusedFlight(DoAction("CancelFlightInfo", std::string(33 << 20, 'x')).status,
                      grpc::StatusCode::INVALID_ARGUMENT,
                      "the body of action CancelFlightInfo has 34603008 bytes, must have at most");
}

TEST_F(FlightServiceTest, EndpointsTellWhatTheyHave) {
  config_.advertise = "db1:7411";
  Serve();
  Load("t", 100'000);
  Load("o", 100, ObjectKind::kIndex);
  const protocol::FlightInfo index = InfoOf(Command(R"({"object": "o", "shares": 1})"));
  ASSERT_EQ(index.endpoint_size(), 2);
  EXPECT_EQ(index.endpoint(0).app_metadata(),
            R"({"aeu":0,"numa_node":0,"range":{"hi":50},"rows":50})");
  EXPECT_EQ(index.endpoint(1).app_metadata(),
            R"({"aeu":1,"numa_node":1,"range":{"lo":50},"rows":50})");
  const protocol::FlightInfo table =
      InfoOf(Command(R"({"object": "t", "shares": 1, "filter": "id < 5"})"));
  ASSERT_EQ(table.endpoint_size(), 1);
  EXPECT_THAT(table.endpoint(0).app_metadata(),
              HasSubstr(R"({"aeu":0,"numa_node":0,"range":{"hi":50000},"rows":)"));
  const protocol::FlightInfo whole = InfoOf(Path("t"));
  EXPECT_EQ(whole.endpoint(0).app_metadata(), "");
  for (const protocol::FlightInfo& info : {index, table, whole}) {
    ASSERT_EQ(info.endpoint(0).location_size(), 1);
    EXPECT_EQ(info.endpoint(0).location(0).uri(), "grpc+tcp://db1:7411");
  }
}

TEST_F(FlightServiceTest, IndexHasAnEndpointForEachRangeInOrder) {
  Load("o", 10'000, ObjectKind::kIndex);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "o", "shares": 2})"));
  EXPECT_EQ(info.endpoint_size(), 2);
  EXPECT_EQ(info.total_records(), 10'000);
  EXPECT_TRUE(info.ordered());
  EXPECT_EQ(Get(info), UpTo(10'000));
  EXPECT_EQ(Get(InfoOf(Path("o"))), UpTo(10'000));
  // Written after the snapshot.
  const std::vector<uint64_t> key{10'000};
  ASSERT_TRUE(session_->Upsert(*session_->Open("o"), key, key).ok());
  EXPECT_EQ(Get(info), UpTo(10'000)) << "the tickets are of a snapshot";
  EXPECT_EQ(Get(InfoOf(Path("o"))), UpTo(10'001));
}

TEST_F(FlightServiceTest, LimitAndColumns) {
  Load("t", 10'000);
  const protocol::FlightInfo info =
      InfoOf(Command(R"({"object": "t", "columns": ["id"], "limit": 25})"));
  EXPECT_EQ(info.schema(),
            wire::FramedArrow(wire::ArrowSchema({.columns = {kColumns.columns[0]}})));
  EXPECT_EQ(Get(info).size(), 25u);
}

TEST_F(FlightServiceTest, FiltersAndComputedColumns) {
  using namespace expressions;  // NOLINT: operators
  Load("t", 10'000);
  const protocol::FlightDescriptor asked = Command(
      R"({"object": "t", "columns": ["id * 2 as twice", "note"], "filter": "id >= 5 and id < 8"})");
  const protocol::FlightInfo info = InfoOf(asked);
  EXPECT_EQ(Sorted(Get(info)), (std::vector<uint64_t>{10, 12, 14}));
  grpc::ClientContext context;
  protocol::SchemaResult schema;
  ASSERT_TRUE(stub_->GetSchema(&context, asked, &schema).ok());
  EXPECT_EQ(schema.schema(), info.schema());
  const auto scan = session_->OpenScan(
      *session_->Open("t"),
      {.columns = {{Column("id") * Literal(2), "twice"}, {Column("note"), "note"}}});
  ASSERT_TRUE(scan.ok()) << scan.status();
  EXPECT_EQ(info.schema(), wire::FramedArrow(wire::ArrowSchema((*scan)->schema())));
}

TEST_F(FlightServiceTest, AggregatesHaveOneEndpoint) {
  Load("t", 10'000);
  for (const char* shares : {"", R"(, "shares": 4)"}) {
    const protocol::FlightInfo info = InfoOf(Command(
        std::string(R"({"object": "t", "filter": "id < 50", "aggregates": "count(*) as n")") +
        shares + "}"));
    ASSERT_EQ(info.endpoint_size(), 1);
    // With shares of a snapshot.
    EXPECT_EQ(info.endpoint(0).has_expiration_time(), *shares != '\0');
    test::Rows more(kColumns.columns);
    more.Add({uint64_t{1'000'000}, Value()});
    ASSERT_TRUE(session_->Write(*session_->Open("t"), {.rows = more.batch()}).status.ok());
    EXPECT_EQ(Get(info), (std::vector<uint64_t>{50}));
  }
  const protocol::FlightInfo groups = InfoOf(Command(
      R"({"object": "t", "filter": "id < 3", "group_by": ["id"], "aggregates": ["max(note) as m"]})"));
  EXPECT_EQ(Get(groups), UpTo(3));
}

TEST_F(FlightServiceTest, SnapshotOfAggregatesAndLimits) {
  Load("t", 1000);
  const protocol::FlightInfo count =
      InfoOf(Command(R"({"object": "t", "shares": 2, "aggregates": "count(*) as n"})"));
  const protocol::FlightInfo few =
      InfoOf(Command(R"({"object": "t", "shares": 2, "limit": 2000})"));
  ASSERT_EQ(few.endpoint_size(), 1);
  test::Rows more(kColumns.columns);
  more.Add({uint64_t{1'000'000}, Value()});
  ASSERT_TRUE(session_->Write(*session_->Open("t"), {.rows = more.batch()}).status.ok());
  EXPECT_EQ(Get(count), (std::vector<uint64_t>{1000}));
  EXPECT_EQ(Sorted(Get(few)), UpTo(1000));
}

// Ids are cut between the two AEUs.
TEST_F(FlightServiceTest, SharesThatTheFilterExcludesAreLeftOut) {
  Load("t", 200'000);
  const protocol::FlightInfo low =
      InfoOf(Command(R"({"object": "t", "shares": 2, "filter": "id < 1000"})"));
  EXPECT_EQ(Sorted(Get(low)), UpTo(1000));
  const protocol::FlightInfo one =
      InfoOf(Command(R"({"object": "t", "shares": 1, "filter": "id < 1000"})"));
  EXPECT_EQ(one.endpoint_size(), 1);
  EXPECT_EQ(Sorted(Get(one)), UpTo(1000));
  const protocol::FlightInfo none =
      InfoOf(Command(R"({"object": "t", "shares": 2, "filter": "id > 500000"})"));
  EXPECT_EQ(none.endpoint_size(), 1);
  EXPECT_EQ(none.total_records(), 0);
  EXPECT_TRUE(Get(none).empty());
}

TEST_F(FlightServiceTest, RangesOfAnIndex) {
  Load("o", 10'000, ObjectKind::kIndex);
  const std::vector<uint64_t> wanted = {4998, 4999, 5000, 5001};
  for (const char* shares : {"", R"(, "shares": 2)"}) {
    const std::string tail = std::string(shares) + "}";
    const protocol::FlightInfo some = InfoOf(
        Command(R"({"object": "o", "columns": ["key"], "range": {"lo": 4998, "hi": 5002})" + tail));
    EXPECT_EQ(some.endpoint_size(), *shares == '\0' ? 1 : 2);
    EXPECT_EQ(Get(some), wanted);
    EXPECT_EQ(Get(InfoOf(Command(R"({"object": "o", "range": {"lo": 9998})" + tail))),
              (std::vector<uint64_t>{9998, 9999}));
    EXPECT_TRUE(Get(InfoOf(Command(R"({"object": "o", "range": {"lo": 20000})" + tail))).empty());
    EXPECT_TRUE(
        Get(InfoOf(Command(R"({"object": "o", "range": {"lo": 7, "hi": 7})" + tail))).empty());
  }
}

TEST_F(FlightServiceTest, RefusalsSayWhy) {
  Load("t", 10);
  protocol::FlightInfo info;
  ExpectRefusedFlight(InfoOf(Path("nothing"), &info), grpc::StatusCode::NOT_FOUND, "nothing");
  ExpectRefusedFlight(InfoOf(Command("{}"), &info), grpc::StatusCode::INVALID_ARGUMENT, "object");
  for (const auto& [fields, said] :
       {std::pair(R"("filter": "nothing < 1")", "nothing"),
        std::pair(R"("filter": "id <")", "field \"filter\": at character 5"),
        std::pair(R"("filter": "id + 1")", "is a value where a condition"),
        std::pair(R"("columns": ["id", "id"])", "id"), std::pair(R"("columns": ["ids"])", "ids"),
        std::pair(R"("range": {"lo": 1})", "is of indexes")}) {
    ExpectRefusedFlight(InfoOf(Command(std::string(R"({"object": "t", )") + fields + "}"), &info),
                        grpc::StatusCode::INVALID_ARGUMENT, said);
  }
  Load("i", 10, ObjectKind::kIndex);
  for (const char* fields : {R"("columns": ["value"])", R"("filter": "key < 1")",
                             R"("aggregates": "count(*) as n")", R"("columns": ["key + 1"])"}) {
    ExpectRefusedFlight(InfoOf(Command(std::string(R"({"object": "i", )") + fields + "}"), &info),
                        grpc::StatusCode::INVALID_ARGUMENT, "index");
  }
  Load("h", 10, ObjectKind::kHash);
  ExpectRefusedFlight(InfoOf(Path("h"), &info), grpc::StatusCode::FAILED_PRECONDITION,
                      "cannot be scanned");

  std::vector<uint64_t> ids;
  protocol::Ticket ticket;
  ExpectRefusedFlight(Get(ticket, &ids), grpc::StatusCode::INVALID_ARGUMENT, "ticket: 0 bytes");
  ticket = InfoOf(Path("t")).endpoint(0).ticket();
  protocol::Ticket forged = ticket;
  forged.mutable_ticket()->back() ^= 1;
  ExpectRefusedFlight(Get(forged, &ids), grpc::StatusCode::INVALID_ARGUMENT, "damaged");
  ASSERT_TRUE(engine_->Drop("t").ok());
  ExpectRefusedFlight(Get(ticket, &ids), grpc::StatusCode::NOT_FOUND, "t");
  Load("t", 5);
  ExpectRefusedFlight(Get(ticket, &ids), grpc::StatusCode::NOT_FOUND, "has been dropped");
  EXPECT_TRUE(ids.empty());
  Serve();
  ExpectRefusedFlight(Get(ticket, &ids), grpc::StatusCode::INVALID_ARGUMENT, "another server");
}

TEST_F(FlightServiceTest, ListFlightsGivesTickets) {
  Load("a", 10);
  Load("b", 20, ObjectKind::kIndex);
  Load("h", 20, ObjectKind::kHash);
  grpc::ClientContext context;
  auto reader = stub_->ListFlights(&context, {});
  std::vector<protocol::FlightInfo> infos(3);
  ASSERT_TRUE(reader->Read(&infos[0]));
  ASSERT_TRUE(reader->Read(&infos[1]));
  EXPECT_FALSE(reader->Read(&infos[2]));
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(infos[0].flight_descriptor().path(0), "a");
  EXPECT_EQ(infos[1].flight_descriptor().path(0), "b");
  EXPECT_EQ(Get(infos[0]).size(), 10u);
  EXPECT_EQ(Get(infos[1]), UpTo(20));
}

TEST_F(FlightServiceTest, ActionsAreListed) {
  grpc::ClientContext list_context;
  auto actions = stub_->ListActions(&list_context, {});
  protocol::ActionType action;
  for (const char* type : {"CancelFlightInfo", "RenewFlightEndpoint"}) {
    ASSERT_TRUE(actions->Read(&action));
    EXPECT_EQ(action.type(), type);
  }
  EXPECT_FALSE(actions->Read(&action));
  EXPECT_TRUE(actions->Finish().ok());
}

TEST_F(FlightServiceTest, StreamWithoutRoomInTheBudgetIsRefused) {
  config_.in_flight_bytes_max = 1 << 20;
  Serve();
  Load("t", 10);
  std::vector<uint64_t> ids;
  ExpectRefusedFlight(Get(InfoOf(Path("t")).endpoint(0).ticket(), &ids),
                      grpc::StatusCode::INVALID_ARGUMENT, "in_flight_bytes_max");
  // A few rows have room.
  EXPECT_EQ(Sorted(Get(InfoOf(Command(R"({"object": "t", "limit": 10})")))), UpTo(10));
}

// A client that goes away, and one that does not read: their scans end, and their snapshot after
// its time.
TEST_F(FlightServiceTest, ScansOfClientsThatDoNotReadEnd) {
  config_.stall_ms_max = 200;
  config_.flight_snapshot_ms = 1000;
  Serve();
  // A window that does not grow with what the connection has carried before.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  const auto stub = protocol::FlightService::NewStub(
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments));
  Load("t", 1'000'000);
  const protocol::FlightDescriptor asked =
      Command(R"({"object": "t", "shares": 1, "limit": 1000000})");  // one endpoint
  const protocol::Ticket ticket = InfoOf(asked).endpoint(0).ticket();
  protocol::FlightData data;
  {
    grpc::ClientContext context;
    auto reader = stub->DoGet(&context, ticket);
    ASSERT_TRUE(reader->Read(&data));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  grpc::ClientContext context;
  auto reader = stub->DoGet(&context, ticket);
  ASSERT_TRUE(reader->Read(&data));
  for (int i = 0; i < 1000 && engine_->Stats().scans_open > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(engine_->Stats().scans_open, 0u);
  EXPECT_EQ(engine_->Stats().scan_chunks_in_use, 0u);
  while (reader->Read(&data)) {
  }
  ExpectRefusedFlight(reader->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED, "stall_ms_max");
  std::vector<uint64_t> ids;
  EXPECT_TRUE(Get(ticket, &ids).ok()) << "its snapshot is kept for the time that was promised";
  EXPECT_EQ(ids.size(), 1'000'000u);
  std::this_thread::sleep_for(std::chrono::seconds(3));  // a sweep may be late
  ExpectRefusedFlight(Get(ticket, &ids), grpc::StatusCode::FAILED_PRECONDITION,
                      "call GetFlightInfo again");
}

}  // namespace
}  // namespace eris::server
