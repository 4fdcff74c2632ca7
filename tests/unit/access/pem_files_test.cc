#include "server/access/pem_files.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/access/test_certificates.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

class PemFilesTest : public ::testing::Test {
 protected:
  std::string ProblemOf(const PemFiles& files) {
    const absl::Status status = CheckPem(files, options_, absl::Now());
    EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }

  const SecurityOptions options_{.tls_cert = "C", .tls_key = "K", .tls_client_ca = "A"};
  const TestAuthority authority_{"tests"};
  const TestCertificate good_ = authority_.Issue({.common_name = "server"});
};

TEST_F(PemFilesTest, GoodOnesAreAccepted) {
  EXPECT_EQ(ProblemOf({good_.pem, good_.key_pem, authority_.pem()}), "");
  EXPECT_EQ(ProblemOf({good_.pem + authority_.pem(), good_.key_pem, authority_.pem()}), "")
      << "with its issuer";
}

TEST_F(PemFilesTest, KeyOfAnotherCertificateIsRefused) {
  const TestCertificate other = authority_.Issue({.common_name = "server"});
  EXPECT_THAT(ProblemOf({good_.pem, other.key_pem, authority_.pem()}),
              HasSubstr("security.tls_key K: it is not the key of the certificate in C"));
}

TEST_F(PemFilesTest, DatesAreChecked) {
  const TestCertificate late =
      authority_.Issue({.common_name = "late", .until = absl::Now() - absl::Minutes(1)});
  EXPECT_THAT(ProblemOf({late.pem, late.key_pem, authority_.pem()}),
              HasSubstr("the certificate /CN=late has expired at 20"));
  const TestCertificate early =
      authority_.Issue({.common_name = "early", .from = absl::Now() + absl::Minutes(1)});
  EXPECT_THAT(ProblemOf({early.pem, early.key_pem, authority_.pem()}),
              HasSubstr("the certificate /CN=early is not valid before 20"));
}

TEST_F(PemFilesTest, ChainIsChecked) {
  const TestAuthority stranger("a stranger");
  EXPECT_THAT(ProblemOf({good_.pem + stranger.pem(), good_.key_pem, authority_.pem()}),
              HasSubstr("/CN=server is not signed by the one that follows it, /CN=a stranger"));
  const TestAuthority namesake("tests");
  EXPECT_THAT(ProblemOf({good_.pem + namesake.pem(), good_.key_pem, authority_.pem()}),
              HasSubstr("is not signed by"));
}

TEST_F(PemFilesTest, DamagedTextIsRefused) {
  EXPECT_THAT(ProblemOf({"", good_.key_pem, authority_.pem()}), HasSubstr("tls_cert C: it has no"));
  const std::string half = good_.pem.substr(0, good_.pem.size() / 2);
  EXPECT_THAT(ProblemOf({half, good_.key_pem, authority_.pem()}), HasSubstr("tls_cert C: it has"));
  EXPECT_THAT(ProblemOf({good_.pem + half, good_.key_pem, authority_.pem()}),
              HasSubstr("tls_cert C: it has"));
  EXPECT_THAT(ProblemOf({good_.pem, good_.key_pem.substr(0, 60), authority_.pem()}),
              HasSubstr("tls_key K: it has no private key"));
  EXPECT_THAT(ProblemOf({good_.pem, good_.key_pem, "nothing"}), HasSubstr("tls_client_ca A"));
}

}  // namespace
}  // namespace eris::server
