#include "server/tables/table_scan_call.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/guard/rpc_status.h"
#include "server/tables/table_messages.h"
#include "server/tables/table_rows.h"
#include "wire/tables.h"

namespace eris::server {

TableScanCall* TableScanCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new TableScanCall(server, context);
  call->Arrive();
  return call;
}

absl::Status TableScanCall::Open(const v1::ScanTableRequest& request, ByteBudget::Charge charge) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.table()));
  // For the query, which is about as large, and lives as long as the scan.
  charge_ = std::move(charge);
  charge_.Shrink(std::min<uint64_t>(charge_.bytes(), request.SpaceUsedLong()));
  ERIS_ASSIGN_OR_RETURN(Query query, wire::QueryFrom(request.query()));
  has_tokens_ = query.aggregates.empty() && query.group_by.empty();
  fingerprint_ = QueryFingerprint(request.table(), request.query());
  ERIS_RETURN_IF_ERROR(SetStart(request, query));
  session_ = server_.sessions.Borrow();
  ERIS_ASSIGN_OR_RETURN(scan_, session_->OpenTableScan(request.table(), query));
  stop_->Attach(scan_.get());
  const bool one_row = !query.aggregates.empty() && query.group_by.empty();
  message_bytes_ = ExpectedChunkBytes(scan_->schema(), one_row ? 1 : query.limit, kMessageBytes);
  if (!charge_.TryGrow(kCopies * message_bytes_)) {
    return OverBudgetStatus(server_.budget, kCopies * message_bytes_);
  }
  if (!use_ && has_tokens_ && server_.config.scan_resume_ms > 0) {
    use_ = server_.leases().AddForScan(scan_->snapshot(),
                                       std::chrono::milliseconds(server_.config.scan_resume_ms));
  }
  return absl::OkStatus();
}

absl::Status TableScanCall::SetStart(const v1::ScanTableRequest& request, Query& query) {
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
  absl::StatusOr<SnapshotLeases::Use> use = server_.leases().Find(lease);
  if (!use.ok() && !request.resume_token().empty()) {
    return absl::Status(
        use.status().code(),
        absl::StrCat(use.status().message(), "; that of a scan is kept for server.scan_resume_ms, ",
                     server_.config.scan_resume_ms, " ms, after its stream has broken"));
  }
  ERIS_RETURN_IF_ERROR(use.status());
  use_ = *std::move(use);
  query.snapshot = use_.snapshot();
  return absl::OkStatus();
}

void TableScanCall::FetchNext() {
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
  FillSchemaOnce();
  Write();
}

absl::Status TableScanCall::Fill(const Chunk& chunk) {
  const uint64_t bytes = ChunkBytes(chunk);
  if (bytes > message_bytes_) {
    if (!charge_.TryGrow(kCopies * (bytes - message_bytes_))) return AnswerOverBudgetStatus(bytes);
    message_bytes_ = bytes;
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
    wire::FillSchema(scan_->schema(), response_.mutable_schema());
  } else {
    several_ = true;
    response_.clear_schema();
  }
}

void TableScanCall::End(const absl::Status& status) {
  if (status.ok() && use_ && use_.of_scan()) {
    if (several_) {
      server_.leases().Shorten(use_.id(), kArrivalMax);
    } else {
      (void)server_.leases().Release(use_.id());
    }
  }
  ScanStream::End(status);
}

}  // namespace eris::server
