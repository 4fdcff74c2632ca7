// One query that is analysed: run, with a text in place of its rows. While it runs it can be listed
// and cancelled. Begins on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_QUERIES_ANALYZE_CALL_H_
#define ERIS_SERVER_QUERIES_ANALYZE_CALL_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "absl/status/status.h"
#include "eris/engine.h"
#include "eris/v1/queries.pb.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/running_queries.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"

namespace eris::server {

class AnalyzeCall final : public ArrivingCall<v1::AnalyzeRequest> {
 public:
  // gRPC owns the result.
  static AnalyzeCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  AnalyzeCall(ServerState& server, grpc::CallbackServerContext& context)
      : ArrivingCall(server, context, CallWay::kRead, /*whole_call=*/false) {}

  void OnRequest(v1::AnalyzeRequest& request, ByteBudget::Charge charge) override;
  void OnNoRequest(const absl::Status& why) override { Respond(why); }
  void OnDone() override;

  // Errors: as ExecuteCall::Open.
  absl::Status Open(const v1::AnalyzeRequest& request);
  // A completion thread of the engine.
  void OnText(Scan::NextResult text);

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the running step.
  SessionPool::Lease session_;
  std::unique_ptr<Scan> query_;
  ByteBudget::Charge charge_;  // for the request, which is about as large as the engine's copy
  RunningQueries::Stay running_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_QUERIES_ANALYZE_CALL_H_
