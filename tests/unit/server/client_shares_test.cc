#include "server/overload/client_shares.h"

#include <vector>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

using Holds = std::vector<ClientShares::Hold>;

void TakeAll(ClientShares& shares, const char* client, Holds& holds) {
  for (;;) {
    ClientShares::Hold hold = shares.TryTake(client);
    if (!hold) return;
    holds.push_back(std::move(hold));
  }
}

TEST(ClientSharesTest, NoClientTakesAll) {
  ClientShares shares(256);
  Holds first, second, third;
  TakeAll(shares, "first", first);
  EXPECT_EQ(first.size(), 128u);
  TakeAll(shares, "second", second);
  EXPECT_EQ(second.size(), 64u);  // as many as are left
  TakeAll(shares, "third", third);
  EXPECT_EQ(third.size(), 32u);
  EXPECT_TRUE(shares.TryTake("a new one"));
  EXPECT_EQ(shares.held(), 224u);
  EXPECT_EQ(shares.held_by("second"), 64u);
}

TEST(ClientSharesTest, WhatIsGivenBackIsThereForOthers) {
  ClientShares shares(8);
  Holds first, second;
  TakeAll(shares, "first", first);
  EXPECT_EQ(first.size(), 4u);
  first.resize(1);
  TakeAll(shares, "second", second);
  EXPECT_EQ(second.size(), 4u);
  first.clear();
  second.clear();
  EXPECT_EQ(shares.held(), 0u);
  EXPECT_EQ(shares.held_by("second"), 0u);
}

TEST(ClientSharesTest, TheLastOneGoesToAnyClientThatHoldsNone) {
  ClientShares shares(1);
  const ClientShares::Hold hold = shares.TryTake("first");
  EXPECT_TRUE(hold);
  EXPECT_FALSE(shares.TryTake("second"));
}

TEST(ClientSharesTest, HoldMayOutliveTheShares) {
  ClientShares::Hold hold;
  {
    ClientShares shares(2);
    hold = shares.TryTake("first");
  }
  EXPECT_TRUE(hold);
}

TEST(ClientSharesTest, ConnectionsOfOneAddressAreOneClient) {
  EXPECT_EQ(ClientOfPeer("ipv4:10.0.0.7:41234"), "ipv4:10.0.0.7");
  EXPECT_EQ(ClientOfPeer("ipv6:%5B::1%5D:41234"), "ipv6:%5B::1%5D");
  EXPECT_EQ(ClientOfPeer("unix:/run/eris.sock"), "unix:/run/eris.sock");
  EXPECT_EQ(ClientOfPeer("unix:"), "unix:");
  EXPECT_EQ(ClientOfPeer(""), "");
}

}  // namespace
}  // namespace eris::server
