// Aggregates of key ranges: an operation as described in call_scope.h.
#ifndef ERIS_SERVER_DATA_AGGREGATE_OP_H_
#define ERIS_SERVER_DATA_AGGREGATE_OP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/calls/call_scope.h"

namespace eris::server {

struct AggregateOp {
  static constexpr bool kIsWrite = false;
  using Request = v1::AggregateRequest;
  using Response = v1::AggregateResponse;
  using Shape = Object;  // the object whose keys the answer has
  struct Plan {
    AggregateOptions options;
    Shape shape;
    uint64_t bytes = 0;
  };
  static absl::StatusOr<Plan> Prepare(const CallScope& scope, const Request& request);
  static Session::StartedCall Start(Session& session, const Plan& plan, Request& request,
                                    Session::AggregateCallback done);
  static absl::Status Fill(const Shape& shape, const absl::StatusOr<RangeAggregate>& rows,
                           Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_AGGREGATE_OP_H_
