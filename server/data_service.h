// eris.v1.Data: hands each call to its class. gRPC's threads.
#ifndef ERIS_SERVER_DATA_SERVICE_H_
#define ERIS_SERVER_DATA_SERVICE_H_

#include "eris/v1/data.grpc.pb.h"
#include "server/raw_service.h"
#include "server/server_state.h"

namespace eris::server {

class DataService final
    : public RawService<v1::Data, v1::Data::WithCallbackMethod_Scan<v1::Data::Service>> {
 public:
  // `server` outlives the service.
  explicit DataService(ServerState* server);

  grpc::ServerWriteReactor<v1::ScanResponse>* Scan(grpc::CallbackServerContext* context,
                                                   const v1::ScanRequest* request) override;

 private:
  ServerState& server_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SERVICE_H_
