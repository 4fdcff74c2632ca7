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

TEST(ClientSharesTest, SeveralAtOnceAreAsOneAfterTheOther) {
  ClientShares shares(256);
  EXPECT_FALSE(shares.TryTake("first", 129));
  ClientShares::Hold first = shares.TryTake("first", 128);
  ASSERT_TRUE(first);
  EXPECT_FALSE(first.TryGrow(1));
  EXPECT_FALSE(shares.TryTake("second", 65));
  ClientShares::Hold second = shares.TryTake("second", 60);
  EXPECT_TRUE(second.TryGrow(4));
  EXPECT_FALSE(second.TryGrow(1));
  EXPECT_EQ(second.held(), 64u);
  EXPECT_EQ(shares.held_by("second"), 64u);
  first = {};
  EXPECT_EQ(shares.held(), 64u);
  EXPECT_TRUE(second.TryGrow(64));
  second = {};
  EXPECT_EQ(shares.held(), 0u);
  EXPECT_EQ(shares.held_by("second"), 0u);
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
  EXPECT_EQ(ClientOfPeer("unix:/run/eris.sock"), "unix:/run/eris.sock");
  EXPECT_EQ(ClientOfPeer("unix:"), "unix:");
  EXPECT_EQ(ClientOfPeer(""), "");
}

TEST(ClientSharesTest, AddressesOfOneNetworkAreOneClient) {
  const std::string client = ClientOfPeer("ipv6:%5B2001:db8:1:2::7%5D:41234");
  EXPECT_EQ(client, "ipv6:2001:db8:1:2::/64");
  EXPECT_EQ(ClientOfPeer("ipv6:%5B2001:db8:1:2:ffff:ffff:ffff:ffff%5D:1"), client);
  EXPECT_NE(ClientOfPeer("ipv6:%5B2001:db8:1:3::7%5D:41234"), client);
  EXPECT_EQ(ClientOfPeer("ipv6:%5B::1%5D:41234"), "ipv6:::/64");
}

// Every interface has the network fe80::/64, and another link behind it.
TEST(ClientSharesTest, NetworksOfTwoLinksAreTwoClients) {
  EXPECT_EQ(ClientOfPeer("ipv6:%5Bfe80::7%252%5D:41234"), "ipv6:fe80::%252/64");
  EXPECT_EQ(ClientOfPeer("ipv6:%5Bfe80::8%252%5D:41234"), "ipv6:fe80::%252/64");
  EXPECT_EQ(ClientOfPeer("ipv6:%5Bfe80::7%253%5D:41234"), "ipv6:fe80::%253/64");
}

TEST(ClientSharesTest, NameThatIsNoAddressIsAClientOfItsOwn) {
  EXPECT_EQ(ClientOfPeer("ipv6:%5Bhost%5D:1"), "ipv6:%5Bhost%5D:1");
  EXPECT_EQ(ClientOfPeer("ipv6:%5B"), "ipv6:%5B");
}

}  // namespace
}  // namespace eris::server
