// eris.v1.Catalog. gRPC's threads take the calls, the control thread runs them.
#ifndef ERIS_SERVER_CATALOG_SERVICE_H_
#define ERIS_SERVER_CATALOG_SERVICE_H_

#include "eris/v1/catalog.grpc.pb.h"
#include "server/server_state.h"

namespace eris::server {

class CatalogService final : public v1::Catalog::CallbackService {
 public:
  // `server` outlives the service.
  explicit CatalogService(ServerState* server) : server_(*server) {}

  grpc::ServerUnaryReactor* CreateObject(grpc::CallbackServerContext* context,
                                         const v1::CreateObjectRequest* request,
                                         v1::CreateObjectResponse* response) override;
  grpc::ServerUnaryReactor* DropObject(grpc::CallbackServerContext* context,
                                       const v1::DropObjectRequest* request,
                                       v1::DropObjectResponse* response) override;
  grpc::ServerUnaryReactor* GetObject(grpc::CallbackServerContext* context,
                                      const v1::GetObjectRequest* request,
                                      v1::GetObjectResponse* response) override;
  grpc::ServerUnaryReactor* ListObjects(grpc::CallbackServerContext* context,
                                        const v1::ListObjectsRequest* request,
                                        v1::ListObjectsResponse* response) override;

 private:
  ServerState& server_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CATALOG_SERVICE_H_
