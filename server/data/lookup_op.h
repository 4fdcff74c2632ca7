// Lookups of rows by their keys: an operation as described in call_scope.h.
#ifndef ERIS_SERVER_DATA_LOOKUP_OP_H_
#define ERIS_SERVER_DATA_LOOKUP_OP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/calls/call_scope.h"
#include "server/data/batch_request.h"

namespace eris::server {

struct LookupOp {
  static constexpr bool kIsWrite = false;
  using Request = v1::LookupRequest;
  using Response = v1::LookupResponse;
  using StreamResponse = v1::LookupStreamResponse;
  using Shape = wire::ColumnTypes;  // types of the returned columns
  struct Plan {
    Object object;
    std::vector<std::string> columns;  // requested columns, by name
    Shape shape;
    uint64_t bytes = 0;
  };
  static uint64_t RequestBytes(const Request& request);
  static absl::StatusOr<Plan> Prepare(const CallScope& scope, const Request& request);
  static Session::StartedCall Start(Session& session, const Plan& plan, Request& request,
                                    Session::Callback done);
  // OK even if the result is not, if any key was executed: the answer tells which.
  static absl::Status Fill(const Shape& shape, BatchResult& result, Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_LOOKUP_OP_H_
