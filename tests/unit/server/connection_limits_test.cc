// Who gets in at the door, by numbers alone.
#include "server/door/connection_limits.h"

#include <cstdint>
#include <optional>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

// How many more one owner gets that holds none, if `all` are open.
uint64_t MostOf(const ConnectionLimits& limits, uint64_t all) {
  uint64_t own = 0;
  while (!limits.Refuse(all + own, own)) ++own;
  return own;
}

TEST(ConnectionLimitsTest, OneOwnerGetsHalf) {
  const ConnectionLimits limits{.connections_max = 1000};
  EXPECT_EQ(MostOf(limits, 0), 500u);
  EXPECT_EQ(limits.Refuse(500, 500), DoorCause::kAddress);
}

TEST(ConnectionLimitsTest, TwoOwnersLeaveConnectionsToAThird) {
  const ConnectionLimits limits{.connections_max = 1000};
  const uint64_t first = MostOf(limits, 0);
  const uint64_t second = MostOf(limits, first);
  EXPECT_EQ(second, 250u);
  EXPECT_EQ(MostOf(limits, first + second), 125u);
}

TEST(ConnectionLimitsTest, LastConnectionGoesToAnOwnerThatHoldsNone) {
  const ConnectionLimits limits{.connections_max = 1000};
  EXPECT_EQ(limits.Refuse(999, 1), DoorCause::kAddress);
  EXPECT_EQ(limits.Refuse(999, 0), std::nullopt);
  EXPECT_EQ(limits.Refuse(1000, 0), DoorCause::kConnections);
  EXPECT_EQ((ConnectionLimits{.connections_max = 1}.Refuse(0, 0)), std::nullopt);
}

// For a server behind a proxy, whose address all connections have.
TEST(ConnectionLimitsTest, NumberPerOwnerIsInForceInsteadOfTheShare) {
  const ConnectionLimits limits{.connections_max = 1000, .per_owner_max = 1000};
  EXPECT_EQ(MostOf(limits, 0), 1000u);
  const ConnectionLimits few{.connections_max = 1000, .per_owner_max = 3};
  EXPECT_EQ(MostOf(few, 0), 3u);
  EXPECT_EQ(few.Refuse(990, 3), DoorCause::kAddress);
}

}  // namespace
}  // namespace eris::server
