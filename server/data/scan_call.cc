#include "server/data/scan_call.h"

#include <xxhash.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "server/data/batch_request.h"
#include "wire/query.h"

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
  call->ChunkStream::Begin();
  return call;
}

absl::Status ScanCall::Open(const v1::ScanRequest& request) {
  ERIS_ASSIGN_OR_RETURN(object_, OpenObject(*session_, request.object()));
  ordered_ = object_.kind() == ObjectKind::kIndex;
  take_strings_ = ordered_;
  ERIS_ASSIGN_OR_RETURN(Query query,
                        wire::QueryFrom(object_.kind(), object_.schema(), request.query()));
  has_tokens_ = query.aggregates.empty() && query.group_by.empty();
  parks_ = true;
  fingerprint_ = QueryFingerprint(request.query());
  ERIS_RETURN_IF_ERROR(SetStart(request, query));
  ERIS_ASSIGN_OR_RETURN(std::unique_ptr<Scan> scan, session_->OpenScan(object_, query));
  query.snapshot = scan->snapshot();
  const bool one_row = !query.aggregates.empty() && query.group_by.empty();
  ERIS_RETURN_IF_ERROR(Attach(std::move(scan), one_row ? 1 : query.limit));
  if (!ordered_ && !use_ && has_tokens_ && server_.live.scan_resume_ms() > 0) {
    use_ = server_.leases().AddForScan(ClientOf(context_), query.snapshot,
                                       std::chrono::milliseconds(server_.live.scan_resume_ms()));
  }
  rest_ = ScanRest(object_.kind(), std::move(query));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Scan>> ScanCall::Reopen(const std::string& place) {
  return session_->OpenScan(object_, rest_.At(place));
}

absl::Status ScanCall::SetPlace(const v1::ScanRequest& request, Query& query, uint64_t& lease) {
  if (request.snapshot() != 0) {
    return Error(ErrorReason::kRequestInvalid,
                 "resume_token and snapshot are set: the token brings its own snapshot");
  }
  if (!has_tokens_) {
    return Error(ErrorReason::kRequestInvalid,
                 "resume_token is set, but aggregates are not resumed");
  }
  ERIS_ASSIGN_OR_RETURN(ResumePoint point, server_.tokens.Decode(request.resume_token()));
  if (point.object != object_.id()) {
    for (const ObjectInfo& other : server_.engine->List()) {
      if (other.id != point.object) continue;
      return Error(ErrorReason::kResumeTokenInvalid,
                   absl::StrCat("resume_token is of object ", other.name, ", the request names ",
                                request.object()));
    }
    return Error(ErrorReason::kObjectDropped, "the object of the resume_token has been dropped");
  }
  if (point.fingerprint != fingerprint_) {
    return Error(ErrorReason::kResumeTokenInvalid,
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
    return WithText(
        use.status(),
        absl::StrCat(use.status().message(), "; that of a scan is kept for server.scan_resume_ms, ",
                     server_.live.scan_resume_ms(), " ms, after its stream has broken"));
  }
  ERIS_RETURN_IF_ERROR(use.status());
  use_ = *std::move(use);
  query.snapshot = use_.snapshot();
  return absl::OkStatus();
}

ScanRest::Behind ScanCall::FillRest(const Chunk& chunk, v1::ScanResponse& response) {
  ScanRest::Behind behind = rest_.Take(chunk);
  if (behind.place && (ordered_ || use_)) {
    response.set_resume_token(server_.tokens.Encode({.object = object_.id(),
                                                     .lease = use_ ? use_.id() : 0,
                                                     .fingerprint = fingerprint_,
                                                     .place = *behind.place}));
  } else {
    response.clear_resume_token();
  }
  return behind;
}

void ScanCall::OnWrite(bool first, v1::ScanResponse& response) {
  response.set_new_snapshot(first && new_snapshot_);
  several_ |= !first;
}

void ScanCall::OnEnd(const absl::Status& status) {
  if (!status.ok() || !use_ || !use_.of_scan()) return;
  if (several_) {
    server_.leases().Shorten(use_.id(), kArrivalMax);
  } else {
    (void)server_.leases().Release(use_.id());
  }
}

}  // namespace eris::server
