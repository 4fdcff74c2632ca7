// A gRPC server on a free loopback port over a FakeEngine, and a client's stubs for it.
#ifndef ERIS_TESTS_UNIT_SERVER_RPC_FIXTURE_H_
#define ERIS_TESTS_UNIT_SERVER_RPC_FIXTURE_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "eris/v1/admin.grpc.pb.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"
#include "eris/v1/queries.grpc.pb.h"
#include "gtest/gtest.h"
#include "server/rpc_server.h"
#include "tests/unit/server/fake_engine.h"
#include "tests/unit/server/io_thread.h"
#include "wire/columns.h"

namespace eris::server {

class RpcTest : public ::testing::Test {
 protected:
  explicit RpcTest(ServerConfig config_in = {}) : config(std::move(config_in)) {
    config.listen = "127.0.0.1:0";
    config.version = "of tests";
    auto started = RpcServer::Start(config, &engine, io_thread.io());
    EXPECT_TRUE(started.ok()) << started.status();
    server = *std::move(started);
    channel = NewChannel();
    data = v1::Data::NewStub(channel);
    queries = v1::Queries::NewStub(channel);
    catalog = v1::Catalog::NewStub(channel);
    admin = v1::Admin::NewStub(channel);
    EXPECT_TRUE(engine.Create("orders", {}).ok());
  }

  std::shared_ptr<grpc::Channel> NewChannel() const {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    return grpc::CreateCustomChannel(server->address(), grpc::InsecureChannelCredentials(),
                                     arguments);
  }

  template <class T>
  static void AddColumn(wire::Columns* columns, const std::vector<T>& elements) {
    constexpr v1::ColumnType kType = std::is_same_v<T, uint64_t>  ? v1::COLUMN_TYPE_UINT64
                                     : std::is_same_v<T, int64_t> ? v1::COLUMN_TYPE_INT64
                                     : std::is_same_v<T, double>  ? v1::COLUMN_TYPE_FLOAT64
                                                                  : v1::COLUMN_TYPE_DATE32;
    v1::Column* column = columns->Add();
    column->set_type(kType);
    column->set_data(elements.data(), elements.size() * sizeof(T));
  }
  template <class T = uint64_t>
  static std::vector<T> Elements(const v1::Column& column) {
    std::vector<T> elements(column.data().size() / sizeof(T));
    std::memcpy(elements.data(), column.data().data(), elements.size() * sizeof(T));
    return elements;
  }
  static v1::LookupRequest LookupOf(const std::vector<uint64_t>& keys) {
    v1::LookupRequest request;
    request.set_object("orders");
    AddColumn(request.mutable_keys(), keys);
    return request;
  }
  static v1::WriteRequest WriteOf(v1::WriteMode mode, const std::vector<uint64_t>& keys,
                                  const std::vector<uint64_t>& values,
                                  const std::vector<uint64_t>& expected = {}) {
    v1::WriteRequest request;
    request.set_object("orders");
    request.set_mode(mode);
    AddColumn(request.mutable_columns(), keys);
    if (mode != v1::WRITE_MODE_ERASE) AddColumn(request.mutable_columns(), values);
    if (!expected.empty()) AddColumn(request.mutable_expected(), expected);
    return request;
  }
  static v1::WriteRequest UpsertOf(const std::vector<uint64_t>& keys,
                                   const std::vector<uint64_t>& values) {
    return WriteOf(v1::WRITE_MODE_UPSERT, keys, values);
  }
  static v1::WriteRequest EraseOf(const std::vector<uint64_t>& keys) {
    return WriteOf(v1::WRITE_MODE_ERASE, keys, {});
  }

  grpc::Status Lookup(const v1::LookupRequest& request, v1::LookupResponse* response = nullptr) {
    v1::LookupResponse unused;
    grpc::ClientContext context;
    return data->Lookup(&context, request, response == nullptr ? &unused : response);
  }
  grpc::Status Write(const v1::WriteRequest& request, v1::WriteResponse* response = nullptr) {
    v1::WriteResponse unused;
    grpc::ClientContext context;
    return data->Write(&context, request, response == nullptr ? &unused : response);
  }
  grpc::Status Scan(const v1::ScanRequest& request, std::vector<v1::ScanResponse>* chunks) {
    grpc::ClientContext context;
    auto reader = data->Scan(&context, request);
    v1::ScanResponse chunk;
    while (reader->Read(&chunk)) chunks->push_back(chunk);
    return reader->Finish();
  }
  std::vector<v1::ScanResponse> ScanAll(const v1::ScanRequest& request) {
    std::vector<v1::ScanResponse> chunks;
    const grpc::Status status = Scan(request, &chunks);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return chunks;
  }
  grpc::Status Aggregate(const v1::AggregateRequest& request, v1::AggregateResponse* response) {
    grpc::ClientContext context;
    return data->Aggregate(&context, request, response);
  }
  // Rows 0, 10, 20, ... with their key plus one as value.
  void Load(uint64_t rows) {
    std::vector<uint64_t> keys, values;
    for (uint64_t i = 0; i < rows; ++i) {
      keys.push_back(10 * i);
      values.push_back(10 * i + 1);
    }
    const grpc::Status status = Write(UpsertOf(keys, values));
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  ServerConfig config;
  IoThread io_thread;
  FakeEngine engine;
  std::unique_ptr<RpcServer> server;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::Data::Stub> data;
  std::unique_ptr<v1::Queries::Stub> queries;
  std::unique_ptr<v1::Catalog::Stub> catalog;
  std::unique_ptr<v1::Admin::Stub> admin;
};

}  // namespace eris::server

#endif  // ERIS_TESTS_UNIT_SERVER_RPC_FIXTURE_H_
