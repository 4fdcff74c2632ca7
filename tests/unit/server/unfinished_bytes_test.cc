#include "server/door/unfinished_bytes.h"

#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(UnfinishedBytesTest, TheGreediestIsNamedOnlyWhenAllHaveTooMuch) {
  UnfinishedBytes bytes(200);
  EXPECT_EQ(bytes.Greediest(), "");
  bytes.Change("one", 0, 30);
  bytes.Change("two", 0, 20);
  bytes.Change("two", 0, 40);  // another connection
  EXPECT_EQ(bytes.all(), 90u);
  EXPECT_EQ(bytes.Greediest(), "");
  bytes.Change("one", 30, 41);
  EXPECT_EQ(bytes.Greediest(), "two");
  bytes.Change("two", 40, 0);
  EXPECT_EQ(bytes.Greediest(), "");
  bytes.Change("one", 41, 141);
  EXPECT_EQ(bytes.Greediest(), "one");
  bytes.Change("one", 141, 0);
  bytes.Change("two", 20, 0);
  EXPECT_EQ(bytes.all(), 0u);
}

TEST(UnfinishedBytesTest, WithoutALimitNobodyIsNamed) {
  UnfinishedBytes bytes(0);
  bytes.Change("one", 0, uint64_t{1} << 40);
  EXPECT_EQ(bytes.Greediest(), "");
}

}  // namespace
}  // namespace eris::server
