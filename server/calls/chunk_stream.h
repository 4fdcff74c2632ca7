// The common part of calls that stream the chunks of a scan: fetches a chunk from the engine,
// writes it, fetches the next. Only one step runs at a time, so only cancelling is concurrent,
// which ScanStop handles. Begins on a gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_CHUNK_STREAM_H_
#define ERIS_SERVER_CALLS_CHUNK_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "eris/engine.h"
#include "server/calls/arriving_call.h"
#include "server/guard/byte_budget.h"
#include "server/guard/scan_stop.h"
#include "server/state/server_state.h"
#include "wire/columns.h"
#include "wire/schema.h"

namespace eris::server {

// Response has the fields schema, rows and columns.
template <class Request, class Response>
class ChunkStream : public ArrivingCall<Request> {
 public:
  // The most of the byte budget that a stream takes for its messages at the start: enough for a
  // full chunk, less if few rows are wanted. A larger chunk takes more.
  static constexpr uint64_t kMessageBytes = 1 << 20;

 protected:
  ChunkStream(ServerState& server, grpc::CallbackServerContext& context)
      : ArrivingCall<Request>(server, context, CallWay::kRead, /*whole_call=*/false) {}

  // The first step of a call.
  void Begin() { this->Arrive(stop_); }

  // Opens the scan and calls Attach. `session_` is borrowed, and `charge_` is of the request, which
  // is about as large as what the engine keeps of it. An error ends the call.
  virtual absl::Status Open(const Request& request) = 0;
  // Fills what a response has besides rows and columns. True: it is the last response.
  virtual bool FillRest(const Chunk&, Response&) { return false; }
  // A response is complete and will be written.
  virtual void OnWrite(bool /*first*/, Response&) {}
  // The call will be answered with `status`.
  virtual void OnEnd(const absl::Status& /*status*/) {}

  // Takes the scan and charges for its messages. `rows_max`: the most rows of the answer; 0: any
  // number. Errors: ResourceExhausted.
  absl::Status Attach(std::unique_ptr<Scan> scan, uint64_t rows_max) {
    scan_ = std::move(scan);
    stop_->Attach(scan_.get());
    message_bytes_ = wire::ExpectedChunkBytes(scan_->schema(), rows_max, kMessageBytes);
    if (charge_.TryGrow(kCopies * message_bytes_)) return absl::OkStatus();
    return OverBudgetStatus(this->server_.budget, kCopies * message_bytes_);
  }

  const std::shared_ptr<ScanStop> stop_ = std::make_shared<ScanStop>();
  // Owned by the running step.
  SessionPool::Lease session_;
  std::unique_ptr<Scan> scan_;
  ByteBudget::Charge charge_;
  bool take_strings_ = false;  // of chunks of an index

 private:
  // Written data exists twice until the client has read it: in response_, and in gRPC's bytes.
  static constexpr uint64_t kCopies = 2;

  void OnRequest(Request& request, ByteBudget::Charge charge) final {
    charge_ = std::move(charge);
    charge_.Shrink(std::min<uint64_t>(charge_.bytes(), request.SpaceUsedLong()));
    session_ = this->server_.sessions.Borrow();
    const absl::Status opened = Open(request);
    opened.ok() ? Fetch() : End(opened);
  }
  void OnNoRequest(const absl::Status& why) final { this->Respond(why); }

  void OnWriteDone(bool ok) final {
    this->EndWrite();
    if (!ok) return End(stop_->reason().value_or(absl::CancelledError("the client has gone")));
    if (last_) return End(absl::OkStatus());
    Fetch();
  }

  void OnDone() final {
    stop_->Detach();
    ArrivingCall<Request>::OnDone();
  }

  void Fetch() {
    if (const auto reason = stop_->reason()) return End(*reason);
    scan_->NextAsync([this](Scan::NextResult chunk) { OnChunk(std::move(chunk)); });
  }

  // A completion thread of the engine.
  void OnChunk(Scan::NextResult chunk) {
    if (const auto reason = stop_->reason()) return End(*reason);
    if (!chunk.ok()) return End(chunk.status());
    if (*chunk == nullptr) {
      if (!first_) return End(absl::OkStatus());
      last_ = true;
    } else {
      if (absl::Status status = Fill(**chunk); !status.ok()) return End(status);
      chunk->reset();  // before the write: an AEU may fill it while the client reads this one
    }
    const bool first = std::exchange(first_, false);
    if (first) {
      wire::FillSchema(scan_->schema(), response_.mutable_schema());
    } else {
      response_.clear_schema();
    }
    OnWrite(first, response_);
    this->Write(response_);
  }

  absl::Status Fill(const Chunk& chunk) {
    const uint64_t bytes = wire::ChunkBytes(chunk);
    if (bytes > message_bytes_) {
      if (!charge_.TryGrow(kCopies * (bytes - message_bytes_))) {
        return AnswerOverBudgetStatus(bytes);
      }
      message_bytes_ = bytes;
    }
    response_.set_rows(chunk.rows());
    wire::FillColumns(chunk, take_strings_, response_.mutable_columns());
    last_ = FillRest(chunk, response_);
    return absl::OkStatus();
  }

  void End(const absl::Status& status) {
    OnEnd(status);
    this->Respond(status);  // it is sent after the last chunk
  }

  // Owned by the running step.
  Response response_;
  bool first_ = true;           // no response has been written
  bool last_ = false;           // response_ is the last one
  uint64_t message_bytes_ = 0;  // part of charge_ for response_; the rest is for the request
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CHUNK_STREAM_H_
