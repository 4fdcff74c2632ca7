#include "server/state/table_token.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

TEST(TableTokenTest, PointComesBack) {
  const TableTokenCodec codec(42);
  for (const std::string& place : {std::string(), std::string("a\0b", 3), std::string(5000, 'x')}) {
    const TableScanPoint point{.lease = 1, .fingerprint = ~uint64_t{0}, .place = place};
    const auto again = codec.Decode(codec.Encode(point));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, point);
  }
}

TEST(TableTokenTest, DamageAndStrangersAreRefused) {
  const TableTokenCodec codec(42);
  const std::string token = codec.Encode({.lease = 1, .fingerprint = 2, .place = "somewhere"});
  for (size_t i = 0; i < token.size(); ++i) {
    std::string damaged = token;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_EQ(codec.Decode(damaged).status().code(), absl::StatusCode::kInvalidArgument) << i;
    EXPECT_FALSE(codec.Decode(token.substr(0, i)).ok()) << i;
  }
  EXPECT_THAT(std::string(TableTokenCodec(43).Decode(token).status().message()),
              HasSubstr("another server"));
  EXPECT_FALSE(codec.Decode(std::string(TableTokenCodec::kTokenBytesMax + 1, 'A')).ok());
}

}  // namespace
}  // namespace eris::server
