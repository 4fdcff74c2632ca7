#include "server/aggregate_op.h"

#include <utility>

#include "base/status_macros.h"
#include "server/columns.h"
#include "server/ranges.h"
#include "server/rpc_status.h"

namespace eris::server {

uint64_t AggregateOp::Bytes(const Request& request) {
  return request.SpaceUsedLong() + sizeof(Response);
}

absl::StatusOr<std::shared_ptr<Pending>> AggregateOp::Start(Session& session,
                                                            const Request& request,
                                                            Session::AggregateCallback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  AggregateOptions options;
  ERIS_ASSIGN_OR_RETURN(options.range, RangeOf(request.range()));
  if (request.has_values()) {
    ERIS_ASSIGN_OR_RETURN(options.values, ValuesOf(request.values()));
  }
  options.count_only = request.count_only();
  return session.AggregateAsync(request.object(), options, std::move(done));
}

absl::Status AggregateOp::Fill(const absl::StatusOr<RangeAggregate>& result, Response* response) {
  if (!result.ok()) return result.status();
  response->set_count(result->count);
  // A count alone leaves the keys as they were.
  if (result->count == 0 || result->first_key > result->last_key) return absl::OkStatus();
  response->set_min(result->min);
  response->set_max(result->max);
  response->set_sum_low(result->sum_low);
  response->set_sum_high(result->sum_high);
  response->set_first_key(result->first_key);
  response->set_last_key(result->last_key);
  return absl::OkStatus();
}

}  // namespace eris::server
