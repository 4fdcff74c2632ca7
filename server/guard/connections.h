// Cuts a server's connections at the socket. gRPC's own shutdown answers a call that arrives in its
// last moments with CANCELLED, which tells a client nothing; a closed connection is UNAVAILABLE,
// which it knows how to retry. gRPC has no interface for it, so the sockets are found as the system
// lists them. Any thread.
#ifndef ERIS_SERVER_GUARD_CONNECTIONS_H_
#define ERIS_SERVER_GUARD_CONNECTIONS_H_

#include <string>

namespace eris::server {

// Stops listening on `address` (host:port or unix:/path, as RpcServer::address) in this process,
// then shuts down every connection accepted there. What has been written still reaches the clients.
// Returns how many sockets it has shut down; 0 also where /proc is not mounted: gRPC then ends the
// connections in its own way.
int CutConnections(const std::string& address);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_CONNECTIONS_H_
