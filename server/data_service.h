// eris.v1.Data: hands each call to its class. gRPC's threads.
#ifndef ERIS_SERVER_DATA_SERVICE_H_
#define ERIS_SERVER_DATA_SERVICE_H_

#include "eris/v1/data.grpc.pb.h"
#include "server/server_state.h"

namespace eris::server {

class DataService final : public v1::Data::CallbackService {
 public:
  // `server` outlives the service.
  explicit DataService(ServerState* server) : server_(*server) {}

  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context,
                                   const v1::LookupRequest* request,
                                   v1::LookupResponse* response) override;
  grpc::ServerUnaryReactor* Upsert(grpc::CallbackServerContext* context,
                                   const v1::UpsertRequest* request,
                                   v1::UpsertResponse* response) override;
  grpc::ServerUnaryReactor* Erase(grpc::CallbackServerContext* context,
                                  const v1::EraseRequest* request,
                                  v1::EraseResponse* response) override;
  grpc::ServerUnaryReactor* Write(grpc::CallbackServerContext* context,
                                  const v1::WriteRequest* request,
                                  v1::WriteResponse* response) override;
  grpc::ServerBidiReactor<v1::LookupRequest, v1::LookupStreamResponse>* LookupStream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::UpsertRequest, v1::UpsertStreamResponse>* UpsertStream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerBidiReactor<v1::WriteRequest, v1::WriteStreamResponse>* WriteStream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerWriteReactor<v1::ScanResponse>* Scan(grpc::CallbackServerContext* context,
                                                   const v1::ScanRequest* request) override;
  grpc::ServerUnaryReactor* Aggregate(grpc::CallbackServerContext* context,
                                      const v1::AggregateRequest* request,
                                      v1::AggregateResponse* response) override;

 private:
  ServerState& server_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SERVICE_H_
