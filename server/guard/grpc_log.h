// gRPC's own log lines in the server's log. Any thread.
#ifndef ERIS_SERVER_GUARD_GRPC_LOG_H_
#define ERIS_SERVER_GUARD_GRPC_LOG_H_

namespace eris::server {

// From now on gRPC's errors become warnings of the server's log, at most one a second: clients can
// cause any number. Lines below its errors are written only if GRPC_VERBOSITY is set, and all then.
// Protobuf's lines are left out: each is of a request that is refused, and the answer says why.
void InstallGrpcLog();

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_GRPC_LOG_H_
