// Writes of rows, in all modes: an operation as described in call_scope.h.
#ifndef ERIS_SERVER_DATA_WRITE_OP_H_
#define ERIS_SERVER_DATA_WRITE_OP_H_

#include <cstdint>

#include "server/calls/call_scope.h"
#include "server/data/batch_request.h"

namespace eris::server {

struct WriteOp {
  static constexpr bool kIsWrite = true;
  using Request = v1::WriteRequest;
  using Response = v1::WriteResponse;
  using StreamResponse = v1::WriteStreamResponse;
  struct Shape {
    WriteMode mode = WriteMode::kUpsert;
    wire::ColumnTypes columns{};  // returned columns: for conditional writes the value
  };
  struct Plan {
    Object object;
    Shape shape;
    uint64_t bytes = 0;
  };
  static uint64_t RequestBytes(const Request& request);
  static absl::StatusOr<Plan> Prepare(const CallScope& scope, const Request& request);
  static Session::StartedCall Start(Session& session, const Plan& plan, Request& request,
                                    Session::Callback done);
  // OK even if the result is not, if any row was executed: the answer tells which.
  static absl::Status Fill(const Shape& shape, BatchResult& result, Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_WRITE_OP_H_
