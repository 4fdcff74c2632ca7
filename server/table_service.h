// eris.v1.Tables: hands each call to its class. gRPC's threads take the calls; those that may block
// in the engine run on the control thread.
#ifndef ERIS_SERVER_TABLE_SERVICE_H_
#define ERIS_SERVER_TABLE_SERVICE_H_

#include "eris/v1/table.grpc.pb.h"
#include "server/server_state.h"

namespace eris::server {

class TableService final : public v1::Tables::CallbackService {
 public:
  // `server` outlives the service.
  explicit TableService(ServerState* server) : server_(*server) {}

  grpc::ServerUnaryReactor* CreateTable(grpc::CallbackServerContext* context,
                                        const v1::CreateTableRequest* request,
                                        v1::CreateTableResponse* response) override;
  grpc::ServerUnaryReactor* GetTable(grpc::CallbackServerContext* context,
                                     const v1::GetTableRequest* request,
                                     v1::GetTableResponse* response) override;
  grpc::ServerUnaryReactor* WriteRows(grpc::CallbackServerContext* context,
                                      const v1::WriteRowsRequest* request,
                                      v1::WriteRowsResponse* response) override;
  grpc::ServerBidiReactor<v1::WriteRowsRequest, v1::WriteRowsStreamResponse>* WriteRowsStream(
      grpc::CallbackServerContext* context) override;
  grpc::ServerUnaryReactor* EraseRows(grpc::CallbackServerContext* context,
                                      const v1::EraseRowsRequest* request,
                                      v1::EraseRowsResponse* response) override;
  grpc::ServerUnaryReactor* LookupRows(grpc::CallbackServerContext* context,
                                       const v1::LookupRowsRequest* request,
                                       v1::LookupRowsResponse* response) override;
  grpc::ServerWriteReactor<v1::ScanTableResponse>* ScanTable(
      grpc::CallbackServerContext* context, const v1::ScanTableRequest* request) override;
  grpc::ServerUnaryReactor* ScanInto(grpc::CallbackServerContext* context,
                                     const v1::ScanIntoRequest* request,
                                     v1::ScanIntoResponse* response) override;
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
