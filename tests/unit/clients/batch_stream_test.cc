#include "clients/batch_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "tests/unit/clients/fake_data_server.h"

namespace eris::client {
namespace {

// Looks up key k as k + 1 when k is even, as missing when odd. Key 13 first in a batch fails it, 99
// ends the stream.
class EvenKeys : public v1::Data::Service {
 public:
  using LookupCall = grpc::ServerReaderWriter<v1::LookupStreamResponse, v1::LookupRequest>;
  grpc::Status LookupStream(grpc::ServerContext*, LookupCall* call) override {
    v1::LookupRequest request;
    while (call->Read(&request)) {
      std::vector<uint64_t> keys;
      if (!FromColumn(request.keys(), keys).ok()) return grpc::Status::CANCELLED;
      if (keys[0] == 99) return {grpc::StatusCode::UNAVAILABLE, "stopping"};
      v1::LookupStreamResponse response;
      if (keys[0] == 13) {
        response.mutable_status()->set_code(grpc::StatusCode::NOT_FOUND);
        response.mutable_status()->set_message("no such object");
      } else {
        std::string found((keys.size() + 7) / 8, '\0');
        for (size_t i = 0; i < keys.size(); ++i) {
          if (keys[i] % 2 == 0) found[i >> 3] = static_cast<char>(found[i >> 3] | 1 << (i & 7));
          ++keys[i];
        }
        v1::Column& values = *response.mutable_response()->mutable_values();
        ToColumn(keys, values);
        values.set_validity(found);
      }
      call->Write(response);
    }
    return grpc::Status::OK;
  }

  // Reads everything and never answers, until the client gives up.
  using UpsertCall = grpc::ServerReaderWriter<v1::UpsertStreamResponse, v1::UpsertRequest>;
  grpc::Status UpsertStream(grpc::ServerContext* context, UpsertCall* call) override {
    v1::UpsertRequest request;
    while (call->Read(&request)) {
    }
    while (!context->IsCancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return grpc::Status::CANCELLED;
  }
};

// Adds to one counter for all keys; refuses key 2.
class OneCounter : public v1::Data::Service {
 public:
  using WriteCall = grpc::ServerReaderWriter<v1::WriteStreamResponse, v1::WriteRequest>;
  grpc::Status WriteStream(grpc::ServerContext*, WriteCall* call) override {
    v1::WriteRequest request;
    uint64_t sum = 0;
    while (call->Read(&request)) {
      std::vector<uint64_t> keys, values;
      if (request.mode() != v1::WRITE_MODE_ADD || !FromColumn(request.keys(), keys).ok() ||
          !FromColumn(request.values(), values).ok()) {
        return grpc::Status::CANCELLED;
      }
      v1::WriteStreamResponse response;
      std::string executed((keys.size() + 7) / 8, '\0');
      for (size_t i = 0; i < keys.size(); ++i) {
        if (keys[i] == 2) {
          response.mutable_response()->mutable_refusal()->set_code(8);
          values[i] = 0;
          continue;
        }
        values[i] = sum += values[i];
        executed[i >> 3] = static_cast<char>(executed[i >> 3] | 1 << (i & 7));
      }
      ToColumn(values, *response.mutable_response()->mutable_values());
      response.mutable_response()->set_applied(executed);
      response.mutable_response()->set_existed(executed);
      response.mutable_response()->set_executed(executed);
      call->Write(response);
    }
    return grpc::Status::OK;
  }
};

TEST(BatchStreamTest, WritesAreAnsweredKeyByKey) {
  OneCounter service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  uint64_t answers = 0, wrong = 0;
  WriteStream stream(
      *client, {.in_flight_max = 4}, [&](uint64_t index, absl::Status status, WriteResult result) {
        ++answers;
        wrong += !status.ok() || result.values.size() != 2 || result.values[0] != index + 1 ||
                 result.executed[1] || !result.executed[0] || !result.applied[0] ||
                 !absl::IsResourceExhausted(result.refusal);
      });
  for (int batch = 0; batch < 100; ++batch) {
    ASSERT_TRUE(stream.Send("o", WriteMode::kAdd, {{1, 2}}, {{1, 1}}).ok());
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(answers, 100u);
  EXPECT_EQ(wrong, 0u);
}

TEST(BatchStreamTest, KeyThatIsNoneOfItsTypeIsRefusedUnsentAndTheStreamGoesOn) {
  OneCounter service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  std::vector<uint64_t> sums;
  WriteStream stream(*client, {}, [&](uint64_t, absl::Status status, WriteResult result) {
    ASSERT_TRUE(status.ok()) << status;
    sums.push_back(result.values[0]);
  });
  const std::vector<uint64_t> one = {1}, beyond = {uint64_t{1} << 32};
  ASSERT_TRUE(stream.Send("o", WriteMode::kAdd, one, one).ok());
  EXPECT_EQ(stream.Send("o", WriteMode::kAdd, beyond, one, {}, ColumnType::kDate).message(),
            "keys[0] is 4294967296, no key of type date: encoded they are 0 to 4294967295");
  EXPECT_EQ(stream.Send("o", WriteMode::kAdd, {one, one}, one).code(),
            absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(stream.Send("o", WriteMode::kAdd, one, one).ok());
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(sums, (std::vector<uint64_t>{1, 2}));
}

TEST(BatchStreamTest, AnswersComeInOrderWithTheirBatches) {
  EvenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  uint64_t next = 0, wrong = 0;
  LookupStream stream(*client, {.in_flight_max = 4},
                      [&](uint64_t index, absl::Status status, LookupResult result) {
                        // Batch i holds the keys 1000 i + 0 .. 99.
                        wrong += index != next++ || !status.ok() || result.values.size() != 100;
                        for (uint64_t i = 0; i < result.values.size(); ++i) {
                          const uint64_t key = 1000 * index + i;
                          wrong += result.found[i] != (key % 2 == 0) || result.values[i] != key + 1;
                        }
                      });
  for (uint64_t batch = 0; batch < 200; ++batch) {
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; i < 100; ++i) keys.push_back(1000 * batch + i);
    ASSERT_TRUE(stream.Send("o", keys).ok());
  }
  EXPECT_TRUE(stream.Finish().ok());
  EXPECT_EQ(next, 200u);
  EXPECT_EQ(wrong, 0u);
}

TEST(BatchStreamTest, FailedBatchHasItsStatusAndTheStreamGoesOn) {
  EvenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  std::vector<absl::StatusCode> codes;
  LookupStream stream(*client, {}, [&](uint64_t, absl::Status status, LookupResult) {
    codes.push_back(status.code());
  });
  for (const uint64_t key : {2, 13, 4}) {
    ASSERT_TRUE(stream.Send("o", std::vector<uint64_t>{key}).ok());
  }
  EXPECT_TRUE(stream.Finish().ok());
  using absl::StatusCode;
  EXPECT_EQ(codes,
            (std::vector<StatusCode>{StatusCode::kOk, StatusCode::kNotFound, StatusCode::kOk}));
}

TEST(BatchStreamTest, EveryAcceptedBatchIsAnsweredOnceWhenTheServerEndsTheStream) {
  EvenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  uint64_t ok = 0, refused = 0, accepted = 0;
  LookupStream stream(*client, {.in_flight_max = 16},
                      [&](uint64_t, absl::Status status, LookupResult) {
                        ++(status.ok() ? ok : refused);
                        EXPECT_TRUE(status.ok() || absl::IsUnavailable(status)) << status;
                      });
  absl::Status status;
  for (int batch = 0; batch < 1000 && status.ok(); ++batch) {
    status = stream.Send("o", std::vector<uint64_t>{batch == 50 ? 99u : 2u});
    accepted += status.ok() ? 1 : 0;
  }
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::IsUnavailable(stream.Finish()));
  EXPECT_EQ(ok, 50u);
  EXPECT_EQ(ok + refused, accepted);
}

TEST(BatchStreamTest, SilentServerIsGivenUpAfterTheStallTimeout) {
  EvenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  uint64_t answers = 0;
  absl::Status answer;
  UpsertStream stream(*client, {.in_flight_max = 1, .stall_timeout = absl::Milliseconds(50)},
                      [&](uint64_t, absl::Status status, RowBits) {
                        ++answers;
                        answer = status;
                      });
  const std::vector<uint64_t> one = {1};
  ASSERT_TRUE(stream.Send("o", one, one).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream.Send("o", one, one)));
  EXPECT_TRUE(absl::IsDeadlineExceeded(stream.Finish()));
  EXPECT_EQ(answers, 1u);
  EXPECT_TRUE(absl::IsDeadlineExceeded(answer)) << answer;
}

TEST(BatchStreamTest, DestroyingAStreamCancelsWhatIsUnanswered) {
  EvenKeys service;
  const FakeDataServer server(service);
  const auto client = server.Connect();
  ASSERT_NE(client, nullptr);
  uint64_t answers = 0;
  {
    UpsertStream stream(*client, {}, [&](uint64_t, absl::Status status, RowBits) {
      ++answers;
      EXPECT_FALSE(status.ok());
    });
    const std::vector<uint64_t> one = {1};
    ASSERT_TRUE(stream.Send("o", one, one).ok());
  }
  EXPECT_EQ(answers, 1u);
}

}  // namespace
}  // namespace eris::client
