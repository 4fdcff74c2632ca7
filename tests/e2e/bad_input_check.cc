// Requests that a server must refuse with a clear status, leaving everything as it was. Each test
// compares the whole contents before and after. Needs two running servers: ERIS_SERVER and
// ERIS_OTHER_SERVER; bad_input_test.py starts them.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "clients/eris_client.h"
#include "eris/v1/catalog.grpc.pb.h"
#include "eris/v1/data.grpc.pb.h"

namespace eris {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

constexpr char kObject[] = "bad_input";
constexpr uint64_t kKeys = 200'000;  // more than one scan chunk

std::shared_ptr<grpc::Channel> ChannelTo(const char* variable) {
  const char* address = std::getenv(variable);
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);
  return grpc::CreateCustomChannel(address == nullptr ? "" : address,
                                   grpc::InsecureChannelCredentials(), arguments);
}

v1::Column ColumnOf(const std::vector<uint64_t>& elements) {
  v1::Column column;
  column.set_type(v1::COLUMN_TYPE_UINT64);
  column.set_data(elements.data(), elements.size() * sizeof(uint64_t));
  return column;
}

class BadInputTest : public testing::Test {
 protected:
  using Contents = std::pair<std::vector<std::string>, std::vector<std::pair<uint64_t, uint64_t>>>;

  void SetUp() override {
    for (const char* variable : {"ERIS_SERVER", "ERIS_OTHER_SERVER"}) {
      auto connected = client::Client::Connect({.server = std::getenv(variable)});
      ASSERT_TRUE(connected.ok()) << connected.status();
      client_ = *std::move(connected);
      if (client_->Get(kObject).ok()) continue;
      const absl::StatusOr<ObjectInfo> object = client_->Create(kObject, {.expected = {0, kKeys}});
      ASSERT_TRUE(object.ok()) << object.status();
      std::vector<uint64_t> keys, values;
      for (uint64_t key = 0; key < kKeys; ++key) {
        keys.push_back(key);
        values.push_back(key * 3);
      }
      ASSERT_TRUE(client_->Write(*object, WriteMode::kUpsert, keys, values).ok());
    }
    client_ = *client::Client::Connect({.server = std::getenv("ERIS_SERVER")});
    data_ = v1::Data::NewStub(ChannelTo("ERIS_SERVER"));
    other_data_ = v1::Data::NewStub(ChannelTo("ERIS_OTHER_SERVER"));
    catalog_ = v1::Catalog::NewStub(ChannelTo("ERIS_SERVER"));
    before_ = Read();
    ASSERT_EQ(before_.second.size(), kKeys);
  }
  void TearDown() override { EXPECT_TRUE(Read() == before_) << "the request changed something"; }

  Contents Read() {
    Contents contents;
    const absl::StatusOr<std::vector<ObjectInfo>> objects = client_->List();
    EXPECT_TRUE(objects.ok()) << objects.status();
    if (!objects.ok()) return contents;
    for (const ObjectInfo& info : *objects) contents.first.push_back(info.name);
    client::OwnedRows rows;
    const auto reader = client_->Scan({.name = kObject, .schema = KeyValueSchema()}, {});
    for (;;) {
      const auto more = reader->Next(rows);
      EXPECT_TRUE(more.ok()) << more.status();
      if (!more.ok() || !*more) return contents;
      for (size_t i = 0; i < rows.rows; ++i) {
        contents.second.emplace_back(rows.Uint64s(0)[i], rows.Uint64s(1)[i]);
      }
    }
  }

  static void ExpectStatus(const grpc::Status& status, StatusCode code, const std::string& text) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_THAT(status.error_message(), HasSubstr(text));
  }

  grpc::Status Lookup(const std::string& object, const v1::Column& keys) {
    grpc::ClientContext context;
    v1::LookupRequest request;
    request.set_object(object);
    *request.add_keys() = keys;
    v1::LookupResponse response;
    return data_->Lookup(&context, request, &response);
  }
  grpc::Status Write(v1::WriteMode mode, const std::string& object,
                     const std::vector<v1::Column>& columns,
                     const std::vector<v1::Column>& expected = {}) {
    grpc::ClientContext context;
    v1::WriteRequest request;
    request.set_object(object);
    request.set_mode(mode);
    request.mutable_columns()->Assign(columns.begin(), columns.end());
    request.mutable_expected()->Assign(expected.begin(), expected.end());
    v1::WriteResponse response;
    return data_->Write(&context, request, &response);
  }
  grpc::Status Upsert(const std::string& object, const v1::Column& keys, const v1::Column& values) {
    return Write(v1::WRITE_MODE_UPSERT, object, {keys, values});
  }
  grpc::Status Erase(const std::string& object, const v1::Column& keys) {
    return Write(v1::WRITE_MODE_ERASE, object, {keys});
  }
  // The status of the scan; the resume token of its first chunk, if any.
  grpc::Status Scan(const v1::ScanRequest& request, std::string* token = nullptr,
                    v1::Data::Stub* stub = nullptr) {
    grpc::ClientContext context;
    const auto reader = (stub == nullptr ? data_.get() : stub)->Scan(&context, request);
    v1::ScanResponse response;
    while (reader->Read(&response)) {
      if (token != nullptr && token->empty()) *token = response.resume_token();
    }
    return reader->Finish();
  }
  grpc::Status Create(const v1::CreateObjectRequest& request) {
    grpc::ClientContext context;
    v1::CreateObjectResponse response;
    return catalog_->CreateObject(&context, request, &response);
  }
  std::string TokenOf(const std::string& object, v1::Data::Stub* stub = nullptr) {
    v1::ScanRequest request;
    request.set_object(object);
    std::string token;
    EXPECT_TRUE(Scan(request, &token, stub).ok());
    EXPECT_FALSE(token.empty());
    return token;
  }

  std::unique_ptr<client::Client> client_;
  std::unique_ptr<v1::Data::Stub> data_;
  std::unique_ptr<v1::Data::Stub> other_data_;
  std::unique_ptr<v1::Catalog::Stub> catalog_;
  Contents before_;
};

TEST_F(BadInputTest, UnknownObjectIsNotFound) {
  ExpectStatus(Lookup("nosuch", ColumnOf({1})), StatusCode::NOT_FOUND, "nosuch");
  ExpectStatus(Upsert("nosuch", ColumnOf({1}), ColumnOf({1})), StatusCode::NOT_FOUND, "nosuch");
  ExpectStatus(Erase("nosuch", ColumnOf({1})), StatusCode::NOT_FOUND, "nosuch");
  v1::ScanRequest scan;
  scan.set_object("nosuch");
  ExpectStatus(Scan(scan), StatusCode::NOT_FOUND, "nosuch");
  EXPECT_TRUE(absl::IsNotFound(client_->Drop("nosuch")));
  EXPECT_TRUE(absl::IsNotFound(client_->Get("nosuch").status()));
}

TEST_F(BadInputTest, ExistingNameIsAlreadyExists) {
  v1::CreateObjectRequest request;
  request.set_name(kObject);
  ExpectStatus(Create(request), StatusCode::ALREADY_EXISTS, kObject);
}

TEST_F(BadInputTest, BadNamesRangesAndSplitPointsAreRefused) {
  v1::CreateObjectRequest request;
  ExpectStatus(Create(request), StatusCode::INVALID_ARGUMENT, "name");
  request.set_name(std::string(kObjectNameBytesMax + 1, 'n'));
  ExpectStatus(Create(request), StatusCode::INVALID_ARGUMENT, "255");
  request.set_name("new");
  request.mutable_expected()->set_lo(10);
  request.mutable_expected()->set_hi(5);
  EXPECT_EQ(Create(request).error_code(), StatusCode::INVALID_ARGUMENT);
  request.clear_expected();
  request.add_split_keys()->set_u64(7);
  request.add_split_keys()->set_u64(7);
  ExpectStatus(Create(request), StatusCode::INVALID_ARGUMENT, "7");
}

TEST_F(BadInputTest, EmptyBatchIsRefused) {
  EXPECT_EQ(Lookup(kObject, ColumnOf({})).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Upsert(kObject, ColumnOf({}), ColumnOf({})).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Erase(kObject, ColumnOf({})).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(BadInputTest, BatchOverTheLimitIsRefusedAndNamesTheLimit) {
  const v1::Column keys = ColumnOf(std::vector<uint64_t>(kBatchKeysMax + 1, 1));
  ExpectStatus(Lookup(kObject, keys), StatusCode::INVALID_ARGUMENT, std::to_string(kBatchKeysMax));
  ExpectStatus(Upsert(kObject, keys, keys), StatusCode::INVALID_ARGUMENT,
               std::to_string(kBatchKeysMax));
  ExpectStatus(Erase(kObject, keys), StatusCode::INVALID_ARGUMENT, std::to_string(kBatchKeysMax));
}

TEST_F(BadInputTest, LargestBatchIsAccepted) {
  const v1::Column keys = ColumnOf(std::vector<uint64_t>(kBatchKeysMax, kKeys + 1));
  const grpc::Status status = Erase(kObject, keys);  // of a key that is not there
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(BadInputTest, KeysAndValuesOfUnequalLengthAreRefused) {
  ExpectStatus(Upsert(kObject, ColumnOf({1, 2, 3}), ColumnOf({1, 2})), StatusCode::INVALID_ARGUMENT,
               "3");
}

TEST_F(BadInputTest, WriteOfAWrongShapeIsRefusedWithTheNumbers) {
  const v1::Column one = ColumnOf({1}), two = ColumnOf({1, 2});
  const auto refused = [&](v1::WriteMode mode, const std::vector<v1::Column>& columns,
                           const std::vector<v1::Column>& expected, const std::string& text) {
    ExpectStatus(Write(mode, kObject, columns, expected), StatusCode::INVALID_ARGUMENT, text);
  };
  refused(v1::WRITE_MODE_UNSPECIFIED, {one, one}, {}, "mode is 0, must be 1 to 7");
  refused(static_cast<v1::WriteMode>(99), {one, one}, {}, "mode is 99");
  refused(v1::WRITE_MODE_ADD, {two, one}, {}, "must be 16");
  refused(v1::WRITE_MODE_COMPARE_AND_SET, {two, two}, {one},
          "columns have 2 rows, expected 1: must be equal");
  refused(v1::WRITE_MODE_COMPARE_AND_SET, {two, two}, {}, "expected: 0 columns, must be 1");
  refused(v1::WRITE_MODE_INSERT_IF_ABSENT, {two, two}, {two}, "must be unset");
  refused(v1::WRITE_MODE_ERASE, {two, two}, {}, "columns: 2 columns, must be 1");
  refused(v1::WRITE_MODE_UPSERT, {two}, {}, "columns: 1 columns, must be 2");
  EXPECT_EQ(Write(v1::WRITE_MODE_APPEND, kObject, {one, one}).error_code(),
            StatusCode::FAILED_PRECONDITION);
}

TEST_F(BadInputTest, ColumnThatIsNoMultipleOfEightBytesIsRefused) {
  v1::Column odd = ColumnOf({1, 2});
  odd.mutable_data()->push_back('x');
  ExpectStatus(Lookup(kObject, odd), StatusCode::INVALID_ARGUMENT, "17");
  ExpectStatus(Upsert(kObject, odd, odd), StatusCode::INVALID_ARGUMENT, "17");
  ExpectStatus(Erase(kObject, odd), StatusCode::INVALID_ARGUMENT, "17");
}

TEST_F(BadInputTest, ColumnWithoutTypeOrWithMissingKeysIsRefused) {
  v1::Column untyped = ColumnOf({1});
  untyped.clear_type();
  EXPECT_EQ(Lookup(kObject, untyped).error_code(), StatusCode::INVALID_ARGUMENT);
  v1::Column missing = ColumnOf({1, 2});
  missing.set_validity(std::string(1, '\x01'));
  EXPECT_EQ(Upsert(kObject, missing, ColumnOf({1, 2})).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(BadInputTest, KeysAndBoundsOfAnotherTypeAreRefused) {
  for (const v1::ColumnType type :
       {v1::COLUMN_TYPE_INT64, v1::COLUMN_TYPE_FLOAT64, v1::COLUMN_TYPE_DATE32}) {
    v1::Column keys = ColumnOf({1, 2});
    keys.set_type(type);
    ExpectStatus(Upsert(kObject, keys, ColumnOf({1, 2})), StatusCode::INVALID_ARGUMENT, "UINT64");
    EXPECT_EQ(Erase(kObject, keys).error_code(), StatusCode::INVALID_ARGUMENT);
  }
  v1::ScanRequest request;
  request.set_object(kObject);
  request.mutable_query()->mutable_range()->mutable_start()->set_i64(1);
  ExpectStatus(Scan(request), StatusCode::INVALID_ARGUMENT, "range.start: i64 is set, must be u64");
}

TEST_F(BadInputTest, InvertedRangeIsRefused) {
  v1::ScanRequest request;
  request.set_object(kObject);
  request.mutable_query()->mutable_range()->set_lo(10);
  request.mutable_query()->mutable_range()->set_hi(9);
  EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(BadInputTest, CorruptResumeTokensAreRefusedWhicheverByteIsWrong) {
  const std::string token = TokenOf(kObject);
  v1::ScanRequest request;
  request.set_object(kObject);
  for (size_t i = 0; i < token.size(); ++i) {
    std::string corrupt = token;
    corrupt[i] = static_cast<char>(corrupt[i] ^ 0x10);
    request.set_resume_token(corrupt);
    EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT) << "byte " << i;
  }
  for (const std::string& wrong :
       {token.substr(1), token.substr(0, token.size() - 1), token + "x", std::string("x")}) {
    request.set_resume_token(wrong);
    EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT);
  }
  request.set_resume_token(token);
  EXPECT_TRUE(Scan(request).ok());
  request.mutable_query()->set_limit(5);  // what is still wanted
  EXPECT_TRUE(Scan(request).ok());
  request.mutable_query()->mutable_range()->set_hi(5);
  EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT) << "of another query";
  request.mutable_query()->clear_range();
  request.set_snapshot(1);
  EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT) << "beside a snapshot";
}

TEST_F(BadInputTest, ForeignResumeTokensAreRefused) {
  v1::ScanRequest request;
  request.set_object(kObject);
  request.set_resume_token(TokenOf(kObject, other_data_.get()));
  EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT) << "of another server";

  ASSERT_TRUE(client_->Create("second", {}).ok());
  request.set_object("second");
  request.set_resume_token(TokenOf(kObject));
  EXPECT_EQ(Scan(request).error_code(), StatusCode::INVALID_ARGUMENT) << "of another object";
  ASSERT_TRUE(client_->Drop("second").ok());
}

TEST_F(BadInputTest, BadRequestInAStreamHasItsStatusAndTheStreamGoesOn) {
  grpc::ClientContext context;
  const auto stream = data_->LookupStream(&context);
  v1::LookupRequest request;
  request.set_object("nosuch");
  *request.add_keys() = ColumnOf({1});
  ASSERT_TRUE(stream->Write(request));
  request.set_object(kObject);
  *request.mutable_keys(0) = ColumnOf({});
  ASSERT_TRUE(stream->Write(request));
  *request.mutable_keys(0) = ColumnOf({2});
  ASSERT_TRUE(stream->Write(request));
  stream->WritesDone();
  std::vector<int> codes;
  v1::LookupStreamResponse response;
  while (stream->Read(&response)) codes.push_back(response.status().code());
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(codes, (std::vector<int>{StatusCode::NOT_FOUND, StatusCode::INVALID_ARGUMENT,
                                     StatusCode::OK}));
}

}  // namespace
}  // namespace eris
