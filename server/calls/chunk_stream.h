// The common part of calls that stream the chunks of a scan as messages of eris.v1. Begins on a
// gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_CHUNK_STREAM_H_
#define ERIS_SERVER_CALLS_CHUNK_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "eris/engine.h"
#include "server/calls/scan_rest.h"
#include "server/calls/scan_stream.h"
#include "server/state/server_state.h"
#include "wire/columns.h"
#include "wire/schema.h"

namespace eris::server {

// Response has the fields schema, rows and columns.
template <class Request, class Response>
class ChunkStream : public ScanStream<Request> {
 protected:
  ChunkStream(ServerState& server, grpc::CallbackServerContext& context)
      : ScanStream<Request>(server, context) {}

  // Fills what a response has besides rows and columns.
  virtual ScanRest::Behind FillRest(const Chunk&, Response&) { return {}; }
  // A response is complete and will be written.
  virtual void OnWrite(bool /*first*/, Response&) {}

  // Owned by the running step.
  bool take_strings_ = false;  // of chunks of an index
  // The scan takes chunks of the pool that all scans share, and has Reopen. Queries have memory of
  // their own.
  bool parks_ = false;

 private:
  void OnNext(std::shared_ptr<const Chunk> chunk) final {
    ScanRest::Behind behind;
    if (chunk == nullptr) {
      if (!first_) return this->End(absl::OkStatus());
      behind.last = true;
    } else {
      absl::StatusOr<ScanRest::Behind> filled = Fill(*chunk);
      if (!filled.ok()) return this->End(filled.status());
      behind = *std::move(filled);
      chunk.reset();
    }
    const bool first = std::exchange(first_, false);
    if (first) {
      wire::FillSchema(this->scan_->schema(), response_.mutable_schema());
    } else {
      response_.clear_schema();
    }
    OnWrite(first, response_);
    if (behind.last) {
      this->Close();
    } else if (parks_) {
      this->Park(std::move(behind.place));
    }
    this->Write(response_);
  }

  absl::StatusOr<ScanRest::Behind> Fill(const Chunk& chunk) {
    ERIS_RETURN_IF_ERROR(this->ChargeMessage(wire::ChunkBytes(chunk)));
    response_.set_rows(chunk.rows());
    this->NoteRows(chunk.rows());
    wire::FillColumns(chunk, take_strings_, response_.mutable_columns());
    return FillRest(chunk, response_);
  }

  // Owned by the running step.
  Response response_;
  bool first_ = true;  // no response has been written
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CHUNK_STREAM_H_
