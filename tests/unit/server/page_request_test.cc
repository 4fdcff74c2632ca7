#include "server/http/page_request.h"

#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(PageRequestTest, OnlyAddressesLocalhostAndTheOwnNameAreTheHost) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:7412", "192.168.1.9:80", "localhost",
                           "LocalHost:1", "[::1]", "[::1]:7412", "db7", "DB7:7412"}) {
    EXPECT_TRUE(IsOwnHost(host, "db7")) << host;
  }
  for (const char* host : {"", ":7412", "evil.example", "evil.example:7412",
                           "127.0.0.1.evil.example", "localhost.evil.example", "db7.evil", "[::1",
                           "[evil]:1", "[::1]x", "127.0.0.1@evil", "2130706433x", "::1:x"}) {
    EXPECT_FALSE(IsOwnHost(host, "db7")) << host;
  }
}

TEST(PageRequestTest, TargetsAreAPathAndDecodedValues) {
  const auto target = ParseTarget("/api/hot?object=a%20b+%C3%BC%26&limit=3&&flag");
  ASSERT_TRUE(target.ok()) << target.status();
  EXPECT_EQ(target->path, "/api/hot");
  EXPECT_EQ(target->values, (std::map<std::string, std::string>{
                                {"flag", ""}, {"limit", "3"}, {"object", "a b ü&"}}));
  EXPECT_TRUE(ParseTarget("/")->values.empty());
  for (const char* text : {"", "*", "http://a/", "a", "/?a=%", "/?a=%4", "/?a=%4g", "/?a=%-1",
                           "/?a=1&a=1", "/?%zz=1"}) {
    EXPECT_EQ(ParseTarget(text).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

}  // namespace
}  // namespace eris::server
