// eris.v1.Catalog. gRPC's threads accept the calls, the control thread runs them.
#ifndef ERIS_SERVER_ADMIN_CATALOG_SERVICE_H_
#define ERIS_SERVER_ADMIN_CATALOG_SERVICE_H_

#include "eris/v1/catalog.grpc.pb.h"
#include "server/calls/raw_service.h"
#include "server/state/server_state.h"

namespace eris::server {

class CatalogService final : public RawService<v1::Catalog> {
 public:
  // `server` outlives the service.
  explicit CatalogService(ServerState* server);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ADMIN_CATALOG_SERVICE_H_
