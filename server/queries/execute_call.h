// One query as a server stream of chunks. While it runs it can be listed and cancelled.
#ifndef ERIS_SERVER_QUERIES_EXECUTE_CALL_H_
#define ERIS_SERVER_QUERIES_EXECUTE_CALL_H_

#include <grpcpp/grpcpp.h>

#include "eris/v1/queries.pb.h"
#include "server/calls/chunk_stream.h"
#include "server/guard/running_queries.h"
#include "server/state/server_state.h"

namespace eris::server {

class ExecuteCall final : public ChunkStream<v1::ExecuteRequest, v1::ExecuteResponse> {
 public:
  // gRPC owns the result.
  static ExecuteCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  ExecuteCall(ServerState& server, grpc::CallbackServerContext& context)
      : ChunkStream(server, context) {}

  absl::Status Open(const v1::ExecuteRequest& request) override;
  void OnWrite(bool first, v1::ExecuteResponse& response) override;

  RunningQueries::Stay running_;  // owned by the running step
};

}  // namespace eris::server

#endif  // ERIS_SERVER_QUERIES_EXECUTE_CALL_H_
