// Aggregates between message and engine, as the operations of batch_ops.h for UnaryCall. Any
// thread, no state.
#ifndef ERIS_SERVER_AGGREGATE_OP_H_
#define ERIS_SERVER_AGGREGATE_OP_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "eris/v1/data.pb.h"

namespace eris::server {

struct AggregateOp {
  static constexpr bool kIsWrite = false;
  using Request = v1::AggregateRequest;
  using Response = v1::AggregateResponse;
  static uint64_t Bytes(const Request& request);
  // Errors: as Session::AggregateAsync, and InvalidArgument for the object's name.
  static absl::StatusOr<std::shared_ptr<Pending>> Start(Session& session, const Request& request,
                                                        Session::AggregateCallback done);
  static absl::Status Fill(const absl::StatusOr<RangeAggregate>& result, Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_AGGREGATE_OP_H_
