#include "clients/scan_reader.h"

#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "clients/client_stubs.h"
#include "clients/data_messages.h"
#include "clients/message_stream.h"
#include "clients/retries.h"
#include "wire/query.h"

namespace eris::client {

class ScanReader::Scan {
 public:
  Scan(const Client& client, const ObjectInfo& object, const Query& query, uint64_t snapshot)
      : stub_(*client.stubs().data),
        timeout_(client.options().timeout),
        keeps_snapshot_(object.kind == ObjectKind::kTable ||
                        object.kind == ObjectKind::kHeapTable) {
    request_.set_object(object.name);
    refusal_ = CheckSchema(object);
    if (refusal_.ok()) {
      refusal_ = wire::FillQuery(object.kind, object.schema, query, request_.mutable_query());
    }
    request_.set_snapshot(snapshot);
    request_.set_resume_token(query.resume);
  }

  absl::StatusOr<bool> Next(OwnedRows& rows);
  const Schema& schema() const { return chunks_.schema(); }
  bool new_snapshot() const { return new_snapshot_; }
  const std::string& resume_token() const { return request_.resume_token(); }
  uint32_t resumed() const { return resumed_; }

 private:
  absl::StatusOr<bool> NextRows(OwnedRows& rows);
  void Open();
  absl::Status Close();
  absl::Status Take(OwnedRows& rows);
  bool IsResumable(const absl::Status& status) const;

  // Immutable after construction.
  v1::Data::Stub& stub_;
  const absl::Duration timeout_;
  const bool keeps_snapshot_;  // resumes on the same snapshot

  // Owned by the calling thread.
  absl::Status refusal_;  // refused query: nothing is sent
  v1::ScanRequest request_;
  v1::ScanResponse response_;
  ChunkRows chunks_;
  std::optional<MessageStream<v1::ScanResponse>> stream_;
  std::optional<Retries> retries_{absl::Now() + timeout_};  // since the last response
  uint32_t resumed_ = 0;
  bool new_snapshot_ = false;
  bool progressed_ = false;  // progress since the stream was opened
  bool ended_ = false;
};

// Without progress since the last opening another attempt would end in the same way. A stream that
// the server has cut because it was not read for long is resumed only if the rows stay the same.
bool ScanReader::Scan::IsResumable(const absl::Status& status) const {
  return progressed_ && !request_.resume_token().empty() &&
         (IsBroken(status) || (keeps_snapshot_ && absl::IsResourceExhausted(status)));
}

void ScanReader::Scan::Open() {
  stream_.emplace(timeout_, [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub_.PrepareAsyncScan(context, request_, queue);
  });
  progressed_ = false;
}

absl::Status ScanReader::Scan::Close() {
  absl::Status status = stream_->Finish();
  stream_.reset();
  return status;
}

absl::StatusOr<bool> ScanReader::Scan::Next(OwnedRows& rows) {
  rows.rows = 0;
  new_snapshot_ = false;
  if (ended_) return false;
  absl::StatusOr<bool> more = refusal_.ok() ? NextRows(rows) : refusal_;
  if (!more.ok() || !*more) ended_ = true;
  return more;
}

absl::StatusOr<bool> ScanReader::Scan::NextRows(OwnedRows& rows) {
  while (rows.rows == 0) {
    if (!stream_) Open();
    if (stream_->Read(&response_)) {
      if (absl::Status status = Take(rows); !status.ok()) return status;
      continue;  // a response without rows has only the schema
    }
    const absl::Status status = Close();
    if (status.ok()) return false;
    if (IsResumable(status)) {
      ++resumed_;
      retries_.emplace(absl::Now() + timeout_);
      continue;
    }
    // Refused before its first row. After others it is only asked again for the same rows.
    if (resumed_ > 0 && !keeps_snapshot_) return status;
    if (progressed_ || !retries_->Wait(status)) return status;
  }
  return true;
}

absl::Status ScanReader::Scan::Take(OwnedRows& rows) {
  if (absl::Status status = chunks_.Take(response_, rows); !status.ok()) return status;
  new_snapshot_ |= response_.new_snapshot();
  progressed_ = true;
  request_.set_resume_token(response_.resume_token());
  if (!request_.resume_token().empty()) request_.clear_snapshot();  // the token includes it
  // The remaining limit.
  const uint64_t limit = request_.query().limit();
  if (limit != 0 && rows.rows >= limit) {
    ended_ = true;
    (void)Close();
  } else if (limit != 0) {
    request_.mutable_query()->set_limit(limit - rows.rows);
  }
  return absl::OkStatus();
}

ScanReader::ScanReader(const Client& client, const ObjectInfo& object, const Query& query,
                       uint64_t snapshot)
    : scan_(std::make_unique<Scan>(client, object, query, snapshot)) {}

ScanReader::~ScanReader() = default;

absl::StatusOr<bool> ScanReader::Next(OwnedRows& rows) { return scan_->Next(rows); }
const Schema& ScanReader::schema() const { return scan_->schema(); }
bool ScanReader::new_snapshot() const { return scan_->new_snapshot(); }
const std::string& ScanReader::resume_token() const { return scan_->resume_token(); }
uint32_t ScanReader::resumed() const { return scan_->resumed(); }

}  // namespace eris::client
