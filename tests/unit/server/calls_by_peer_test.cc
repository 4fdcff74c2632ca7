#include "server/door/calls_by_peer.h"

#include "gtest/gtest.h"

namespace eris::server {
namespace {

TEST(CallsByPeerTest, AreCountedOncePerRound) {
  int counted = 0;
  CallsByPeer calls([&]() -> CallsByPeer::Counts {
    ++counted;
    return {{"ipv4:10.0.0.7:1", 10 + counted}, {"unix:", 2}};
  });
  calls.BeginRound();
  EXPECT_EQ(counted, 0) << "nobody has asked";
  EXPECT_EQ(calls.Of("ipv4:10.0.0.7:1"), 11u);
  EXPECT_EQ(calls.Of("unix:"), 2u);
  EXPECT_EQ(calls.Of("ipv4:10.0.0.7:2"), 0u);
  EXPECT_EQ(counted, 1);
  calls.BeginRound();
  EXPECT_EQ(calls.Of("ipv4:10.0.0.7:1"), 12u);
  EXPECT_EQ(counted, 2);
}

TEST(CallsByPeerTest, WithoutACountThereAreNone) {
  CallsByPeer calls(nullptr);
  EXPECT_EQ(calls.Of("unix:"), 0u);
}

}  // namespace
}  // namespace eris::server
