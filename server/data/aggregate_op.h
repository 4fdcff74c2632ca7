// Aggregates between message and engine, as the operations of batch_ops.h for UnaryCall. Any
// thread, no state.
#ifndef ERIS_SERVER_DATA_AGGREGATE_OP_H_
#define ERIS_SERVER_DATA_AGGREGATE_OP_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "eris/v1/data.pb.h"

namespace eris::server {

struct AggregateResult {
  KeyTypes key_type;  // of the object
  absl::StatusOr<RangeAggregate> rows;
};

struct AggregateOp {
  static constexpr bool kIsWrite = false;
  using Request = v1::AggregateRequest;
  using Response = v1::AggregateResponse;
  static uint64_t Bytes(const Request& request);
  // Errors: as Session::AggregateAsync, and InvalidArgument for the object's name.
  static absl::StatusOr<std::shared_ptr<Pending>> Start(Session& session, const Request& request,
                                                        std::function<void(AggregateResult)> done);
  static absl::Status Fill(const AggregateResult& result, Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_AGGREGATE_OP_H_
