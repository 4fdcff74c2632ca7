#include "server/access/callers.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

std::string HashedHex(const std::string& token) { return HexOf(HashOf(token)); }

std::vector<Caller> One(const std::string& credential) {
  return {Caller{.credential = credential, .name = "1"}};
}

TEST(CallersTest, TokensAreFoundByTheirHash) {
  const Callers callers({{.credential = HashedHex("one"), .name = "1"},
                         {.credential = HashedHex("two"), .name = "2"}});
  ASSERT_NE(callers.ByToken("two"), nullptr);
  EXPECT_EQ(callers.ByToken("two")->name, "2");
  EXPECT_EQ(callers.ByToken(""), nullptr);
  EXPECT_EQ(callers.ByToken("tw"), nullptr);
  EXPECT_EQ(callers.ByToken(HashedHex("two")), nullptr) << "the hash itself is no token";
  EXPECT_EQ(callers.ByCredential(HashedHex("one"))->name, "1");
}

TEST(CallersTest, AHashThatDiffersAnywhereIsAnotherOne) {
  const std::string hex = HashedHex("one");
  for (size_t i = 0; i < hex.size(); ++i) {
    std::string other = hex;
    other[i] = other[i] == '0' ? '1' : '0';
    const Callers callers(One(other));
    EXPECT_EQ(callers.ByToken("one"), nullptr) << "digit " << i;
  }
}

TEST(CallersTest, CertificatesAreNoTokens) {
  const Callers callers(One("certificate:a.example"));
  EXPECT_NE(callers.ByCertificate("a.example"), nullptr);
  EXPECT_EQ(callers.ByCertificate("a.example.org"), nullptr);
  EXPECT_EQ(callers.ByToken("certificate:a.example"), nullptr);
}

TEST(TokenHashTest, NewTokensDifferAndAreLong) {
  const std::string one = *NewToken();
  EXPECT_EQ(one.size(), 5u + 43u);
  EXPECT_EQ(one.substr(0, 5), "eris_");
  EXPECT_NE(one, *NewToken());
}

TEST(TokenHashTest, HexIsReadBack) {
  EXPECT_EQ(HashedHex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HashFromHex(HashedHex("x")), HashOf("x"));
  EXPECT_EQ(HashFromHex(HashedHex("x").substr(1)), std::nullopt);
  EXPECT_EQ(HashFromHex(std::string(64, 'g')), std::nullopt);
}

}  // namespace
}  // namespace eris::server
