// eris.v1.Tables: hands each call to its class. gRPC's threads take the calls; those that may block
// in the engine run on the control thread.
#ifndef ERIS_SERVER_TABLE_SERVICE_H_
#define ERIS_SERVER_TABLE_SERVICE_H_

#include "eris/v1/table.grpc.pb.h"
#include "server/raw_service.h"
#include "server/server_state.h"

namespace eris::server {

using TablesBase =
    v1::Tables::WithCallbackMethod_CreateTable<v1::Tables::WithCallbackMethod_GetTable<
        v1::Tables::WithCallbackMethod_ScanTable<v1::Tables::WithCallbackMethod_TakeSnapshot<
            v1::Tables::WithCallbackMethod_ReleaseSnapshot<v1::Tables::Service>>>>>;

class TableService final : public RawService<v1::Tables, TablesBase> {
 public:
  // `server` outlives the service.
  explicit TableService(ServerState* server);

  grpc::ServerUnaryReactor* CreateTable(grpc::CallbackServerContext* context,
                                        const v1::CreateTableRequest* request,
                                        v1::CreateTableResponse* response) override;
  grpc::ServerUnaryReactor* GetTable(grpc::CallbackServerContext* context,
                                     const v1::GetTableRequest* request,
                                     v1::GetTableResponse* response) override;
  grpc::ServerWriteReactor<v1::ScanTableResponse>* ScanTable(
      grpc::CallbackServerContext* context, const v1::ScanTableRequest* request) override;
  grpc::ServerUnaryReactor* TakeSnapshot(grpc::CallbackServerContext* context,
                                         const v1::TakeSnapshotRequest* request,
                                         v1::TakeSnapshotResponse* response) override;
  grpc::ServerUnaryReactor* ReleaseSnapshot(grpc::CallbackServerContext* context,
                                            const v1::ReleaseSnapshotRequest* request,
                                            v1::ReleaseSnapshotResponse* response) override;

 private:
  ServerState& server_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLE_SERVICE_H_
