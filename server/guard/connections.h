// Cuts a server's connections at the socket. gRPC's own shutdown answers a call that arrives in its
// last moments with CANCELLED, which does not tell a client what to do. A closed connection is
// UNAVAILABLE, which a client can retry. gRPC has no interface for it, so the sockets are found in
// the system's list. Any thread.
#ifndef ERIS_SERVER_GUARD_CONNECTIONS_H_
#define ERIS_SERVER_GUARD_CONNECTIONS_H_

#include <string>

namespace eris::server {

// Stops listening on `address` (host:port or unix:/path, as RpcServer::address) in this process,
// then shuts down every connection accepted there. Written data still reaches the clients. Returns
// the number of sockets that it has shut down; 0 also if /proc is not mounted: then gRPC ends the
// connections.
int CutConnections(const std::string& address);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_CONNECTIONS_H_
