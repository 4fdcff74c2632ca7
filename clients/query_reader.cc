#include "clients/query_reader.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/time/clock.h"
#include "clients/client_stubs.h"
#include "clients/message_stream.h"
#include "clients/retries.h"

namespace eris::client {

class QueryReader::Query {
 public:
  Query(const Client& client, std::string plan)
      : stub_(*client.stubs().queries), timeout_(client.options().timeout) {
    request_.set_plan(std::move(plan));
  }

  absl::StatusOr<bool> Next(OwnedRows& rows) {
    rows.rows = 0;
    if (ended_) return false;
    absl::StatusOr<bool> more = NextRows(rows);
    if (!more.ok() || !*more) ended_ = true;
    return more;
  }
  const Schema& schema() const { return chunks_.schema(); }

 private:
  void Open() {
    stream_.emplace(timeout_, [this](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
      return stub_.PrepareAsyncExecute(context, request_, queue);
    });
  }
  absl::StatusOr<bool> NextRows(OwnedRows& rows) {
    if (!stream_) Open();
    while (rows.rows == 0) {
      if (!stream_->Read(&response_)) {
        absl::Status status = stream_->Finish();
        if (status.ok()) return false;
        if (begun_ || !retries_.Wait(status)) return status;
        Open();
        continue;
      }
      begun_ = true;
      // A response without rows has only the schema.
      if (absl::Status status = chunks_.Take(response_, rows); !status.ok()) return status;
    }
    return true;
  }

  // Immutable after construction.
  v1::Queries::Stub& stub_;
  const absl::Duration timeout_;

  // Owned by the calling thread.
  v1::ExecuteRequest request_;
  v1::ExecuteResponse response_;
  ChunkRows chunks_;
  std::optional<MessageStream<v1::ExecuteResponse>> stream_;
  Retries retries_{absl::Now() + timeout_};
  bool begun_ = false;  // there was a response
  bool ended_ = false;
};

QueryReader::QueryReader(const Client& client, std::string plan)
    : query_(std::make_unique<Query>(client, std::move(plan))) {}

QueryReader::~QueryReader() = default;

absl::StatusOr<bool> QueryReader::Next(OwnedRows& rows) { return query_->Next(rows); }
const Schema& QueryReader::schema() const { return query_->schema(); }

}  // namespace eris::client
