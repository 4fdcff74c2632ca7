#include "server/guard/running_queries.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<RunningQueries::Stay> EnterFrom(RunningQueries& queries, std::string peer,
                                               std::shared_ptr<ScanStop> stop) {
  const std::string client = ClientOfPeer(peer);
  return queries.Enter(std::move(peer), client, std::move(stop));
}

TEST(RunningQueriesTest, ThoseInsideAreListedOldestFirst) {
  RunningQueries queries;
  auto first = EnterFrom(queries, "a", std::make_shared<ScanStop>());
  std::optional<RunningQueries::Stay> second =
      *EnterFrom(queries, "b", std::make_shared<ScanStop>());
  second->AddRows(3);
  second->AddRows(4);
  const auto later = RunningQueries::Clock::now() + std::chrono::seconds(5);
  const std::vector<RunningQueries::Info> both = queries.List(later);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0].peer, "a");
  EXPECT_EQ(both[0].rows_sent, 0u);
  EXPECT_GE(both[0].age, std::chrono::seconds(5));
  EXPECT_EQ(both[1].peer, "b");
  EXPECT_EQ(both[1].rows_sent, 7u);
  EXPECT_LT(both[0].id, both[1].id);
  second.reset();
  ASSERT_EQ(queries.List().size(), 1u);
  EXPECT_EQ(queries.List()[0].id, both[0].id);
}

TEST(RunningQueriesTest, CancelStopsOneThatRuns) {
  RunningQueries queries;
  const auto stop = std::make_shared<ScanStop>();
  uint64_t id = 0;
  {
    const auto stay = EnterFrom(queries, "a", stop);
    id = queries.List()[0].id;
    EXPECT_TRUE(queries.Cancel(id).ok());
    ASSERT_TRUE(stop->reason().has_value());
    EXPECT_TRUE(absl::IsCancelled(*stop->reason()));
    EXPECT_TRUE(queries.Cancel(id).ok());
  }
  const absl::Status gone = queries.Cancel(id);
  EXPECT_TRUE(absl::IsNotFound(gone));
  EXPECT_THAT(std::string(gone.message()), HasSubstr("no query 1 runs"));
}

TEST(RunningQueriesTest, IdsAreNotUsedAgain) {
  RunningQueries queries;
  uint64_t last = 0;
  for (int i = 0; i < 3; ++i) {
    const auto stay = EnterFrom(queries, "a", std::make_shared<ScanStop>());
    EXPECT_GT(queries.List()[0].id, last);
    last = queries.List()[0].id;
  }
}

TEST(RunningQueriesTest, NumberIsLimitedAndSharedBetweenClients) {
  RunningQueries queries;
  std::vector<RunningQueries::Stay> first, second;
  const auto fill = [&](const char* peer, std::vector<RunningQueries::Stay>& stays) {
    for (;;) {
      auto entered = EnterFrom(queries, peer, std::make_shared<ScanStop>());
      if (!entered.ok()) return entered.status();
      stays.push_back(*std::move(entered));
    }
  };
  const absl::Status refused = fill("ipv4:10.0.0.1:1", first);
  EXPECT_EQ(first.size(), RunningQueries::kRunningMax / 2);
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("512 of them of this client"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("the limit is 1024"));
  // Another connection of the same client.
  EXPECT_FALSE(EnterFrom(queries, "ipv4:10.0.0.1:2", std::make_shared<ScanStop>()).ok());
  EXPECT_FALSE(fill("ipv4:10.0.0.2:1", second).ok());
  EXPECT_EQ(second.size(), RunningQueries::kRunningMax / 4);
  second.clear();
  first.pop_back();
  EXPECT_TRUE(EnterFrom(queries, "ipv4:10.0.0.1:1", std::make_shared<ScanStop>()).ok());
}

}  // namespace
}  // namespace eris::server
