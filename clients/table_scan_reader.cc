#include "clients/table_scan_reader.h"

#include <optional>
#include <utility>
#include <vector>

#include "clients/client_stubs.h"
#include "clients/message_stream.h"
#include "clients/row_messages.h"
#include "wire/tables.h"

namespace eris::client {
namespace {

// Also when the server has cut a stream that was not read for long: the token keeps the snapshot.
bool IsResumable(const absl::Status& status) {
  return IsBroken(status) || absl::IsResourceExhausted(status);
}

}  // namespace

class TableScanReader::Scan {
 public:
  Scan(const Client& client, v1::ScanTableRequest request, absl::Duration timeout)
      : stub_(*client.stubs().tables), timeout_(timeout), request_(std::move(request)) {}

  absl::StatusOr<bool> Next(OwnedRows& rows);
  const Schema& schema() const { return schema_; }
  uint32_t resumed() const { return resumed_; }

 private:
  void Open();
  absl::Status Close();
  absl::Status Take(OwnedRows& rows);

  // Immutable after construction.
  v1::Tables::Stub& stub_;
  const absl::Duration timeout_;

  // Owned by the calling thread.
  v1::ScanTableRequest request_;
  v1::ScanTableResponse response_;
  Schema schema_;
  std::vector<ColumnType> types_;
  std::optional<MessageStream<v1::ScanTableResponse>> stream_;
  uint32_t resumed_ = 0;
  bool progressed_ = false;  // since the stream was opened
  bool ended_ = false;
};

void TableScanReader::Scan::Open() {
  stream_.emplace(timeout_, [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
    return stub_.PrepareAsyncScanTable(context, request_, queue);
  });
  progressed_ = false;
}

absl::Status TableScanReader::Scan::Close() {
  absl::Status status = stream_->Finish();
  stream_.reset();
  return status;
}

absl::StatusOr<bool> TableScanReader::Scan::Next(OwnedRows& rows) {
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

absl::Status TableScanReader::Scan::Take(OwnedRows& rows) {
  if (response_.has_schema()) {
    absl::StatusOr<Schema> schema = wire::AnsweredSchemaFrom(response_.schema());
    if (!schema.ok()) return schema.status();
    schema_ = *std::move(schema);
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

TableScanReader::TableScanReader(const Client& client, v1::ScanTableRequest request,
                                 absl::Duration timeout)
    : scan_(std::make_unique<Scan>(client, std::move(request), timeout)) {}

TableScanReader::~TableScanReader() = default;

absl::StatusOr<bool> TableScanReader::Next(OwnedRows& rows) { return scan_->Next(rows); }
const Schema& TableScanReader::schema() const { return scan_->schema(); }
uint32_t TableScanReader::resumed() const { return scan_->resumed(); }

}  // namespace eris::client
