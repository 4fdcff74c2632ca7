#include "server/data/scan_call.h"

#include <xxhash.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/data/batch_request.h"
#include "wire/columns.h"
#include "wire/query.h"
#include "wire/schema.h"

namespace eris::server {

uint64_t QueryFingerprint(const v1::Query& message) {
  v1::Query query = message;
  query.clear_limit();
  // This program serializes both, so equal queries are equal bytes.
  const std::string bytes = query.SerializeAsString();
  return XXH3_64bits(bytes.data(), bytes.size());
}

ScanCall* ScanCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  auto* call = new ScanCall(server, context);
  call->Arrive(call->stop_);
  return call;
}

void ScanCall::OnRequest(v1::ScanRequest& request, ByteBudget::Charge charge) {
  const absl::Status opened = Open(request, std::move(charge));
  opened.ok() ? Fetch() : End(opened);
}

void ScanCall::OnWriteDone(bool ok) {
  EndWrite();
  if (!ok) return End(stop_->reason().value_or(absl::CancelledError("the client has gone")));
  if (last_) return End(absl::OkStatus());
  Fetch();
}

void ScanCall::OnDone() {
  stop_->Detach();
  ArrivingCall::OnDone();
}

absl::Status ScanCall::Open(const v1::ScanRequest& request, ByteBudget::Charge charge) {
  // Charge for the query, which is about as large as the request and exists as long as the scan.
  charge_ = std::move(charge);
  charge_.Shrink(std::min<uint64_t>(charge_.bytes(), request.SpaceUsedLong()));
  session_ = server_.sessions.Borrow();
  ERIS_ASSIGN_OR_RETURN(const Object object, OpenObject(*session_, request.object()));
  object_ = object.id();
  ordered_ = object.kind() == ObjectKind::kIndex;
  ERIS_ASSIGN_OR_RETURN(Query query,
                        wire::QueryFrom(object.kind(), object.schema(), request.query()));
  has_tokens_ = query.aggregates.empty() && query.group_by.empty();
  fingerprint_ = QueryFingerprint(request.query());
  ERIS_RETURN_IF_ERROR(SetStart(request, query));
  ERIS_ASSIGN_OR_RETURN(scan_, session_->OpenScan(object, query));
  stop_->Attach(scan_.get());
  rows_left_ = query.limit;
  const bool one_row = !query.aggregates.empty() && query.group_by.empty();
  message_bytes_ =
      wire::ExpectedChunkBytes(scan_->schema(), one_row ? 1 : query.limit, kMessageBytes);
  if (!charge_.TryGrow(kCopies * message_bytes_)) {
    return OverBudgetStatus(server_.budget, kCopies * message_bytes_);
  }
  if (!ordered_ && !use_ && has_tokens_ && server_.config.scan_resume_ms > 0) {
    use_ = server_.leases().AddForScan(scan_->snapshot(),
                                       std::chrono::milliseconds(server_.config.scan_resume_ms));
  }
  return absl::OkStatus();
}

absl::Status ScanCall::SetPlace(const v1::ScanRequest& request, Query& query, uint64_t& lease) {
  if (request.snapshot() != 0) {
    return absl::InvalidArgumentError(
        "resume_token and snapshot are set: the token brings its own snapshot");
  }
  if (!has_tokens_) {
    return absl::InvalidArgumentError("resume_token is set, but aggregates are not resumed");
  }
  ERIS_ASSIGN_OR_RETURN(ResumePoint point, server_.tokens.Decode(request.resume_token()));
  if (point.object != object_) {
    for (const ObjectInfo& other : server_.engine->List()) {
      if (other.id != point.object) continue;
      return absl::InvalidArgumentError(absl::StrCat("resume_token is of object ", other.name,
                                                     ", the request names ", request.object()));
    }
    return absl::NotFoundError("the object of the resume_token has been dropped");
  }
  if (point.fingerprint != fingerprint_) {
    return absl::InvalidArgumentError(
        "resume_token is of another query: all but the limit must be the same");
  }
  lease = point.lease;
  new_snapshot_ = lease == 0;
  query.resume = std::move(point.place);
  return absl::OkStatus();
}

absl::Status ScanCall::SetStart(const v1::ScanRequest& request, Query& query) {
  uint64_t lease = request.snapshot();
  const bool resumes = !request.resume_token().empty();
  if (resumes) ERIS_RETURN_IF_ERROR(SetPlace(request, query, lease));
  if (lease == 0) return absl::OkStatus();
  absl::StatusOr<SnapshotLeases::Use> use = server_.leases().Find(lease);
  if (!use.ok() && resumes) {
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

void ScanCall::Fetch() {
  if (const auto reason = stop_->reason()) return End(*reason);
  scan_->NextAsync([this](Scan::NextResult chunk) { OnChunk(std::move(chunk)); });
}

void ScanCall::OnChunk(Scan::NextResult chunk) {
  if (const auto reason = stop_->reason()) return End(*reason);
  if (!chunk.ok()) return End(chunk.status());
  if (*chunk == nullptr) {
    if (!first_) return End(absl::OkStatus());
    last_ = true;
  } else {
    if (absl::Status status = Fill(**chunk); !status.ok()) return End(status);
    chunk->reset();  // before the write: an AEU may fill it while the client reads this one
  }
  FillSchemaOnce();
  Write(response_);
}

absl::Status ScanCall::Fill(const Chunk& chunk) {
  const uint64_t bytes = wire::ChunkBytes(chunk);
  if (bytes > message_bytes_) {
    if (!charge_.TryGrow(kCopies * (bytes - message_bytes_))) return AnswerOverBudgetStatus(bytes);
    message_bytes_ = bytes;
  }
  response_.set_rows(chunk.rows());
  wire::FillColumns(chunk, /*take_strings=*/ordered_, response_.mutable_columns());
  const std::string place = has_tokens_ ? chunk.resume() : std::string();
  const bool limit_reached = rows_left_ != 0 && chunk.rows() >= rows_left_;
  if (rows_left_ != 0 && !limit_reached) rows_left_ -= chunk.rows();
  last_ = limit_reached || (ordered_ && place.empty());
  if (last_ || place.empty() || !(ordered_ || use_)) {
    response_.clear_resume_token();
  } else {
    response_.set_resume_token(server_.tokens.Encode({.object = object_,
                                                      .lease = use_ ? use_.id() : 0,
                                                      .fingerprint = fingerprint_,
                                                      .place = place}));
  }
  return absl::OkStatus();
}

void ScanCall::FillSchemaOnce() {
  response_.set_new_snapshot(first_ && new_snapshot_);
  if (std::exchange(first_, false)) {
    wire::FillSchema(scan_->schema(), response_.mutable_schema());
  } else {
    several_ = true;
    response_.clear_schema();
  }
}

void ScanCall::End(const absl::Status& status) {
  if (status.ok() && use_ && use_.of_scan()) {
    if (several_) {
      server_.leases().Shorten(use_.id(), kArrivalMax);
    } else {
      (void)server_.leases().Release(use_.id());
    }
  }
  Respond(status);  // it is sent after the last chunk
}

}  // namespace eris::server
