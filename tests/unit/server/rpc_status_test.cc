#include "server/guard/rpc_status.h"

#include <string>

#include "eris/types.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(RpcStatusTest, CodeStaysAndALongMessageIsCut) {
  const grpc::Status status = ToRpcStatus(absl::NotFoundError(std::string(3000, 'x')));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), std::string(1024, 'x'));
  EXPECT_TRUE(ToRpcStatus(absl::OkStatus()).ok());
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

TEST(RpcStatusTest, ObjectNameMustNotBeEmptyOrTooLong) {
  EXPECT_FALSE(CheckObjectName("").ok());
  EXPECT_TRUE(CheckObjectName(std::string(kObjectNameBytesMax, 'n')).ok());
  EXPECT_FALSE(CheckObjectName(std::string(kObjectNameBytesMax + 1, 'n')).ok());
}

}  // namespace
}  // namespace eris::server
