#include "server/flight/put_call.h"

#include <utility>

#include "absl/status/status.h"
#include "server/flight/put_batch.h"
#include "server/guard/raw_message.h"

namespace eris::server {

PutCall* PutCall::Begin(ServerState& server, grpc::CallbackServerContext& context) {
  return new PutCall(server, context);
}

absl::Status PutCall::OnObject(const FlightQuery& query) {
  if (query == FlightQuery{.object = query.object}) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "DoPut takes an object alone; the columns are those of the schema that is sent");
}

absl::Span<const uint32_t> PutCall::ColumnsSent() const {
  return wire::AllColumns(object_.schema());
}

uint64_t PutCall::AnswerBytesMax(uint64_t rows) const {
  constexpr uint64_t kBitmaps = 3;
  return kBitmaps * BitmapBytes(rows);
}

void PutCall::Start(Place place, std::shared_ptr<FlightBatch> batch) {
  // relaxed: only a count. The lock of the window lets the end see it, unless the stream is cut.
  rows_started_.fetch_add(batch->rows.rows, std::memory_order_relaxed);
  const auto put = std::make_shared<PutBatch>(
      std::move(batch),
      [window = window_, place](const PutTotals& totals, const absl::Status& status) {
        // First, so that the stream does not end without it.
        if (!status.ok()) window->Fail(Window::kEnd, status);
        window->Answer(place, totals);
      });
  put->Start(*session_, object_);
  window_->Attach(place, put);
}

const grpc::ByteBuffer* PutCall::MessageOf(const PutTotals* totals) {
  flight::PutResult result;
  result.set_app_metadata(PutTotalsJson(*totals));
  out_ = WriteMessage(result);
  return &out_;
}

absl::Status PutCall::LastStatus(const absl::Status& status) {
  if (status.ok()) return status;
  PutTotals totals = window_->total();
  // If the stream is cut, what is under way has no answer.
  totals.unknown = rows_started_.load(std::memory_order_relaxed) - totals.written - totals.refused;
  return WithTotals(status, totals);
}

}  // namespace eris::server
