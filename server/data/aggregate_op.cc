#include "server/data/aggregate_op.h"

#include <utility>

#include "base/status_macros.h"
#include "server/data/batch_request.h"
#include "wire/query.h"

namespace eris::server {

absl::StatusOr<AggregateOp::Plan> AggregateOp::Prepare(const CallScope& scope,
                                                       const Request& request) {
  Plan plan;
  ERIS_ASSIGN_OR_RETURN(plan.shape, OpenObject(scope.session, request.object()));
  ERIS_ASSIGN_OR_RETURN(
      plan.options, wire::AggregateOptionsFrom(plan.shape.kind(), plan.shape.schema(), request));
  if (request.snapshot() != 0) {
    // The engine keeps the snapshot while it reads, possibly longer than the server exists.
    ERIS_ASSIGN_OR_RETURN(const SnapshotLeases::Use use, scope.leases.Find(request.snapshot()));
    plan.options.snapshot = use.snapshot();
  }
  plan.bytes = request.SpaceUsedLong() + sizeof(Response);
  return plan;
}

Session::StartedCall AggregateOp::Start(Session& session, const Plan& plan, Request&,
                                        Session::AggregateCallback done) {
  return session.AggregateAsync(plan.shape, plan.options, std::move(done));
}

absl::Status AggregateOp::Fill(const Shape& shape, const absl::StatusOr<RangeAggregate>& rows,
                               Response* response) {
  if (!rows.ok()) return rows.status();
  wire::FillAggregate(shape.schema(), *rows, response);
  return absl::OkStatus();
}

}  // namespace eris::server
