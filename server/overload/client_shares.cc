#include "server/overload/client_shares.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace eris::server {

std::string ClientOfPeer(absl::string_view peer) {
  if (peer.substr(0, 5) == "ipv4:") return std::string(peer.substr(0, peer.rfind(':')));
  absl::string_view host = peer;
  if (!absl::ConsumePrefix(&host, "ipv6:%5B")) return std::string(peer);
  host = host.substr(0, host.rfind("%5D:"));
  const absl::string_view address = host.substr(0, host.find('%'));
  const absl::string_view scope = host.substr(address.size());  // "%252" of a link's address
  in6_addr network = {};
  char text[INET6_ADDRSTRLEN] = "";
  if (inet_pton(AF_INET6, std::string(address).c_str(), &network) != 1) return std::string(peer);
  std::memset(network.s6_addr + 8, 0, 8);
  inet_ntop(AF_INET6, &network, text, sizeof text);
  return absl::StrCat("ipv6:", text, scope, "/64");
}

}  // namespace eris::server
