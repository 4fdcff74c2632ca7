#include "server/data/scan_into_op.h"

#include <utility>

#include "base/status_macros.h"
#include "server/data/batch_request.h"
#include "wire/query.h"

namespace eris::server {

absl::StatusOr<ScanIntoOp::Plan> ScanIntoOp::Prepare(const CallScope& scope,
                                                     const Request& request) {
  Plan plan;
  ERIS_ASSIGN_OR_RETURN(plan.table, OpenObject(scope.session, request.table()));
  ERIS_ASSIGN_OR_RETURN(plan.target, OpenObject(scope.session, request.target()));
  ERIS_ASSIGN_OR_RETURN(plan.query,
                        wire::QueryFrom(plan.table.kind(), plan.table.schema(), request.query()));
  if (request.snapshot() != 0) {
    // The engine keeps the snapshot while it reads, possibly longer than the server exists.
    ERIS_ASSIGN_OR_RETURN(const SnapshotLeases::Use use, scope.leases.Find(request.snapshot()));
    plan.query.snapshot = use.snapshot();
  }
  plan.bytes = request.SpaceUsedLong() + sizeof(Response);
  return plan;
}

Session::StartedCall ScanIntoOp::Start(Session& session, const Plan& plan, Request&,
                                       Session::ScanIntoCallback done) {
  return session.ScanIntoAsync(plan.table, plan.query, plan.target, std::move(done));
}

absl::Status ScanIntoOp::Fill(const Shape&, const absl::StatusOr<uint64_t>& rows,
                              Response* response) {
  if (!rows.ok()) return rows.status();
  response->set_rows(*rows);
  return absl::OkStatus();
}

}  // namespace eris::server
