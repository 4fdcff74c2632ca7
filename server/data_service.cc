#include "server/data_service.h"

#include "server/aggregate_op.h"
#include "server/batch_ops.h"
#include "server/scan_call.h"
#include "server/stream_call.h"
#include "server/unary_call.h"

namespace eris::server {

grpc::ServerUnaryReactor* DataService::Lookup(grpc::CallbackServerContext* context,
                                              const v1::LookupRequest* request,
                                              v1::LookupResponse* response) {
  return UnaryCall<LookupOp>::Begin(server_, *context, *request, response);
}

grpc::ServerUnaryReactor* DataService::Upsert(grpc::CallbackServerContext* context,
                                              const v1::UpsertRequest* request,
                                              v1::UpsertResponse* response) {
  return UnaryCall<UpsertOp>::Begin(server_, *context, *request, response);
}

grpc::ServerUnaryReactor* DataService::Erase(grpc::CallbackServerContext* context,
                                             const v1::EraseRequest* request,
                                             v1::EraseResponse* response) {
  return UnaryCall<EraseOp>::Begin(server_, *context, *request, response);
}

grpc::ServerUnaryReactor* DataService::Write(grpc::CallbackServerContext* context,
                                             const v1::WriteRequest* request,
                                             v1::WriteResponse* response) {
  return UnaryCall<WriteOp>::Begin(server_, *context, *request, response);
}

grpc::ServerBidiReactor<v1::LookupRequest, v1::LookupStreamResponse>* DataService::LookupStream(
    grpc::CallbackServerContext* context) {
  return StreamCall<LookupOp>::Begin(server_, *context);
}

grpc::ServerBidiReactor<v1::UpsertRequest, v1::UpsertStreamResponse>* DataService::UpsertStream(
    grpc::CallbackServerContext* context) {
  return StreamCall<UpsertOp>::Begin(server_, *context);
}

grpc::ServerBidiReactor<v1::WriteRequest, v1::WriteStreamResponse>* DataService::WriteStream(
    grpc::CallbackServerContext* context) {
  return StreamCall<WriteOp>::Begin(server_, *context);
}

grpc::ServerWriteReactor<v1::ScanResponse>* DataService::Scan(grpc::CallbackServerContext* context,
                                                              const v1::ScanRequest* request) {
  return ScanCall::Begin(server_, *context, *request);
}

grpc::ServerUnaryReactor* DataService::Aggregate(grpc::CallbackServerContext* context,
                                                 const v1::AggregateRequest* request,
                                                 v1::AggregateResponse* response) {
  return UnaryCall<AggregateOp>::Begin(server_, *context, *request, response);
}

}  // namespace eris::server
