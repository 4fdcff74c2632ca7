#include "server/door/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "gtest/gtest.h"

namespace eris::server {
namespace {

Peer PeerOfText(const char* address, uint32_t interface = 0) {
  sockaddr_in6 from = {};
  from.sin6_family = AF_INET6;
  from.sin6_port = htons(4711);
  from.sin6_scope_id = interface;
  EXPECT_EQ(inet_pton(AF_INET6, address, &from.sin6_addr), 1) << address;
  return PeerAt(from);
}

TEST(PeerTest, HasTheNameThatGrpcGivesIt) {
  const Peer peer = PeerOfText("2001:db8::7");
  EXPECT_EQ(peer.name, "ipv6:%5B2001:db8::7%5D:4711");
  EXPECT_EQ(peer.owner, "ipv6:2001:db8::/64");
  EXPECT_FALSE(peer.is_unix);
}

TEST(PeerTest, AddressesOfTwoLinksAreTwoPeers) {
  const Peer second = PeerOfText("fe80::7", 2);
  const Peer third = PeerOfText("fe80::7", 3);
  EXPECT_EQ(second.name, "ipv6:%5Bfe80::7%252%5D:4711");
  EXPECT_EQ(second.owner, "ipv6:fe80::%252/64");
  EXPECT_EQ(third.name, "ipv6:%5Bfe80::7%253%5D:4711");
  EXPECT_NE(second.owner, third.owner);
}

TEST(PeerTest, Ipv4WithinIpv6IsIpv4) {
  const Peer peer = PeerOfText("::ffff:10.0.0.7");
  EXPECT_EQ(peer.name, "ipv4:10.0.0.7:4711");
  EXPECT_EQ(peer.owner, "ipv4:10.0.0.7");
}

}  // namespace
}  // namespace eris::server
