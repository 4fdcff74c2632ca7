#include "server/guard/rpc_status.h"

#include <map>
#include <optional>
#include <string>

#include "clients/rpc_status.h"
#include "eris/errors.h"
#include "eris/types.h"
#include "eris/v1/error.pb.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

// What a program with google.rpc's own messages would find.
struct Details {
  int infos = 0;
  v1::ErrorInfo info;
  std::optional<v1::RetryInfo> retry;
};

Details DetailsOf(const v1::RequestStatus& message) {
  Details details;
  for (const google::protobuf::Any& any : message.details()) {
    if (any.type_url() == "type.googleapis.com/google.rpc.ErrorInfo") {
      ++details.infos;
      EXPECT_TRUE(details.info.ParseFromString(any.value()));
    } else {
      EXPECT_EQ(any.type_url(), "type.googleapis.com/google.rpc.RetryInfo");
      EXPECT_TRUE(details.retry.emplace().ParseFromString(any.value()));
    }
  }
  return details;
}

v1::RequestStatus MessageOf(const grpc::Status& status) {
  v1::RequestStatus message;
  EXPECT_TRUE(message.ParseFromString(status.error_details()));
  return message;
}

std::map<std::string, std::string> MetadataOf(const v1::ErrorInfo& info) {
  return {info.metadata().begin(), info.metadata().end()};
}

TEST(RpcStatusTest, CodeStaysAndALongMessageIsCut) {
  const grpc::Status status = ToRpcStatus(absl::NotFoundError(std::string(3000, 'x')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), std::string(1024, 'x'));
  EXPECT_TRUE(ToRpcStatus(absl::OkStatus()).ok());
  EXPECT_EQ(ToRpcStatus(absl::OkStatus()).error_details(), "");
}

TEST(RpcStatusTest, MessageIsCutBetweenCharacters) {
  const std::string euro = "\xe2\x82\xac";
  for (size_t before = 0; before < 4; ++before) {
    std::string message(before, 'x');
    while (message.size() < 2000) message += euro;
    const std::string cut = ToRpcStatus(absl::NotFoundError(message)).error_message();
    EXPECT_EQ((cut.size() - before) % euro.size(), 0u);
    EXPECT_GT(cut.size(), 1024 - euro.size());
    EXPECT_LE(cut.size(), 1024u);
  }
}

TEST(RpcStatusTest, EveryRefusalHasOneErrorInfo) {
  const absl::Status with = Error(ErrorReason::kTimeToLiveInvalid, "too long",
                                  {.field = "time_to_live_ms", .value = "9", .limit = "8"});
  const grpc::Status status = ToRpcStatus(with);
  const v1::RequestStatus message = MessageOf(status);
  // Libraries of google.rpc compare both.
  EXPECT_EQ(message.code(), status.error_code());
  EXPECT_EQ(message.message(), status.error_message());
  const Details details = DetailsOf(message);
  EXPECT_EQ(details.infos, 1);
  EXPECT_EQ(details.info.reason(), "TIME_TO_LIVE_INVALID");
  EXPECT_EQ(details.info.domain(), "eris");
  EXPECT_EQ(MetadataOf(details.info),
            (std::map<std::string, std::string>{
                {"field", "time_to_live_ms"}, {"value", "9"}, {"limit", "8"}}));
  EXPECT_FALSE(details.retry);

  const Details plain = DetailsOf(MessageOf(ToRpcStatus(absl::AbortedError("why"))));
  EXPECT_EQ(plain.infos, 1);
  EXPECT_EQ(plain.info.reason(), "ABORTED");
  EXPECT_TRUE(MetadataOf(plain.info).empty());
}

TEST(RpcStatusTest, StatusInsideAResponseIsTheSame) {
  const absl::Status status = Error(ErrorReason::kInFlightBytes, "full", {.retry_ms = 1250});
  v1::RequestStatus message;
  FillRequestStatus(status, &message);
  EXPECT_EQ(message.SerializeAsString(), ToRpcStatus(status).error_details());
  const Details details = DetailsOf(message);
  ASSERT_TRUE(details.retry);
  EXPECT_EQ(details.retry->retry_delay().seconds(), 1);
  EXPECT_EQ(details.retry->retry_delay().nanos(), 250'000'000);
  v1::RequestStatus ok;
  FillRequestStatus(absl::OkStatus(), &ok);
  EXPECT_EQ(ok.ByteSizeLong(), 0u);
}

TEST(RpcStatusTest, LongOnesFitTheHeadersThatClientsAccept) {
  const std::string much(5000, '%');  // gRPC writes each as three bytes
  const grpc::Status status =
      ToRpcStatus(Error(ErrorReason::kRequestInvalid, much,
                        {.field = much, .value = much, .limit = much, .retry_ms = 5000}));
  const size_t base64 = status.error_details().size() * 4 / 3;
  EXPECT_LT(3 * status.error_message().size() + base64 + 200, 6u << 10);
  EXPECT_EQ(MetadataOf(DetailsOf(MessageOf(status)).info).at("value").size(), 192u);
}

TEST(RpcStatusTest, BytesThatAreNoTextLeaveTheDetailsReadable) {
  const std::string bytes = "name \xff\xfe";
  const grpc::Status status =
      ToRpcStatus(Error(ErrorReason::kObjectUnknown, bytes, {.value = bytes}));
  EXPECT_EQ(status.error_message(), "name ??");
  EXPECT_EQ(MetadataOf(DetailsOf(MessageOf(status)).info).at("value"), "name ??");
}

TEST(RpcStatusTest, ClientGetsWhatTheServerSaid) {
  const absl::Status said =
      Error(ErrorReason::kInFlightBytes, "full",
            {.field = "server.in_flight_bytes_max", .value = "7", .limit = "5", .retry_ms = 1250});
  v1::RequestStatus inside;
  FillRequestStatus(said, &inside);
  for (const absl::Status& heard :
       {client::ToAbslStatus(ToRpcStatus(said)), client::ToAbslStatus(inside)}) {
    EXPECT_EQ(heard.code(), said.code());
    EXPECT_EQ(heard.message(), said.message());
    const ErrorDetails details = ErrorDetailsOf(heard);
    EXPECT_EQ(details.reason, "IN_FLIGHT_BYTES");
    EXPECT_EQ(details.field, "server.in_flight_bytes_max");
    EXPECT_EQ(details.value, "7");
    EXPECT_EQ(details.limit, "5");
    EXPECT_EQ(details.retry_ms, 1250u);
  }
  // A server without details, and one that sends something else there.
  for (const std::string& details : {std::string(), std::string("\xff\xff")}) {
    const absl::Status heard =
        client::ToAbslStatus(grpc::Status(grpc::StatusCode::ABORTED, "why", details));
    EXPECT_EQ(ErrorDetailsOf(heard).reason, "ABORTED");
  }
}

TEST(RpcStatusTest, ObjectNameMustNotBeEmptyOrTooLong) {
  EXPECT_FALSE(CheckObjectName("").ok());
  EXPECT_TRUE(CheckObjectName(std::string(kObjectNameBytesMax, 'n')).ok());
  EXPECT_FALSE(CheckObjectName(std::string(kObjectNameBytesMax + 1, 'n')).ok());
}

}  // namespace
}  // namespace eris::server
