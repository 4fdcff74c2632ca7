// Scans whose rows are written into another object: an operation as described in call_scope.h.
#ifndef ERIS_SERVER_DATA_SCAN_INTO_OP_H_
#define ERIS_SERVER_DATA_SCAN_INTO_OP_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/calls/call_scope.h"

namespace eris::server {

struct ScanIntoOp {
  static constexpr bool kIsWrite = true;
  using Request = v1::ScanIntoRequest;
  using Response = v1::ScanIntoResponse;
  struct Shape {};
  struct Plan {
    Object table;
    Object target;
    Query query;  // including its snapshot
    Shape shape{};
    uint64_t bytes = 0;
  };
  static absl::StatusOr<Plan> Prepare(const CallScope& scope, const Request& request);
  static Session::StartedCall Start(Session& session, const Plan& plan, Request& request,
                                    Session::ScanIntoCallback done);
  static absl::Status Fill(const Shape& shape, const absl::StatusOr<uint64_t>& rows,
                           Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_SCAN_INTO_OP_H_
