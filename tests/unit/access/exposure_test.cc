#include "server/access/exposure.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

TEST(ExposureTest, LoopbackAndUnixSocketsAreLocal) {
  const SecurityOptions none;
  for (const char* address : {"127.0.0.1:0", "127.9.9.9:7411", "localhost:1", "[::1]:7411",
                              "[::ffff:127.0.0.1]:1", "unix:/run/eris.sock"}) {
    EXPECT_TRUE(CheckExposure(none, "server.listen", address).ok()) << address;
  }
  for (const char* address : {"0.0.0.0:7411", "[::]:7411", ":7411", "192.0.2.1:7411",
                              "[::ffff:192.0.2.1]:1", "no.such.host.invalid:1"}) {
    EXPECT_FALSE(CheckExposure(none, "server.listen", address).ok()) << address;
  }
}

TEST(ExposureTest, OthersAreServedOnlyWithTlsAndRoles) {
  const std::string all = "0.0.0.0:7411";
  const SecurityOptions none;
  const SecurityOptions tls{.tls_cert = "c", .tls_key = "k"};
  const SecurityOptions roles{.tokens_file = "t"};
  const SecurityOptions both{.tokens_file = "t", .tls_cert = "c", .tls_key = "k"};
  const SecurityOptions open{.open = true};
  EXPECT_TRUE(CheckExposure(both, "server.listen", all).ok());
  EXPECT_TRUE(CheckExposure(open, "server.listen", all).ok());
  EXPECT_TRUE(CheckExposure(none, "server.listen", "127.0.0.1:7411").ok());
  EXPECT_TRUE(CheckExposure(none, "server.http", "").ok());
  const auto text = [&](const SecurityOptions& options) {
    const absl::Status status = CheckExposure(options, "server.listen", all);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
    return std::string(status.message());
  };
  EXPECT_THAT(text(none),
              HasSubstr("security.tls_cert, security.tls_key and security.tokens_file"));
  EXPECT_THAT(text(none), HasSubstr("security.open = true"));
  EXPECT_THAT(text(tls), HasSubstr("set security.tokens_file;"));
  EXPECT_THAT(text(roles), HasSubstr("set security.tls_cert and security.tls_key;"));
  EXPECT_FALSE(CheckExposure(both, "server.http", all).ok());
  const absl::Status unknown = CheckExposure(none, "server.listen", "no.such.host.invalid:1");
  EXPECT_EQ(unknown.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("host 'no.such.host.invalid': "));
}

}  // namespace
}  // namespace eris::server
