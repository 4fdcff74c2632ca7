// The common part of streams of Arrow columns that a client sends (DoPut, DoExchange): a descriptor
// with its first message, then a schema, then batches of rows. An error ends the stream: its
// messages have no answers of their own that could tell of it. Begins on a gRPC thread; then gRPC
// owns the call.
#ifndef ERIS_SERVER_FLIGHT_FLIGHT_STREAM_H_
#define ERIS_SERVER_FLIGHT_FLIGHT_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "arrow/flight.pb.h"
#include "base/status_macros.h"
#include "eris/engine.h"
#include "eris/session.h"
#include "server/calls/parse_within.h"
#include "server/calls/window_stream.h"
#include "server/data/batch_request.h"
#include "server/flight/flight_batch.h"
#include "server/flight/flight_query.h"
#include "server/guard/byte_budget.h"
#include "server/state/server_state.h"
#include "wire/arrow_header.h"
#include "wire/arrow_reader.h"
#include "wire/bounds.h"

namespace eris::server {

template <class Answer>
class FlightStream : public WindowStream<Answer> {
 protected:
  using typename WindowStream<Answer>::Window;
  using typename WindowStream<Answer>::Place;

  FlightStream(ServerState& server, grpc::CallbackServerContext& context, bool is_write)
      : WindowStream<Answer>(server, context, is_write), is_write_(is_write) {}

  // `object_` has been opened. Errors end the stream.
  virtual absl::Status OnObject(const FlightQuery& query) = 0;
  // The columns of the object that batches have. REQUIRES: OnObject has been called.
  virtual absl::Span<const uint32_t> ColumnsSent() const = 0;
  virtual absl::Status OnSchema() { return absl::OkStatus(); }
  // The bytes that a batch needs besides its message and its copies, until it is answered.
  virtual uint64_t AnswerBytesMax(uint64_t rows) const = 0;
  // A batch has its place, and is answered there. At least one row, or none.
  virtual void Start(Place place, std::shared_ptr<FlightBatch> batch) = 0;

  // Owned by the running read.
  Object object_{};

 private:
  void OnMessage(grpc::ByteBuffer* raw) final {
    absl::Status status = Take(raw);
    if (!status.ok()) this->window_->Fail(Window::kEnd, status);
    this->window_->ReadTaken();
  }

  absl::Status Take(grpc::ByteBuffer* raw) {
    flight::FlightData message;
    // The message's own charge ends with this function.
    ERIS_ASSIGN_OR_RETURN(const ByteBudget::Charge charge,
                          ParseWithin(this->server_, is_write_, raw, &message));
    ERIS_RETURN_IF_ERROR(this->permit_.CheckRequest(message));
    ERIS_RETURN_IF_ERROR(object_ ? this->permit_.CheckObject(object_.name()) : OpenTarget(message));
    // Metadata alone, or a descriptor alone.
    if (message.data_header().empty()) return absl::OkStatus();
    ERIS_ASSIGN_OR_RETURN(const wire::ArrowHeader header,
                          wire::ArrowHeader::From(message.data_header()));
    if (reader_) return TakeBatch(header, &message);
    if (header.kind() != wire::ArrowHeader::Kind::kSchema) {
      return absl::InvalidArgumentError("a batch before the schema");
    }
    ERIS_ASSIGN_OR_RETURN(reader_,
                          wire::ArrowReader::Make(object_.schema(), ColumnsSent(), header));
    return OnSchema();
  }

  absl::Status OpenTarget(const flight::FlightData& message) {
    if (!message.has_flight_descriptor()) {
      return absl::InvalidArgumentError("the first message has no descriptor");
    }
    ERIS_ASSIGN_OR_RETURN(const FlightQuery query, FlightQueryFrom(message.flight_descriptor()));
    ERIS_RETURN_IF_ERROR(this->permit_.CheckObject(query.object));
    ERIS_ASSIGN_OR_RETURN(object_, OpenObject(*this->session_, query.object));
    return OnObject(query);
  }

  // Takes the body out of the message. What else a client may have put there ends with it.
  absl::Status TakeBatch(const wire::ArrowHeader& header, flight::FlightData* message) {
    auto batch = std::make_shared<FlightBatch>();
    batch->body.swap(*message->mutable_data_body());
    ByteBudget::Charge charge;
    uint64_t bytes = message->data_header().size() + batch->body.size();
    const auto take = [&](uint64_t rows, uint64_t copied_bytes) -> absl::Status {
      bytes += copied_bytes + EngineCopies(bytes + copied_bytes) + AnswerBytesMax(rows);
      charge = TakeBudget(this->server_, is_write_, bytes);
      if (charge) return absl::OkStatus();
      return OverBudgetStatus(this->server_.budget, bytes, is_write_);
    };
    ERIS_ASSIGN_OR_RETURN(batch->rows, reader_->Read(header, batch->body, take));
    const std::optional<Place> place = this->window_->Arrived(bytes, std::move(charge));
    if (!place) return absl::OkStatus();  // the stream is over
    const CallbacksHere here(*this->server_.engine);
    Start(*place, std::move(batch));
    return absl::OkStatus();
  }

  // At most so many bytes does the engine copy: keys that are not u64, and strings with their
  // offsets.
  uint64_t EngineCopies(uint64_t bytes) const {
    if (wire::IsTable(object_.kind())) return 0;
    for (const ColumnSchema& column : object_.schema().columns) {
      if (column.type != ColumnType::kUint64) return 2 * bytes;
    }
    return 0;
  }

  // Immutable after construction.
  const bool is_write_;
  // Owned by the running read.
  std::optional<wire::ArrowReader> reader_{};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_FLIGHT_FLIGHT_STREAM_H_
