#include "server/data/data_service.h"

#include "server/calls/stream_call.h"
#include "server/calls/unary_call.h"
#include "server/data/aggregate_op.h"
#include "server/data/batch_ops.h"
#include "server/data/scan_call.h"

namespace eris::server {

DataService::DataService(ServerState* server) {
  Serve("Lookup", UnaryCall<LookupOp>::Beginner(*server));
  Serve("Upsert", UnaryCall<UpsertOp>::Beginner(*server));
  Serve("Erase", UnaryCall<EraseOp>::Beginner(*server));
  Serve("Write", UnaryCall<WriteOp>::Beginner(*server));
  Serve("Aggregate", UnaryCall<AggregateOp>::Beginner(*server));
  Serve("LookupStream", StreamCall<LookupOp>::Beginner(*server));
  Serve("UpsertStream", StreamCall<UpsertOp>::Beginner(*server));
  Serve("WriteStream", StreamCall<WriteOp>::Beginner(*server));
  Serve("Scan", [server](grpc::CallbackServerContext& context) {
    return ScanCall::Begin(*server, context);
  });
}

}  // namespace eris::server
