#include "clients/table_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "clients/answered_stream.h"
#include "clients/client_stubs.h"
#include "clients/row_messages.h"
#include "wire/objects.h"
#include "wire/tables.h"

namespace eris::client {
namespace {

template <class Request, class Response>
absl::Status Call(Client& client,
                  grpc::Status (v1::Tables::Stub::*method)(grpc::ClientContext*, const Request&,
                                                           Response*),
                  const Request& request, Response& response) {
  return Client::Stubs::Call(*client.stubs().tables, method, client.options().timeout, request,
                             response);
}

std::vector<ColumnType> TypesOf(const Schema& schema) {
  std::vector<ColumnType> types;
  for (const ColumnSchema& column : schema.columns) types.push_back(column.type);
  return types;
}
std::vector<ColumnType> KeyTypesOf(const Schema& schema) {
  std::vector<ColumnType> types;
  for (const uint32_t column : schema.key) types.push_back(schema.columns[column].type);
  return types;
}

// In the message for the time of a call.
class LentRows {
 public:
  LentRows(std::vector<ColumnType> types, OwnedRows& rows, v1::Rows& message)
      : types_(std::move(types)), rows_(rows), message_(message) {
    SwapRows(types_, rows_, message_);
  }
  ~LentRows() { SwapRows(types_, rows_, message_); }
  LentRows(const LentRows&) = delete;
  LentRows& operator=(const LentRows&) = delete;

 private:
  const std::vector<ColumnType> types_;
  OwnedRows& rows_;
  v1::Rows& message_;
};

absl::Status SetBound(const Value& value, v1::Key& key) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    key.set_i64(*number);
  } else if (const auto* large = std::get_if<uint64_t>(&value)) {
    key.set_u64(*large);
  } else if (const auto* real = std::get_if<double>(&value)) {
    key.set_f64(*real);
  } else if (const auto* date = std::get_if<Date>(&value)) {
    key.set_date32(date->days);
  } else {
    return absl::InvalidArgumentError("a bound of a table's key is no i64, u64, double or date");
  }
  return absl::OkStatus();
}

WrittenRows WrittenFrom(const v1::WriteRowsResponse& response) {
  return {
      .stored = response.stored(), .refused = response.refused(), .replaced = response.replaced()};
}

}  // namespace

absl::StatusOr<ObjectInfo> TableClient::Create(const std::string& name, const Schema& schema,
                                               const TableBounds& bounds) {
  v1::CreateTableRequest request;
  request.set_name(name);
  wire::FillSchema(schema, request.mutable_schema());
  absl::Status status;
  if (bounds.start) status = SetBound(*bounds.start, *request.mutable_expected_start());
  if (bounds.end && status.ok()) status = SetBound(*bounds.end, *request.mutable_expected_end());
  for (const Value& split : bounds.splits) {
    if (status.ok()) status = SetBound(split, *request.add_split_keys());
  }
  if (!status.ok()) return status;
  v1::CreateTableResponse response;
  status = Call(client_, &v1::Tables::Stub::CreateTable, request, response);
  if (!status.ok()) return status;
  return wire::ObjectFrom(response.object());
}

absl::StatusOr<TableInfo> TableClient::Get(const std::string& name) {
  v1::GetTableRequest request;
  request.set_name(name);
  v1::GetTableResponse response;
  absl::Status status = Call(client_, &v1::Tables::Stub::GetTable, request, response);
  if (!status.ok()) return status;
  absl::StatusOr<Schema> schema = wire::AnsweredSchemaFrom(response.schema());
  if (!schema.ok()) return schema.status();
  return TableInfo{.object = wire::ObjectFrom(response.object()), .schema = *std::move(schema)};
}

absl::StatusOr<WrittenRows> TableClient::Write(const std::string& table, const Schema& schema,
                                               OwnedRows& rows) {
  v1::WriteRowsRequest request;
  request.set_table(table);
  v1::WriteRowsResponse response;
  absl::Status status;
  {
    const LentRows lent(TypesOf(schema), rows, *request.mutable_rows());
    status = Call(client_, &v1::Tables::Stub::WriteRows, request, response);
  }
  if (!status.ok()) return status;
  return WrittenFrom(response);
}

absl::StatusOr<RowBits> TableClient::Erase(const std::string& table, const Schema& schema,
                                           OwnedRows& keys) {
  v1::EraseRowsRequest request;
  request.set_table(table);
  v1::EraseRowsResponse response;
  absl::Status status;
  {
    const LentRows lent(KeyTypesOf(schema), keys, *request.mutable_keys());
    status = Call(client_, &v1::Tables::Stub::EraseRows, request, response);
  }
  RowBits existed;
  if (status.ok()) {
    status = ToRowBits(std::move(*response.mutable_existed()), keys.rows, false, existed);
  }
  if (!status.ok()) return status;
  return existed;
}

absl::StatusOr<FoundRows> TableClient::LookUp(const std::string& table, const Schema& schema,
                                              OwnedRows& keys,
                                              const std::vector<std::string>& columns) {
  v1::LookupRowsRequest request;
  request.set_table(table);
  std::vector<ColumnType> types;
  for (const std::string& name : columns) {
    request.add_columns(name);
    for (const ColumnSchema& column : schema.columns) {
      if (column.name == name) types.push_back(column.type);
    }
  }
  if (columns.empty()) types = TypesOf(schema);
  v1::LookupRowsResponse response;
  absl::Status status;
  {
    const LentRows lent(KeyTypesOf(schema), keys, *request.mutable_keys());
    status = Call(client_, &v1::Tables::Stub::LookupRows, request, response);
  }
  FoundRows found;
  if (status.ok()) {
    status = ToRowBits(std::move(*response.mutable_found()), keys.rows, false, found.found);
  }
  if (status.ok()) status = TakeRows(types, *response.mutable_rows(), found.rows);
  if (status.ok() && found.rows.rows != keys.rows) {
    status = absl::InternalError(
        absl::StrCat("the server sent ", found.rows.rows, " rows for ", keys.rows, " keys"));
  }
  if (!status.ok()) return status;
  return found;
}

std::unique_ptr<TableScanReader> TableClient::Scan(const std::string& table,
                                                   const Query& query, uint64_t snapshot) {
  v1::ScanTableRequest request;
  request.set_table(table);
  wire::FillQuery(query, request.mutable_query());
  request.set_snapshot(snapshot);
  return std::make_unique<TableScanReader>(client_, std::move(request), client_.options().timeout);
}

absl::StatusOr<uint64_t> TableClient::ScanInto(const std::string& table, const Query& query,
                                               const std::string& target, uint64_t snapshot) {
  v1::ScanIntoRequest request;
  request.set_table(table);
  wire::FillQuery(query, request.mutable_query());
  request.set_target(target);
  request.set_snapshot(snapshot);
  v1::ScanIntoResponse response;
  absl::Status status = Call(client_, &v1::Tables::Stub::ScanInto, request, response);
  if (!status.ok()) return status;
  return response.rows();
}

absl::StatusOr<uint64_t> TableClient::TakeSnapshot(absl::Duration time_to_live) {
  v1::TakeSnapshotRequest request;
  request.set_time_to_live_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(time_to_live)));
  v1::TakeSnapshotResponse response;
  absl::Status status = Call(client_, &v1::Tables::Stub::TakeSnapshot, request, response);
  if (!status.ok()) return status;
  return response.snapshot();
}

absl::Status TableClient::ReleaseSnapshot(uint64_t snapshot) {
  v1::ReleaseSnapshotRequest request;
  request.set_snapshot(snapshot);
  v1::ReleaseSnapshotResponse response;
  return Call(client_, &v1::Tables::Stub::ReleaseSnapshot, request, response);
}

struct RowStream::Calls {
  v1::WriteRowsRequest request;  // its memory is used again
  AnsweredStream<v1::WriteRowsRequest, v1::WriteRowsStreamResponse> stream;
};

RowStream::RowStream(Client& client, const StreamOptions& options, OnAnswer on_answer)
    : calls_([&] {
        auto context = std::make_unique<grpc::ClientContext>();
        auto stream = client.stubs().tables->WriteRowsStream(context.get());
        return new Calls{
            {},
            {std::move(context), std::move(stream), options,
             [on_answer = std::move(on_answer)](uint64_t index, size_t, absl::Status status,
                                                v1::WriteRowsStreamResponse* response) {
               on_answer(index, std::move(status),
                         response == nullptr ? WrittenRows() : WrittenFrom(response->response()));
             }}};
      }()) {}

RowStream::~RowStream() = default;

absl::Status RowStream::Send(const std::string& table, const Schema& schema, OwnedRows& rows) {
  calls_->request.set_table(table);
  const LentRows lent(TypesOf(schema), rows, *calls_->request.mutable_rows());
  return calls_->stream.Send(calls_->request, rows.rows);
}

absl::Status RowStream::AwaitRoom() { return calls_->stream.AwaitRoom(); }
absl::Status RowStream::Finish() { return calls_->stream.Finish(); }

}  // namespace eris::client
