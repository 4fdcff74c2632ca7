#include "clients/table_scan_reader.h"

#include <utility>

#include "clients/table_messages.h"

namespace eris::client {
namespace {

// Also when the server has cut a stream that was not read for long: the token keeps the snapshot.
bool IsResumable(const absl::Status& status) {
  return IsBroken(status) || absl::IsResourceExhausted(status);
}

}  // namespace

TableScanReader::TableScanReader(v1::Tables::Stub& stub, v1::ScanTableRequest request,
                                 absl::Duration timeout)
    : stub_(stub), timeout_(timeout), request_(std::move(request)) {}

void TableScanReader::Open() {
  stream_.emplace(timeout_, [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub_.PrepareAsyncScanTable(context, request_, queue);
  });
  progressed_ = false;
}

absl::Status TableScanReader::Close() {
  absl::Status status = stream_->Finish();
  stream_.reset();
  return status;
}

absl::StatusOr<bool> TableScanReader::Next(OwnedRows& rows) {
  rows.rows = 0;
  while (!ended_) {
    if (!stream_) Open();
    if (stream_->Read(&response_)) {
      absl::Status status = Take(rows);
      if (!status.ok()) {
        ended_ = true;
        return status;
      }
      if (rows.rows > 0) return true;
      continue;  // a scan without a row, which says its schema
    }
    const absl::Status status = Close();
    // Without progress since the last opening a further attempt would meet the same end.
    const bool resumable = progressed_ && !request_.resume_token().empty() && IsResumable(status);
    if (resumable) {
      ++resumed_;
      continue;
    }
    ended_ = true;
    if (!status.ok()) return status;
  }
  return false;
}

absl::Status TableScanReader::Take(OwnedRows& rows) {
  if (response_.has_schema()) {
    if (absl::Status status = FromProto(response_.schema(), schema_); !status.ok()) return status;
    types_.clear();
    for (const ColumnSchema& column : schema_.columns) types_.push_back(column.type);
  }
  if (absl::Status status = TakeRows(types_, *response_.mutable_rows(), rows); !status.ok()) {
    return status;
  }
  progressed_ = true;
  request_.set_resume_token(response_.resume_token());
  if (!request_.resume_token().empty()) request_.clear_snapshot();  // the token knows it
  // What is still wanted.
  const uint64_t limit = request_.query().limit();
  if (limit != 0 && rows.rows >= limit) {
    ended_ = true;
    (void)Close();
  } else if (limit != 0) {
    request_.mutable_query()->set_limit(limit - rows.rows);
  }
  return absl::OkStatus();
}

}  // namespace eris::client
