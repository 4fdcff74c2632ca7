#include "server/tables/table_ops.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "server/guard/rpc_status.h"
#include "server/tables/table_messages.h"
#include "server/tables/table_rows.h"
#include "wire/tables.h"

namespace eris::server {
namespace {

uint64_t CountBits(absl::string_view bits) {
  uint64_t count = 0;
  for (const char c : bits) {
    count += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(c)));
  }
  return count;
}

// Of the answer. A message that says more rows than there may be is refused by DecodeRows.
uint64_t BitmapBytes(const v1::Rows& rows) {
  return std::min<uint64_t>(rows.rows(), kTableBatchRowsMax) / 8 + 1;
}

// The request's rows with what keeps them. gRPC has made the message and shows it as const, but
// nobody reads it after this; a copy would cost as much as the rest of the call.
struct HeldRows {
  v1::Rows message;
  DecodedRows rows;
};
std::shared_ptr<HeldRows> Take(const v1::Rows& message) {
  auto held = std::make_shared<HeldRows>();
  held->message.Swap(const_cast<v1::Rows*>(&message));
  return held;
}

std::vector<uint32_t> AllColumns(const Schema& schema) {
  std::vector<uint32_t> columns(schema.columns.size());
  std::iota(columns.begin(), columns.end(), 0);
  return columns;
}

absl::Status CheckClustered(absl::string_view table, const Schema& schema) {
  if (schema.clustered()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("table \"", table, "\" has no key"));
}

}  // namespace

uint64_t WriteRowsOp::Bytes(const Request& request) {
  return request.SpaceUsedLong() + BitmapBytes(request.rows()) + sizeof(Response);
}

StartedBatch WriteRowsOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.table()));
  ERIS_ASSIGN_OR_RETURN(const auto schema, session.SchemaOf(request.table()));
  const std::shared_ptr<HeldRows> held = Take(request.rows());
  ERIS_ASSIGN_OR_RETURN(held->rows,
                        DecodeRows("rows", *schema, AllColumns(*schema), held->message));
  if (!schema->clustered()) {
    return session.AppendRowsAsync(request.table(), held->rows.batch(), held, std::move(done));
  }
  return session.UpsertRowsAsync(request.table(), held->rows.batch(), held, std::move(done));
}

absl::Status WriteRowsOp::Fill(BatchResult& result, Response* response) {
  // Where nothing is known of the rows there is nothing to say.
  if (result.status.ok() || absl::IsResourceExhausted(result.status)) {
    response->set_stored(result.count - result.refused);
    response->set_refused(result.refused);
    response->set_replaced(CountBits(result.present));
  }
  return result.status;
}

uint64_t EraseRowsOp::Bytes(const Request& request) {
  return request.SpaceUsedLong() + BitmapBytes(request.keys()) + sizeof(Response);
}

StartedBatch EraseRowsOp::Start(Session& session, const Request& request, Session::Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.table()));
  ERIS_ASSIGN_OR_RETURN(const auto schema, session.SchemaOf(request.table()));
  ERIS_RETURN_IF_ERROR(CheckClustered(request.table(), *schema));
  const std::shared_ptr<HeldRows> held = Take(request.keys());
  ERIS_ASSIGN_OR_RETURN(held->rows, DecodeRows("keys", *schema, schema->key, held->message));
  return session.EraseRowsAsync(request.table(), held->rows.batch(), held, std::move(done));
}

absl::Status EraseRowsOp::Fill(BatchResult& result, Response* response) {
  if (!result.status.ok()) return result.status;
  response->set_erased(CountBits(result.present));
  response->set_existed(std::move(result.present));
  return absl::OkStatus();
}

uint64_t AnswerBytes(const LookedUpRows& rows) { return ColumnsBytes(rows.columns); }

uint64_t LookupRowsOp::Bytes(const Request& request) {
  // A value, its state and its place in the message; strings are charged as they come.
  constexpr uint64_t kCellBytes = 17;
  constexpr uint64_t kUnsaidColumns = 16;  // where all are asked for
  const uint64_t columns =
      request.columns().empty() ? kUnsaidColumns : static_cast<uint64_t>(request.columns_size());
  return request.SpaceUsedLong() + BitmapBytes(request.keys()) + sizeof(Response) +
         std::min<uint64_t>(request.keys().rows(), kTableBatchRowsMax) * columns * kCellBytes;
}

StartedBatch LookupRowsOp::Start(Session& session, const Request& request, Callback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.table()));
  ERIS_ASSIGN_OR_RETURN(const auto schema, session.SchemaOf(request.table()));
  ERIS_RETURN_IF_ERROR(CheckClustered(request.table(), *schema));
  if (static_cast<uint32_t>(request.columns_size()) > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a look-up of ", request.columns_size(),
                                                   " columns, must be at most ", kTableColumnsMax));
  }
  const std::vector<std::string> names(request.columns().begin(), request.columns().end());
  std::vector<ColumnType> types;
  for (const std::string& name : names) {
    size_t column = 0;
    while (column < schema->columns.size() && schema->columns[column].name != name) ++column;
    if (column == schema->columns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", absl::string_view(name).substr(0, kColumnNameBytesMax),
                       "\" of the look-up "
                       "is no column of table \"",
                       request.table(), "\""));
    }
    types.push_back(schema->columns[column].type);
  }
  if (names.empty()) {
    for (const ColumnSchema& column : schema->columns) types.push_back(column.type);
  }
  const std::shared_ptr<HeldRows> held = Take(request.keys());
  ERIS_ASSIGN_OR_RETURN(held->rows, DecodeRows("keys", *schema, schema->key, held->message));
  return session.LookupRowsAsync(
      request.table(), held->rows.batch(), names, held,
      [types = std::move(types), done = std::move(done)](
          BatchResult result, std::vector<ColumnBuffers> columns) mutable {
        std::move(done)(LookedUpRows{std::move(result), std::move(types), std::move(columns)});
      });
}

absl::Status LookupRowsOp::Fill(LookedUpRows& rows, Response* response) {
  if (!rows.result.status.ok()) return rows.result.status;
  response->set_found(std::move(rows.result.present));
  FillRows(rows.result.count, rows.types, std::move(rows.columns), response->mutable_rows());
  return absl::OkStatus();
}

uint64_t ScanIntoOp::Bytes(const Request& request) {
  return request.SpaceUsedLong() + sizeof(Response);
}

StartedBatch ScanIntoOp::Start(ServerState& server, Session& session, const Request& request,
                               Session::ScanIntoCallback done) {
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.table()));
  ERIS_RETURN_IF_ERROR(CheckObjectName(request.target()));
  ERIS_ASSIGN_OR_RETURN(Query query, wire::QueryFrom(request.query()));
  if (request.snapshot() != 0) {
    // The engine keeps the snapshot while it reads; it may do so longer than the server lives.
    ERIS_ASSIGN_OR_RETURN(const SnapshotLeases::Use use, server.leases().Find(request.snapshot()));
    query.snapshot = use.snapshot();
  }
  return session.ScanIntoAsync(request.table(), query, request.target(), std::move(done));
}

absl::Status ScanIntoOp::Fill(const absl::StatusOr<uint64_t>& rows, Response* response) {
  if (!rows.ok()) return rows.status();
  response->set_rows(*rows);
  return absl::OkStatus();
}

}  // namespace eris::server
