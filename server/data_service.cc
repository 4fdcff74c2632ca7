#include "server/data_service.h"

#include "server/aggregate_op.h"
#include "server/batch_ops.h"
#include "server/scan_call.h"
#include "server/stream_call.h"
#include "server/unary_call.h"

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
