#include "clients/scan_reader.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/bytes_columns.h"
#include "clients/client_stubs.h"
#include "clients/columns.h"
#include "clients/message_stream.h"

namespace eris::client {

class ScanReader::Scan {
 public:
  Scan(const Client& client, v1::ScanRequest request, absl::Duration timeout,
       const KeyTypes& key_type, absl::Status refusal)
      : stub_(*client.stubs().data),
        timeout_(timeout),
        keys_only_(request.keys_only()),
        two_parts_(key_type.two_parts()),
        refusal_(std::move(refusal)),
        request_(std::move(request)) {}

  absl::StatusOr<bool> Next(ScanRows& rows);

 private:
  void Open();

  // Immutable after construction.
  v1::Data::Stub& stub_;
  const absl::Duration timeout_;
  const bool keys_only_;
  const bool two_parts_;

  // Owned by the calling thread.
  absl::Status refusal_;
  v1::ScanRequest request_;
  v1::ScanResponse response_;
  std::optional<MessageStream<v1::ScanResponse>> stream_;
  bool progressed_ = false;  // since the stream was opened
  bool ended_ = false;
};

void ScanReader::Scan::Open() {
  stream_.emplace(timeout_, [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub_.PrepareAsyncScan(context, request_, queue);
  });
  progressed_ = false;
}

absl::StatusOr<bool> ScanReader::Scan::Next(ScanRows& rows) {
  rows.keys.clear();
  rows.second_keys.clear();
  rows.values.clear();
  rows.bytes = {};
  if (ended_) return false;
  if (!refusal_.ok()) {
    ended_ = true;
    return refusal_;
  }
  if (!stream_) Open();
  while (!stream_->Read(&response_)) {
    const absl::Status status = stream_->Finish();
    if (status.ok()) {
      ended_ = true;
      return false;
    }
    // Without progress since the last opening a further attempt would meet the same end.
    const bool resumable = progressed_ && !request_.resume_token().empty() && IsBroken(status);
    if (!resumable) {
      ended_ = true;
      return status;
    }
    Open();
  }
  absl::Status status = FromKeyColumn(response_.keys(), rows.keys);
  if (status.ok() && response_.has_second_keys() != two_parts_) {
    status = absl::InvalidArgumentError(
        two_parts_ ? "keys of the object have one part, key_type has two"
                   : "keys of the object have two parts, key_type has one");
  } else if (status.ok() && two_parts_) {
    status = FromKeyColumn(response_.second_keys(), rows.second_keys);
    if (status.ok() && rows.keys.size() != rows.second_keys.size()) {
      status = absl::InternalError(absl::StrCat("the server sent ", rows.keys.size(), " first and ",
                                                rows.second_keys.size(),
                                                " second parts of keys in one scan chunk"));
    }
  }
  rows.has_bytes = !keys_only_ && response_.values().type() == v1::COLUMN_TYPE_BYTES;
  if (status.ok() && rows.has_bytes) {
    status = FromBytesColumn(*response_.mutable_values(), rows.keys.size(), rows.bytes);
  } else if (status.ok() && !keys_only_) {
    status = FromColumn(response_.values(), rows.values);
  }
  if (status.ok() && !keys_only_ && !rows.has_bytes && rows.keys.size() != rows.values.size()) {
    status = absl::InternalError(absl::StrCat("the server sent ", rows.keys.size(), " keys and ",
                                              rows.values.size(), " values in one scan chunk"));
  }
  if (!status.ok()) {
    ended_ = true;
    return status;
  }
  rows.new_snapshot = response_.new_snapshot();
  rows.resume_token = response_.resume_token();
  progressed_ = true;
  request_.clear_range();
  request_.clear_limit();
  request_.clear_direction();
  request_.clear_values();
  request_.clear_keys_only();
  request_.set_resume_token(rows.resume_token);
  return true;
}

ScanReader::ScanReader(const Client& client, v1::ScanRequest request, absl::Duration timeout,
                       const KeyTypes& key_type, absl::Status refusal)
    : scan_(std::make_unique<Scan>(client, std::move(request), timeout, key_type,
                                   std::move(refusal))) {}

ScanReader::~ScanReader() = default;

absl::StatusOr<bool> ScanReader::Next(ScanRows& rows) { return scan_->Next(rows); }

}  // namespace eris::client
