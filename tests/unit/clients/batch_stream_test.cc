#include "clients/batch_stream.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "tests/unit/clients/fake_data_server.h"
#include "tests/unit/clients/test_objects.h"

namespace eris::client {
namespace {

const ObjectInfo kObject = IndexOf({});

void SetBit(size_t row, std::string& bits) {
  bits[row >> 3] = static_cast<char>(bits[row >> 3] | 1 << (row & 7));
}

class EvenKeysAndACounter : public v1::Data::Service {
 public:
  // Looks up key k as k + 1 when k is even, as missing when odd. Key 13 first in a batch fails it,
  // 99 ends the stream.
  using LookupCall = grpc::ServerReaderWriter<v1::LookupStreamResponse, v1::LookupRequest>;
  grpc::Status LookupStream(grpc::ServerContext*, LookupCall* call) override {
    v1::LookupRequest request;
    while (call->Read(&request)) {
      std::vector<uint64_t> keys = NumbersOf(request.keys(0));
      if (keys[0] == 99) return {grpc::StatusCode::UNAVAILABLE, "stopping"};
      v1::LookupStreamResponse response;
      if (keys[0] == 13) {
        response.mutable_status()->set_code(grpc::StatusCode::NOT_FOUND);
        response.mutable_status()->set_message("no such object");
      } else {
        std::string found((keys.size() + 7) / 8, '\0');
        for (size_t i = 0; i < keys.size(); ++i) {
          if (keys[i]++ % 2 == 0) SetBit(i, found);
        }
        *response.mutable_response()->add_columns() = ColumnOfNumbers(keys);
        response.mutable_response()->set_found(found);
      }
      call->Write(response);
    }
    return grpc::Status::OK;
  }

  // Adds to one counter for all keys; refuses key 2. Reads upserts and never answers them, until
  // the client gives up.
  using WriteCall = grpc::ServerReaderWriter<v1::WriteStreamResponse, v1::WriteRequest>;
  grpc::Status WriteStream(grpc::ServerContext* context, WriteCall* call) override {
    v1::WriteRequest request;
    uint64_t sum = 0;
    while (call->Read(&request)) {
      if (request.mode() == v1::WRITE_MODE_UPSERT) {
        while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return grpc::Status::CANCELLED;
      }
      const std::vector<uint64_t> keys = NumbersOf(request.columns(0));
      std::vector<uint64_t> values = NumbersOf(request.columns(1));
      v1::WriteStreamResponse answer;
      v1::WriteResponse& response = *answer.mutable_response();
      std::string executed((keys.size() + 7) / 8, '\0');
      for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] == 2) {
          response.mutable_refusal()->set_code(8);
          values[i] = 0;
          continue;
        }
        values[i] = sum += values[i];
        SetBit(i, executed);
      }
      *response.add_columns() = ColumnOfNumbers(values);
      response.set_applied(executed);
      response.set_existed(executed);
      response.set_executed(executed);
      call->Write(answer);
    }
    return grpc::Status::OK;
  }
};

class BatchStreamTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(client_, nullptr); }
  EvenKeysAndACounter service_;
  const FakeDataServer server_{service_};
  const std::unique_ptr<Client> client_ = server_.Connect();
};

TEST_F(BatchStreamTest, WritesAreAnsweredKeyByKey) {
  uint64_t answers = 0, wrong = 0;
  WriteStream stream(*client_, {.in_flight_max = 4},
                     [&](uint64_t index, absl::Status status, WriteResult result) {
                       ++answers;
                       wrong += !status.ok() || result.values.rows != 2 ||
                                result.values.Uint64s(0)[0] != index + 1 || result.executed[1] ||
                                !result.executed[0] || !result.applied[0] ||
                                !absl::IsResourceExhausted(result.refusal);
                     });
  for (int batch = 0; batch < 100; ++batch) {
    ASSERT_TRUE(stream.Send(kObject, WriteMode::kAdd, {1, 2}, {1, 1}).ok());
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(answers, 100u);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(BatchStreamTest, BatchThatDoesNotFitItsObjectIsRefusedUnsentAndTheStreamGoesOn) {
  std::vector<uint64_t> sums;
  WriteStream stream(*client_, {}, [&](uint64_t, absl::Status status, WriteResult result) {
    ASSERT_TRUE(status.ok()) << status;
    sums.push_back(result.values.Uint64s(0)[0]);
  });
  const std::vector<uint64_t> one = {1}, two = {1, 2};
  ASSERT_TRUE(stream.Send(kObject, WriteMode::kAdd, one, one).ok());
  using absl::StatusCode;
  EXPECT_EQ(stream.Send(kObject, WriteMode::kAdd, two, one).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(stream.Send(kObject, WriteMode::kAdd, {one, one}, one).code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(stream.Send(kObject, WriteMode::kAdd, RowBatch{}).code(), StatusCode::kInvalidArgument);
  ASSERT_TRUE(stream.Send(kObject, WriteMode::kAdd, one, one).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(sums, (std::vector<uint64_t>{1, 2}));
}

TEST_F(BatchStreamTest, AnswersComeInOrderWithTheirBatches) {
  uint64_t next = 0, wrong = 0;
  LookupStream stream(*client_, {.in_flight_max = 4},
                      [&](uint64_t index, absl::Status status, LookupResult result) {
                        // Batch i holds the keys 1000 i + 0 .. 99.
                        wrong += index != next++ || !status.ok() || result.rows.rows != 100;
                        for (uint64_t i = 0; i < result.rows.rows; ++i) {
                          const uint64_t key = 1000 * index + i;
                          wrong += result.found[i] != (key % 2 == 0) ||
                                   result.rows.Uint64s(0)[i] != key + 1;
                        }
                      });
  for (uint64_t batch = 0; batch < 200; ++batch) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < 100; ++i) keys.push_back(1000 * batch + i);
    ASSERT_TRUE(stream.Send(kObject, keys).ok());
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(next, 200u);
  EXPECT_EQ(wrong, 0u);
}

TEST_F(BatchStreamTest, FailedBatchHasItsStatusAndTheStreamGoesOn) {
  std::vector<absl::StatusCode> codes;
  LookupStream stream(*client_, {}, [&](uint64_t, absl::Status status, LookupResult) {
    codes.push_back(status.code());
  });
  for (const uint64_t key : {2, 13, 4}) ASSERT_TRUE(stream.Send(kObject, {key}).ok());
  EXPECT_TRUE(stream.Finish().ok());
  using absl::StatusCode;
  EXPECT_EQ(codes,
            (std::vector<StatusCode>{StatusCode::kOk, StatusCode::kNotFound, StatusCode::kOk}));
}

TEST_F(BatchStreamTest, EveryAcceptedBatchIsAnsweredOnceWhenTheServerEndsTheStream) {
  uint64_t ok = 0, refused = 0, accepted = 0;
  LookupStream stream(*client_, {.in_flight_max = 16},
                      [&](uint64_t, absl::Status status, LookupResult) {
                        ++(status.ok() ? ok : refused);
                        EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
                      });
  absl::Status status;
  for (int batch = 0; batch < 1000 && status.ok(); ++batch) {
    status = stream.Send(kObject, {batch == 50 ? 99u : 2u});
    accepted += status.ok() ? 1 : 0;
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(stream.Finish()));
  EXPECT_EQ(ok, 50u);
  EXPECT_EQ(ok + refused, accepted);
}

TEST_F(BatchStreamTest, SilentServerIsGivenUpAfterTheStallTimeout) {
  std::vector<absl::Status> answers;
  WriteStream stream(
      *client_, {.in_flight_max = 1, .stall_timeout = absl::Milliseconds(50)},
      [&](uint64_t, absl::Status status, WriteResult) { answers.push_back(status); });
  ASSERT_TRUE(stream.Send(kObject, WriteMode::kUpsert, {1}, {1}).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream.Send(kObject, WriteMode::kUpsert, {1}, {1})));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream.Finish()));
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(answers[0])) << answers[0];
}

TEST_F(BatchStreamTest, DestroyingAStreamCancelsWhatIsUnanswered) {
  uint64_t answers = 0;
  {
    WriteStream stream(*client_, {}, [&](uint64_t, absl::Status status, WriteResult) {
      ++answers;
      EXPECT_FALSE(status.ok());
    });
    ASSERT_TRUE(stream.Send(kObject, WriteMode::kUpsert, {1}, {1}).ok());
  }
  EXPECT_EQ(answers, 1u);
}

}  // namespace
}  // namespace eris::client
