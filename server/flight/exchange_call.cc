#include "server/flight/exchange_call.h"

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "eris/errors.h"
#include "server/calls/call_bytes.h"
#include "server/flight/flight_data.h"
#include "wire/arrow_ipc.h"

namespace eris::server {
namespace {

constexpr char kFound[] = "found";

const uint8_t* BitsOf(const std::string& bits) {
  return reinterpret_cast<const uint8_t*>(bits.data());
}

absl::StatusOr<grpc::ByteBuffer> AnswerOf(const Schema& schema, const BatchResult& result) {
  if (!result.status.ok()) {
    if (result.refused == 0) return result.status;
    return WithText(result.status,
                    absl::StrCat(result.status.message(), "; ", result.refused, " of ",
                                 result.count, " keys of a batch were not looked up"));
  }
  const uint8_t* const found = BitsOf(result.existed);
  std::vector<ColumnView> views;
  for (const ColumnBuffers& column : result.columns) {
    views.push_back({.values = column.values.data(),
                     .validity = column.validity.empty() ? found : BitsOf(column.validity),
                     .offsets = column.offsets.empty()
                                    ? nullptr
                                    : reinterpret_cast<const uint32_t*>(column.offsets.data())});
  }
  return FlightDataOf(wire::ArrowBatch(found, schema, {result.count, views}));
}

absl::StatusOr<grpc::ByteBuffer> EmptyAnswer(const Schema& schema) {
  const uint8_t found = 0;
  const std::vector<ColumnView> views(schema.columns.size());
  return FlightDataOf(wire::ArrowBatch(&found, schema, {0, views}));
}

}  // namespace

ExchangeCall* ExchangeCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  return new ExchangeCall(server, context);
}

absl::Status ExchangeCall::OnObject(const FlightQuery& query) {
  ERIS_RETURN_IF_ERROR(CheckKeyed(object_));
  if (query != FlightQuery{.object = query.object, .columns = query.columns}) {
    return absl::InvalidArgumentError("DoExchange takes an object and columns, nothing else");
  }
  const Schema& schema = object_.schema();
  columns_ = query.columns;
  for (uint32_t i = 0; query.columns.empty() && i < schema.columns.size(); ++i) {
    const bool is_key = std::find(schema.key.begin(), schema.key.end(), i) != schema.key.end();
    if (!is_key) columns_.push_back(schema.columns[i].name);
  }
  Schema answered;
  for (const std::string& name : columns_) {
    const auto column = std::find_if(schema.columns.begin(), schema.columns.end(),
                                     [&](const ColumnSchema& one) { return one.name == name; });
    if (column == schema.columns.end() || name == kFound) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", wire::ShownArrowName(name), "\" ",
                       name == kFound ? "has the name of the answer's first column: ask for others"
                                      : "is none of the object"));
    }
    answered.columns.push_back(*column);
    answered.columns.back().nullable = true;  // where there is no row
  }
  answered_ = std::make_shared<const Schema>(std::move(answered));
  return absl::OkStatus();
}

absl::Status ExchangeCall::OnSchema() {
  ERIS_ASSIGN_OR_RETURN(grpc::ByteBuffer message,
                        FlightDataOf(wire::ArrowSchema(kFound, *answered_)));
  const std::optional<Place> place = window_->Arrived(0, {});
  if (place) window_->Answer(*place, std::move(message));
  return absl::OkStatus();
}

// As the engine answers, and in the message.
uint64_t ExchangeCall::AnswerBytesMax(uint64_t rows) const {
  constexpr uint64_t kCopies = 2;
  uint64_t bytes = BitmapBytes(rows);
  for (const ColumnSchema& column : answered_->columns) {
    bytes += rows * ColumnValueBytes(column.type) + BitmapBytes(rows);
  }
  return kCopies * bytes;
}

void ExchangeCall::Start(Place place, std::shared_ptr<FlightBatch> batch) {
  const auto answer = [window = window_, place](absl::StatusOr<grpc::ByteBuffer> message) {
    if (!message.ok()) return window->Fail(place, message.status());
    window->Answer(place, *std::move(message));
  };
  const RowBatch keys = batch->rows.batch();
  if (keys.rows == 0) return answer(EmptyAnswer(*answered_));
  Session::StartedCall started = session_->LookupAsync(
      object_, {.keys = keys, .columns = columns_, .holder = std::move(batch)},
      [window = window_, place, answer, schema = answered_](BatchResult result) {
        const uint64_t bytes = AnswerBytes(result);
        if (bytes > 0 && !window->TryCharge(place, 2 * bytes)) {
          return window->Fail(place, AnswerOverBudgetStatus(bytes));
        }
        answer(AnswerOf(*schema, result));
      });
  if (!started.ok()) return window_->Fail(place, started.status());
  window_->Attach(place, *std::move(started));
}

}  // namespace eris::server
