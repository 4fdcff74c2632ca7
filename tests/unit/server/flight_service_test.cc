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
#include "eris/v1/data.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
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
  constexpr size_t kHeadBytes = 46;  // flight_ticket.h
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

TEST_F(FlightServiceTest, IndexHasAnEndpointForEachRangeInOrder) {
  Load("o", 10'000, ObjectKind::kIndex);
  const protocol::FlightInfo info = InfoOf(Command(R"({"object": "o", "shares": 2})"));
  EXPECT_EQ(info.endpoint_size(), 2);
  EXPECT_EQ(info.total_records(), 10'000);
  EXPECT_TRUE(info.ordered());
  EXPECT_EQ(Get(info), UpTo(10'000));
  EXPECT_EQ(Get(InfoOf(Path("o"))), UpTo(10'000));
}

TEST_F(FlightServiceTest, LimitAndColumns) {
  Load("t", 10'000);
  const protocol::FlightInfo info =
      InfoOf(Command(R"({"object": "t", "columns": ["id"], "limit": 25})"));
  EXPECT_EQ(info.schema(),
            wire::FramedArrow(wire::ArrowSchema({.columns = {kColumns.columns[0]}})));
  EXPECT_EQ(Get(info).size(), 25u);
}

TEST_F(FlightServiceTest, RefusalsSayWhy) {
  Load("t", 10);
  protocol::FlightInfo info;
  ExpectRefusedFlight(InfoOf(Path("nothing"), &info), grpc::StatusCode::NOT_FOUND, "nothing");
  ExpectRefusedFlight(InfoOf(Command("{}"), &info), grpc::StatusCode::INVALID_ARGUMENT, "object");
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

TEST_F(FlightServiceTest, WhatIsNotThereIsUnimplemented) {
  grpc::ClientContext action_context, list_context;
  auto results = stub_->DoAction(&action_context, {});
  ExpectRefusedFlight(results->Finish(), grpc::StatusCode::UNIMPLEMENTED, "no actions");
  auto actions = stub_->ListActions(&list_context, {});
  protocol::ActionType action;
  EXPECT_FALSE(actions->Read(&action));
  EXPECT_TRUE(actions->Finish().ok());
}

TEST_F(FlightServiceTest, StreamWithoutRoomInTheBudgetIsRefused) {
  config_.in_flight_bytes_max = 1 << 20;
  Serve();
  Load("t", 10);
  std::vector<uint64_t> ids;
  ExpectRefusedFlight(Get(InfoOf(Path("t")).endpoint(0).ticket(), &ids),
                      grpc::StatusCode::RESOURCE_EXHAUSTED, "in_flight_bytes_max");
  // A few rows have room.
  EXPECT_EQ(Get(InfoOf(Command(R"({"object": "t", "limit": 10})"))), UpTo(10));
}

// A client that goes away, and one that does not read: their scans end.
TEST_F(FlightServiceTest, ScansOfClientsThatDoNotReadEnd) {
  config_.stall_ms_max = 200;
  Serve();
  // A window that does not grow with what the connection has carried before.
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  const auto stub = protocol::FlightService::NewStub(
      grpc::CreateCustomChannel(server_->address(), grpc::InsecureChannelCredentials(), arguments));
  Load("t", 1'000'000);
  const protocol::Ticket ticket = InfoOf(Path("t")).endpoint(0).ticket();
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
  while (reader->Read(&data)) {
  }
  ExpectRefusedFlight(reader->Finish(), grpc::StatusCode::RESOURCE_EXHAUSTED, "stall_ms_max");
}

}  // namespace
}  // namespace eris::server
