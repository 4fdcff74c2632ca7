#include "server/data/aggregate_op.h"

#include <utility>

#include "base/status_macros.h"
#include "server/data/columns.h"
#include "server/data/ranges.h"
#include "server/guard/rpc_status.h"
#include "wire/keys.h"

namespace eris::server {

uint64_t AggregateOp::Bytes(const Request& request) {
  return request.SpaceUsedLong() + sizeof(Response);
}

absl::StatusOr<std::shared_ptr<Pending>> AggregateOp::Start(
    Session& session, const Request& request, std::function<void(AggregateResult)> done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.object()));
  AggregateOptions options;
  ERIS_ASSIGN_OR_RETURN(const KeyTypes types, session.KeyTypesOf(request.object()));
  ERIS_ASSIGN_OR_RETURN(options.range, wire::RangeFrom("range", types, request.range()));
  if (request.has_values()) {
    ERIS_ASSIGN_OR_RETURN(options.values, ValuesOf(request.values()));
  }
  options.count_only = request.count_only();
  return session.AggregateAsync(
      request.object(), options,
      [types, done = std::move(done)](absl::StatusOr<RangeAggregate> rows) {
        done({types, std::move(rows)});
      });
}

absl::Status AggregateOp::Fill(const AggregateResult& result, Response* response) {
  if (!result.rows.ok()) return result.rows.status();
  const RangeAggregate& rows = *result.rows;
  response->set_count(rows.count);
  // A count alone leaves the keys as they were.
  if (rows.count == 0 || rows.first_key > rows.last_key) return absl::OkStatus();
  response->set_min(rows.min);
  response->set_max(rows.max);
  response->set_sum_low(rows.sum_low);
  response->set_sum_high(rows.sum_high);
  const KeyTypes& types = result.key_type;
  wire::FillKey(types.first, rows.first_key, response->mutable_first_key());
  wire::FillKey(types.first, rows.last_key, response->mutable_last_key());
  if (types.two_parts()) {
    wire::FillKey(*types.second, rows.first_second, response->mutable_first_second());
    wire::FillKey(*types.second, rows.last_second, response->mutable_last_second());
  }
  return absl::OkStatus();
}

}  // namespace eris::server
