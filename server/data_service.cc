#include "server/data_service.h"

#include "server/aggregate_op.h"
#include "server/batch_ops.h"
#include "server/scan_call.h"
#include "server/stream_call.h"
#include "server/unary_call.h"

namespace eris::server {

DataService::DataService(ServerState* server) : server_(*server) {
  Serve("Lookup", UnaryCall<LookupOp>::Beginner(server_));
  Serve("Upsert", UnaryCall<UpsertOp>::Beginner(server_));
  Serve("Erase", UnaryCall<EraseOp>::Beginner(server_));
  Serve("Write", UnaryCall<WriteOp>::Beginner(server_));
  Serve("Aggregate", UnaryCall<AggregateOp>::Beginner(server_));
  Serve("LookupStream", StreamCall<LookupOp>::Beginner(server_));
  Serve("UpsertStream", StreamCall<UpsertOp>::Beginner(server_));
  Serve("WriteStream", StreamCall<WriteOp>::Beginner(server_));
}

grpc::ServerWriteReactor<v1::ScanResponse>* DataService::Scan(grpc::CallbackServerContext* context,
                                                              const v1::ScanRequest* request) {
  return ScanCall::Begin(server_, *context, *request);
}

}  // namespace eris::server
