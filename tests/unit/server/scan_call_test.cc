#include "server/data/scan_call.h"

#include <algorithm>
#include <functional>

#include "gmock/gmock.h"
#include "tests/unit/server/rpc_fixture.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

class ScanCallTest : public RpcTest {
 protected:
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
      for (uint64_t key : Elements(chunk.keys())) keys.push_back(key);
    }
    return keys;
  }
  static std::vector<uint64_t> Tens(uint64_t begin, uint64_t end) {
    std::vector<uint64_t> keys;
    for (uint64_t i = begin; i < end; ++i) keys.push_back(10 * i);
    return keys;
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
  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(All(), &chunks).ok());
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(KeysOf(chunks), Tens(0, 2500));
  EXPECT_EQ(Elements(chunks[0].values())[1], 11u);
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
  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(All(), &chunks).ok());
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_LE(chunks[0].ByteSizeLong(), ScanCall::kMessageBytesMax);
}

TEST_F(ScanCallTest, RangeAndLimitBoundTheRows) {
  Load(2500);
  v1::ScanRequest request = All();
  request.mutable_range()->set_lo(95);
  request.mutable_range()->set_hi(200);
  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(request, &chunks).ok());
  EXPECT_EQ(KeysOf(chunks), Tens(10, 20));

  request.set_limit(3);
  chunks.clear();
  ASSERT_TRUE(Scan(request, &chunks).ok());
  EXPECT_EQ(KeysOf(chunks), Tens(10, 13));
  EXPECT_TRUE(chunks.back().resume_token().empty());

  request.set_limit(1'000'000);
  chunks.clear();
  ASSERT_TRUE(Scan(request, &chunks).ok());
  EXPECT_EQ(KeysOf(chunks), Tens(10, 20));
}

TEST_F(ScanCallTest, EmptyRangeIsAStreamWithoutChunks) {
  Load(10);
  v1::ScanRequest request = All();
  request.mutable_range()->set_lo(5);
  request.mutable_range()->set_hi(5);
  std::vector<v1::ScanResponse> chunks;
  EXPECT_TRUE(Scan(request, &chunks).ok());
  EXPECT_TRUE(chunks.empty());
}

TEST_F(ScanCallTest, EachTokenGoesOnBehindItsChunk) {
  Load(2500);
  v1::ScanRequest request = All();
  request.set_limit(2200);
  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(request, &chunks).ok());
  ASSERT_EQ(chunks.size(), 3u);
  std::vector<v1::ScanResponse> rest;
  ASSERT_TRUE(Scan(From(chunks[0].resume_token()), &rest).ok());
  EXPECT_EQ(KeysOf(rest), Tens(1000, 2200));
  EXPECT_TRUE(rest[0].new_snapshot());
  EXPECT_FALSE(rest[1].new_snapshot());
  EXPECT_TRUE(rest[1].resume_token().empty());
}

TEST_F(ScanCallTest, BackwardFilteredAndOfKeysOnlyAlsoAcrossTokens) {
  Load(2500);  // values 1, 11, 21, ...
  v1::ScanRequest request = All();
  request.set_direction(v1::SCAN_DIRECTION_BACKWARD);
  request.mutable_values()->set_lo(101);
  request.mutable_values()->set_last(20'000);
  request.set_keys_only(true);
  request.set_limit(1700);
  std::vector<uint64_t> expected = Tens(10, 2000);
  std::reverse(expected.begin(), expected.end());
  expected.resize(1700);
  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(request, &chunks).ok());
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(KeysOf(chunks), expected);
  EXPECT_FALSE(chunks[0].has_values());
  std::vector<v1::ScanResponse> rest;
  ASSERT_TRUE(Scan(From(chunks[0].resume_token()), &rest).ok());
  expected.erase(expected.begin(), expected.begin() + 1000);
  EXPECT_EQ(KeysOf(rest), expected);
  EXPECT_FALSE(rest[0].has_values());
}

TEST_F(ScanCallTest, BadDirectionsAndRangesOfValuesAreRefused) {
  Load(10);
  v1::ScanRequest request = All();
  request.set_direction(static_cast<v1::ScanDirection>(3));
  ExpectRefused(request, grpc::StatusCode::INVALID_ARGUMENT, "direction is 3");
  request = All();
  request.mutable_values()->set_lo(2);
  request.mutable_values()->set_last(1);
  ExpectRefused(request, grpc::StatusCode::INVALID_ARGUMENT, "last 1 is below lo 2");
  engine.rows_per_chunk = 5;
  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(All(), &chunks).ok());
  for (const auto& change : std::vector<std::function<void(v1::ScanRequest&)>>{
           [](auto& both) { both.set_keys_only(true); }, [](auto& both) { both.mutable_values(); },
           [](auto& both) { both.set_direction(v1::SCAN_DIRECTION_FORWARD); }}) {
    v1::ScanRequest both = From(chunks[0].resume_token());
    change(both);
    ExpectRefused(both, grpc::StatusCode::INVALID_ARGUMENT, "must be unset");
  }
}

TEST_F(ScanCallTest, BadRequestsGetTheirStatus) {
  Load(2500);
  v1::ScanRequest inverted = All();
  inverted.mutable_range()->set_lo(2);
  inverted.mutable_range()->set_hi(1);
  ExpectRefused(inverted, grpc::StatusCode::INVALID_ARGUMENT, "hi 1 is below lo 2");
  v1::ScanRequest unknown = All();
  unknown.set_object("nothing");
  ExpectRefused(unknown, grpc::StatusCode::NOT_FOUND, "nothing");
  unknown.set_object("");
  ExpectRefused(unknown, grpc::StatusCode::INVALID_ARGUMENT, "empty");

  std::vector<v1::ScanResponse> chunks;
  ASSERT_TRUE(Scan(All(), &chunks).ok());
  const std::string token = chunks[0].resume_token();
  std::string damaged = token;
  damaged[20] = static_cast<char>(damaged[20] ^ 1);
  ExpectRefused(From(damaged), grpc::StatusCode::INVALID_ARGUMENT, "damaged");
  ExpectRefused(From("short"), grpc::StatusCode::INVALID_ARGUMENT, "5 bytes");
  const std::string foreign = ResumeTokenCodec(1).Encode({ObjectId{1}, {}, 0});
  ExpectRefused(From(foreign), grpc::StatusCode::INVALID_ARGUMENT, "another server");
  v1::ScanRequest both = From(token);
  both.set_limit(1);
  ExpectRefused(both, grpc::StatusCode::INVALID_ARGUMENT, "must be unset");
  both = From(token);
  both.mutable_range()->set_lo(1);
  ExpectRefused(both, grpc::StatusCode::INVALID_ARGUMENT, "must be unset");

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

}  // namespace
}  // namespace eris::server
