#include "server/table_scan_call.h"

#include <chrono>
#include <utility>

#include "base/status_macros.h"
#include "server/rpc_status.h"
#include "server/table_messages.h"
#include "server/table_rows.h"
#include "server/unary_call.h"

namespace eris::server {

TableScanCall* TableScanCall::Begin(ServerState& server, grpc::CallbackServerContext& context,
                                    const v1::ScanTableRequest& request) {
  auto* call = new TableScanCall(server, context);
  const absl::Status status = call->Open(request);
  if (status.ok()) {
    call->Fetch();
  } else {
    call->End(status);
  }
  return call;
}

absl::Status TableScanCall::Open(const v1::ScanTableRequest& request) {
  stay_ = server_.gate.TryEnter(stop_);
  if (!stay_) return DrainGate::RefusedStatus();
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.table()));
  charge_ = server_.budget.TryTake(kMessageBytes);
  if (!charge_) return OverBudgetStatus(server_.budget, kMessageBytes);
  ERIS_ASSIGN_OR_RETURN(TableQuery query, QueryFrom(request.query()));
  has_tokens_ = query.aggregates.empty() && query.group_by.empty();
  fingerprint_ = QueryFingerprint(request.table(), request.query());
  ERIS_RETURN_IF_ERROR(SetStart(request, query));
  session_ = server_.sessions.Borrow();
  ERIS_ASSIGN_OR_RETURN(scan_, session_->OpenTableScan(request.table(), query));
  stop_->Attach(scan_.get());
  if (!use_ && has_tokens_ && server_.config.scan_resume_ms > 0) {
    use_ = server_.leases().AddForScan(scan_->snapshot(),
                                       std::chrono::milliseconds(server_.config.scan_resume_ms));
  }
  return absl::OkStatus();
}

absl::Status TableScanCall::SetStart(const v1::ScanTableRequest& request, TableQuery& query) {
  uint64_t lease = request.snapshot();
  if (!request.resume_token().empty()) {
    if (request.snapshot() != 0) {
      return absl::InvalidArgumentError(
          "resume_token and snapshot are set: the token brings its own snapshot");
    }
    if (!has_tokens_) {
      return absl::InvalidArgumentError("resume_token is set, but aggregates are not resumed");
    }
    ERIS_ASSIGN_OR_RETURN(TableScanPoint point,
                          server_.table_tokens.Decode(request.resume_token()));
    if (point.fingerprint != fingerprint_) {
      return absl::InvalidArgumentError(
          "resume_token is of another table or query; all but the limit must be the same");
    }
    lease = point.lease;
    query.resume = std::move(point.place);
  }
  if (lease == 0) return absl::OkStatus();
  ERIS_ASSIGN_OR_RETURN(use_, server_.leases().Find(lease));
  query.snapshot = use_.snapshot();
  return absl::OkStatus();
}

void TableScanCall::Fetch() {
  if (const auto reason = stop_->reason()) return End(*reason);
  scan_->NextAsync([this](TableScan::NextResult chunk) { OnChunk(std::move(chunk)); });
}

void TableScanCall::OnChunk(TableScan::NextResult chunk) {
  if (const auto reason = stop_->reason()) return End(*reason);
  if (!chunk.ok()) return End(chunk.status());
  if (*chunk == nullptr) {
    if (!first_) return End(absl::OkStatus());
    last_ = true;
    response_.mutable_rows();
  } else {
    if (absl::Status status = Fill(**chunk); !status.ok()) return End(status);
    chunk->reset();  // before the write: an AEU may fill it while the client reads this one
  }
  Write();
}

absl::Status TableScanCall::Fill(const TableChunk& chunk) {
  const uint64_t bytes = ChunkBytes(chunk);
  if (bytes > charge_.bytes() && !charge_.TryGrow(bytes - charge_.bytes())) {
    return AnswerOverBudgetStatus(bytes);
  }
  FillRows(chunk, response_.mutable_rows());
  if (use_ && has_tokens_) {
    response_.set_resume_token(server_.table_tokens.Encode(
        {.lease = use_.id(), .fingerprint = fingerprint_, .place = chunk.resume()}));
  }
  return absl::OkStatus();
}

void TableScanCall::FillSchemaOnce() {
  if (std::exchange(first_, false)) {
    FillSchema(scan_->schema(), response_.mutable_schema());
  } else {
    several_ = true;
    response_.clear_schema();
  }
}

void TableScanCall::Write() {
  FillSchemaOnce();
  stall_.Begin();
  StartWrite(&response_);
}

void TableScanCall::End(const absl::Status& status) {
  if (status.ok() && use_ && use_.of_scan()) {
    if (several_) {
      server_.leases().Shorten(use_.id(), kArrivalMax);
    } else {
      (void)server_.leases().Release(use_.id());
    }
  }
  stall_.Begin();  // the status waits behind the last chunk
  Finish(ToRpcStatus(status));
}

void TableScanCall::OnWriteDone(bool ok) {
  stall_.End();
  if (!ok) return End(stop_->reason().value_or(absl::CancelledError("the client has gone")));
  if (last_) return End(absl::OkStatus());
  Fetch();
}

void TableScanCall::OnCancel() { stop_->Stop(CancelledStatus(context_)); }

void TableScanCall::OnDone() {
  stop_->Detach();
  delete this;
}

}  // namespace eris::server
