// Byte strings over real gRPC in process, with a real engine behind: columns, limits, answers that
// do not fit, and what is refused.
#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <vector>

#include "clients/bytes_columns.h"
#include "eris/engine.h"
#include "eris/key_encoding.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/rpc_server.h"
#include "tests/unit/server/io_thread.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;
using Strings = std::vector<std::string>;

class BytesServiceTest : public ::testing::Test {
 protected:
  BytesServiceTest() {
    Options options;
    options.topology = "numa:1 core:2 pu:1";
    options.aeu_count = 2;
    options.memory_limit_bytes = uint64_t{1} << 30;
    engine_ = *Engine::Open(options);
    config_.listen = "127.0.0.1:0";
    config_.receive_message_bytes_max = 64 << 20;
    server_ = *RpcServer::Start(config_, engine_.get(), io_thread_.io());
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    arguments.SetMaxSendMessageSize(-1);
    const auto channel = grpc::CreateCustomChannel(server_->address(),
                                                   grpc::InsecureChannelCredentials(), arguments);
    data_ = v1::Data::NewStub(channel);
    catalog_ = v1::Catalog::NewStub(channel);
    v1::CreateObjectRequest request;
    request.set_name("b");
    request.set_value_type(v1::VALUE_TYPE_BYTES);
    request.mutable_expected()->set_hi(1000);
    v1::CreateObjectResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(catalog_->CreateObject(&context, request, &response).ok());
    EXPECT_EQ(response.object().value_type(), v1::VALUE_TYPE_BYTES);
    EXPECT_TRUE(engine_->Create("u", {}).ok());
  }
  ~BytesServiceTest() override { server_.reset(); }

  static v1::Column Keys(const std::vector<uint64_t>& keys) {
    v1::Column column;
    client::ToColumn(keys, column);
    return column;
  }
  static v1::Column Bytes(const Strings& strings) {
    v1::Column column;
    const std::vector<absl::string_view> views(strings.begin(), strings.end());
    EXPECT_TRUE(client::ToBytesColumn(views, column).ok());
    return column;
  }
  grpc::Status Upsert(const std::string& object, const std::vector<uint64_t>& keys,
                      const v1::Column& values, v1::UpsertResponse* response = nullptr) {
    v1::UpsertRequest request;
    request.set_object(object);
    *request.mutable_keys() = Keys(keys);
    *request.mutable_values() = values;
    v1::UpsertResponse unused;
    grpc::ClientContext context;
    return data_->Upsert(&context, request, response == nullptr ? &unused : response);
  }
  grpc::Status Lookup(const std::vector<uint64_t>& keys, client::BytesLookupResult& result,
                      uint64_t values_bytes_max = 0) {
    v1::LookupRequest request;
    request.set_object("b");
    *request.mutable_keys() = Keys(keys);
    request.set_values_bytes_max(values_bytes_max);
    v1::LookupResponse response;
    grpc::ClientContext context;
    const grpc::Status status = data_->Lookup(&context, request, &response);
    if (status.ok()) {
      EXPECT_EQ(client::TakeBytesLookupResult(std::move(response), keys.size(), result),
                absl::OkStatus());
    }
    return status;
  }

  IoThread io_thread_;
  ServerConfig config_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<RpcServer> server_;
  std::unique_ptr<v1::Data::Stub> data_;
  std::unique_ptr<v1::Catalog::Stub> catalog_;
};

void ExpectRefused(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
  EXPECT_EQ(status.error_code(), code) << status.error_message();
  EXPECT_THAT(status.error_message(), HasSubstr(text));
}

TEST_F(BytesServiceTest, StringsComeBackByPosition) {
  const Strings strings{"", "seven b", std::string("\0\xff", 2), std::string(5000, 'x')};
  v1::UpsertResponse upserted;
  ASSERT_TRUE(Upsert("b", {1, 2, 3, 900}, Bytes(strings), &upserted).ok());
  EXPECT_EQ(upserted.existed(), std::string(1, '\0'));
  client::BytesLookupResult result;
  ASSERT_TRUE(Lookup({900, 5, 3, 2, 1}, result).ok());
  EXPECT_EQ(result.values[0], strings[3]);
  EXPECT_EQ(result.values[1], "");
  EXPECT_EQ(result.values[2], strings[2]);
  EXPECT_EQ(result.values[3], strings[1]);
  EXPECT_EQ(result.values[4], "");
  EXPECT_TRUE(result.found[4]);
  EXPECT_FALSE(result.found[1]);
  EXPECT_EQ(result.executed.Count(), 5u);
}

TEST_F(BytesServiceTest, ConditionalWritesAnswerTheStringsBefore) {
  ASSERT_TRUE(Upsert("b", {1, 2}, Bytes({"one", "a longer string"})).ok());
  v1::WriteRequest request;
  request.set_object("b");
  request.set_mode(v1::WRITE_MODE_COMPARE_AND_SET);
  *request.mutable_keys() = Keys({1, 2, 3});
  *request.mutable_values() = Bytes({"1", "2", "3"});
  *request.mutable_expected() = Bytes({"none", "a longer string", ""});
  v1::WriteResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(data_->Write(&context, request, &response).ok());
  client::BytesWriteResult result;
  ASSERT_TRUE(client::TakeBytesWriteResult(response, 3, result).ok());
  EXPECT_EQ(result.values[0], "one");
  EXPECT_EQ(result.values[1], "a longer string");
  EXPECT_EQ(result.values[2], "");
  EXPECT_FALSE(result.applied[0]);
  EXPECT_TRUE(result.applied[1]);
  EXPECT_FALSE(result.existed[2]);
  request.set_mode(v1::WRITE_MODE_ADD);
  request.clear_expected();
  grpc::ClientContext again;
  ExpectRefused(data_->Write(&again, request, &response), grpc::StatusCode::INVALID_ARGUMENT,
                "cannot be added");
}

TEST_F(BytesServiceTest, ScansSendTheStringsInMessagesOfTwoMegabytes) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 40; ++key) {
    keys.push_back(key * 20);
    const size_t size = key % 5 == 0 ? kValueBytesMax : key * 1000;
    ASSERT_TRUE(Upsert("b", {key * 20}, Bytes({std::string(size, 'v')})).ok());
  }
  v1::ScanRequest request;
  request.set_object("b");
  grpc::ClientContext context;
  const auto scan = data_->Scan(&context, request);
  v1::ScanResponse chunk;
  uint64_t row = 0;
  std::string token;
  while (scan->Read(&chunk)) {
    EXPECT_LE(chunk.ByteSizeLong(), 2u << 20);
    BytesColumn strings;
    const size_t rows = chunk.keys().data().size() / 8;
    ASSERT_TRUE(client::FromBytesColumn(*chunk.mutable_values(), rows, strings).ok());
    for (size_t i = 0; i < rows; ++i, ++row) {
      EXPECT_EQ(strings[i].size(), row % 5 == 0 ? kValueBytesMax : row * 1000);
    }
    if (token.empty()) token = chunk.resume_token();
  }
  EXPECT_TRUE(scan->Finish().ok());
  EXPECT_EQ(row, 40u);
  v1::ScanRequest resume;
  resume.set_object("b");
  resume.set_resume_token(token);
  grpc::ClientContext resume_context;
  const auto rest = data_->Scan(&resume_context, resume);
  ASSERT_TRUE(rest->Read(&chunk));
  EXPECT_EQ(chunk.values().type(), v1::COLUMN_TYPE_BYTES);
  while (rest->Read(&chunk)) {
  }
  EXPECT_TRUE(rest->Finish().ok());
}

TEST_F(BytesServiceTest, KeysOfByteStringsMayBeNegative) {
  v1::CreateObjectRequest create;
  create.set_name("i");
  create.set_value_type(v1::VALUE_TYPE_BYTES);
  create.set_key_type(v1::KEY_TYPE_INT64);
  create.mutable_expected()->mutable_start()->set_i64(-100);
  create.mutable_expected()->mutable_end()->set_i64(100);
  v1::CreateObjectResponse created;
  grpc::ClientContext create_context;
  const grpc::Status made = catalog_->CreateObject(&create_context, create, &created);
  ASSERT_TRUE(made.ok()) << made.error_message();

  std::vector<uint64_t> keys;
  for (const int64_t number : {-50, -7, 0, 42}) keys.push_back(KeyFromInt64(number));
  const Strings strings{"fifty", std::string(400, '7'), "", "42"};
  v1::UpsertRequest upsert;
  upsert.set_object("i");
  ASSERT_TRUE(client::ToKeyColumn("keys", ColumnType::kInt64, keys, *upsert.mutable_keys()).ok());
  *upsert.mutable_values() = Bytes(strings);
  v1::UpsertResponse upserted;
  grpc::ClientContext upsert_context;
  const grpc::Status written = data_->Upsert(&upsert_context, upsert, &upserted);
  ASSERT_TRUE(written.ok()) << written.error_message();
  ExpectRefused(Upsert("i", {1}, Bytes({"x"})), grpc::StatusCode::INVALID_ARGUMENT, "type");

  v1::LookupRequest lookup;
  lookup.set_object("i");
  *lookup.mutable_keys() = upsert.keys();
  v1::LookupResponse looked_up;
  grpc::ClientContext lookup_context;
  ASSERT_TRUE(data_->Lookup(&lookup_context, lookup, &looked_up).ok());
  client::BytesLookupResult result;
  ASSERT_TRUE(client::TakeBytesLookupResult(looked_up, keys.size(), result).ok());
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(result.values[i], strings[i]);

  v1::ScanRequest request;
  request.set_object("i");
  request.set_direction(v1::SCAN_DIRECTION_BACKWARD);
  request.mutable_range()->mutable_end()->set_i64(1);
  grpc::ClientContext scan_context;
  const auto scan = data_->Scan(&scan_context, request);
  std::vector<uint64_t> scanned;
  Strings scanned_strings;
  for (v1::ScanResponse chunk; scan->Read(&chunk);) {
    EXPECT_EQ(chunk.keys().type(), v1::COLUMN_TYPE_INT64);
    std::vector<uint64_t> some;
    ASSERT_TRUE(client::FromKeyColumn(chunk.keys(), some).ok());
    BytesColumn column;
    ASSERT_TRUE(client::FromBytesColumn(*chunk.mutable_values(), some.size(), column).ok());
    for (size_t i = 0; i < some.size(); ++i) scanned_strings.emplace_back(column[i]);
    scanned.insert(scanned.end(), some.begin(), some.end());
  }
  EXPECT_TRUE(scan->Finish().ok());
  EXPECT_EQ(scanned, (std::vector<uint64_t>{keys[2], keys[1], keys[0]}));
  EXPECT_EQ(scanned_strings, (Strings{strings[2], strings[1], strings[0]}));

  v1::AggregateRequest aggregate;
  aggregate.set_object("i");
  aggregate.set_count_only(true);
  aggregate.mutable_range()->mutable_start()->set_i64(-7);
  v1::AggregateResponse counted;
  grpc::ClientContext count_context;
  ASSERT_TRUE(data_->Aggregate(&count_context, aggregate, &counted).ok());
  EXPECT_EQ(counted.count(), 3u);
}

TEST_F(BytesServiceTest, AHashOfByteStringsIsRefused) {
  v1::CreateObjectRequest request;
  request.set_name("h");
  request.set_kind(v1::OBJECT_KIND_HASH);
  request.set_value_type(v1::VALUE_TYPE_BYTES);
  v1::CreateObjectResponse response;
  grpc::ClientContext context;
  ExpectRefused(catalog_->CreateObject(&context, request, &response),
                grpc::StatusCode::INVALID_ARGUMENT, "kind is hash and value_type is bytes");
}

TEST_F(BytesServiceTest, StreamsCarryStringsToo) {
  grpc::ClientContext upsert_context;
  const auto upserts = data_->UpsertStream(&upsert_context);
  v1::UpsertRequest request;
  request.set_object("b");
  for (uint64_t key = 0; key < 50; ++key) {
    *request.mutable_keys() = Keys({key});
    *request.mutable_values() = Bytes({std::string(key * 100, 'k')});
    ASSERT_TRUE(upserts->Write(request));
  }
  upserts->WritesDone();
  v1::UpsertStreamResponse upserted;
  int answers = 0;
  while (upserts->Read(&upserted)) answers += upserted.status().code() == 0;
  EXPECT_TRUE(upserts->Finish().ok());
  EXPECT_EQ(answers, 50);
  grpc::ClientContext lookup_context;
  const auto lookups = data_->LookupStream(&lookup_context);
  v1::LookupRequest lookup;
  lookup.set_object("b");
  *lookup.mutable_keys() = Keys({49});
  ASSERT_TRUE(lookups->Write(lookup));
  lookups->WritesDone();
  v1::LookupStreamResponse found;
  ASSERT_TRUE(lookups->Read(&found));
  EXPECT_EQ(found.response().values().data(), std::string(4900, 'k'));
  EXPECT_TRUE(lookups->Finish().ok());
}

TEST_F(BytesServiceTest, AnswersThatDoNotFitSayWhichKeysWereLeftOut) {
  std::vector<uint64_t> keys;
  for (uint64_t key = 0; key < 20; ++key) {
    keys.push_back(key * 50);
    ASSERT_TRUE(Upsert("b", {key * 50}, Bytes({std::string(100'000, 'v')})).ok());
  }
  client::BytesLookupResult result;
  ASSERT_TRUE(Lookup(keys, result, 1'000'000).ok());
  EXPECT_EQ(result.executed.Count(), 9u);
  EXPECT_EQ(result.refusal.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_LE(result.values.data.size(), 1'000'000u);
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(result.values[i].size(), result.executed[i] ? 100'000u : 0u);
    EXPECT_EQ(result.found[i], result.executed[i]);
  }
  // None at all: the call itself is refused.
  ExpectRefused(Lookup(keys, result, 99'999), grpc::StatusCode::RESOURCE_EXHAUSTED, "99999");
}

TEST_F(BytesServiceTest, LimitsAreNamed) {
  ExpectRefused(Upsert("b", {7}, Bytes({std::string(kValueBytesMax + 1, 'x')})),
                grpc::StatusCode::INVALID_ARGUMENT, "value 0, of key 7, has 1048577 bytes");
  v1::Column too_many = Bytes(Strings(33, std::string(1'000'000, 'x')));
  std::vector<uint64_t> keys(33);
  for (uint64_t i = 0; i < 33; ++i) keys[i] = 100 + i;
  // One more byte for each: over the limit of the batch, under that of the value.
  too_many.mutable_data()->append(1'000'000, 'x');
  std::string& offsets = *too_many.mutable_offsets();
  const uint32_t end = 34'000'000;
  offsets.append(reinterpret_cast<const char*>(&end), sizeof end);
  keys.push_back(200);
  ExpectRefused(Upsert("b", keys, too_many), grpc::StatusCode::INVALID_ARGUMENT, "of key 200");
}

TEST_F(BytesServiceTest, ColumnsThatAreNotForTheObjectAreRefused) {
  ExpectRefused(Upsert("b", {1}, Keys({2})), grpc::StatusCode::FAILED_PRECONDITION,
                "values of object \"b\" are byte strings");
  ExpectRefused(Upsert("u", {1}, Bytes({"x"})), grpc::StatusCode::FAILED_PRECONDITION,
                "values of object \"u\" are u64");
  ExpectRefused(Upsert("b", {1, 2}, Bytes({"x"})), grpc::StatusCode::INVALID_ARGUMENT,
                "must be equal");
  v1::ScanRequest request;
  request.set_object("b");
  request.mutable_values()->set_lo(1);
  grpc::ClientContext context;
  const auto scan = data_->Scan(&context, request);
  v1::ScanResponse chunk;
  EXPECT_FALSE(scan->Read(&chunk));
  ExpectRefused(scan->Finish(), grpc::StatusCode::FAILED_PRECONDITION, "byte strings");
  v1::CreateObjectRequest create;
  create.set_name("x");
  create.set_value_type(static_cast<v1::ValueType>(9));
  v1::CreateObjectResponse created;
  grpc::ClientContext create_context;
  ExpectRefused(catalog_->CreateObject(&create_context, create, &created),
                grpc::StatusCode::INVALID_ARGUMENT, "value_type is 9");
}

TEST_F(BytesServiceTest, BrokenOffsetsAreRefused) {
  const auto offsets_of = [](const std::vector<uint32_t>& offsets) {
    return std::string(reinterpret_cast<const char*>(offsets.data()), offsets.size() * 4);
  };
  v1::Column column = Bytes({"abc"});
  const auto expect = [&](const std::string& offsets, const std::string& text) {
    column.set_offsets(offsets);
    ExpectRefused(Upsert("b", {1}, column), grpc::StatusCode::INVALID_ARGUMENT, text);
  };
  expect("", "no elements");
  expect("abc", "not a multiple of 4");
  expect(offsets_of({0}), "no elements");
  expect(offsets_of({1, 3}), "offset 0 is 1");
  expect(offsets_of({0, 2}), "the last offset is 2");
  expect(offsets_of({0, 4}), "the last offset is 4");
  expect(offsets_of({0, 9, 3}), "offset 1 is 9");
  expect(offsets_of({0, 2, 1, 3}), "offset 2 is 1");
  column.set_validity("\x01");
  expect(offsets_of({0, 3}), "validity");
  client::BytesLookupResult result;
  ASSERT_TRUE(Lookup({1}, result).ok());
  EXPECT_FALSE(result.found[0]);
}

class TightBytesServiceTest : public BytesServiceTest {
 protected:
  TightBytesServiceTest() {
    server_.reset();
    config_.in_flight_bytes_max = 8 << 20;
    config_.receive_message_bytes_max = 4 << 20;
    config_.stream_bytes_max = 4 << 20;
    auto server = RpcServer::Start(config_, engine_.get(), io_thread_.io());
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    data_ = v1::Data::NewStub(
        grpc::CreateChannel(server_->address(), grpc::InsecureChannelCredentials()));
  }
};

TEST_F(TightBytesServiceTest, AnswersCountInTheBudget) {
  std::vector<uint64_t> keys;
  const auto session = engine_->NewSession();
  const std::string value(1'000'000, 'v');
  for (uint64_t key = 0; key < 12; ++key) {
    keys.push_back(key);
    ASSERT_TRUE(session->UpsertBytes("b", {key}, {value}).ok());
  }
  client::BytesLookupResult result;
  ExpectRefused(Lookup(keys, result), grpc::StatusCode::RESOURCE_EXHAUSTED,
                "server.in_flight_bytes_max");
  EXPECT_TRUE(Lookup({1, 2}, result).ok());
}

}  // namespace
}  // namespace eris::server
