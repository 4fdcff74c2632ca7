// ListFlights: the objects that can be scanned, as a stream with a message for each. They are
// listed on a thread for Flight's calls. Begins on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_FLIGHT_LIST_CALL_H_
#define ERIS_SERVER_FLIGHT_LIST_CALL_H_

#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "arrow/flight.pb.h"
#include "eris/types.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"

namespace eris::server {

class ListCall final : public ArrivingCall<arrow::flight::protocol::Criteria> {
 public:
  // gRPC owns the result.
  static ListCall* Begin(ServerState& server, grpc::CallbackServerContext& context);

 private:
  ListCall(ServerState& server, grpc::CallbackServerContext& context)
      : ArrivingCall(server, context, CallWay::kControl, /*whole_call=*/false) {}

  void OnRequest(arrow::flight::protocol::Criteria& request, ByteBudget::Charge charge) override;
  void OnNoRequest(const absl::Status& why) override { Respond(why); }
  void OnWriteDone(bool ok) override;

  // A thread of ServerState::flights.
  void List();
  void WriteNext();

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the running step.
  std::vector<ObjectInfo> objects_;
  size_t written_ = 0;
  ByteBudget::Charge charge_;  // for objects_
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_LIST_CALL_H_
