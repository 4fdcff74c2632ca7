// The common part of calls that stream the chunks of a scan as messages of eris.v1. Begins on a
// gRPC thread; then gRPC owns the call.
#ifndef ERIS_SERVER_CALLS_CHUNK_STREAM_H_
#define ERIS_SERVER_CALLS_CHUNK_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "eris/engine.h"
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

  // Fills what a response has besides rows and columns. True: it is the last response.
  virtual bool FillRest(const Chunk&, Response&) { return false; }
  // A response is complete and will be written.
  virtual void OnWrite(bool /*first*/, Response&) {}

  // Owned by the running step.
  bool take_strings_ = false;  // of chunks of an index
  bool parks_ = false;         // it has Reopen

 private:
  void OnNext(std::shared_ptr<const Chunk> chunk) final {
    std::string place;
    if (chunk == nullptr) {
      if (!first_) return this->End(absl::OkStatus());
      this->last_ = true;
    } else {
      if (absl::Status status = Fill(*chunk); !status.ok()) return this->End(status);
      if (parks_ && !this->last_) place = chunk->resume();
      chunk.reset();
    }
    const bool first = std::exchange(first_, false);
    if (first) {
      wire::FillSchema(this->scan_->schema(), response_.mutable_schema());
    } else {
      response_.clear_schema();
    }
    OnWrite(first, response_);
    this->Park(std::move(place));
    this->Write(response_);
  }

  absl::Status Fill(const Chunk& chunk) {
    ERIS_RETURN_IF_ERROR(this->ChargeMessage(wire::ChunkBytes(chunk)));
    response_.set_rows(chunk.rows());
    this->NoteRows(chunk.rows());
    wire::FillColumns(chunk, take_strings_, response_.mutable_columns());
    this->last_ = FillRest(chunk, response_);
    return absl::OkStatus();
  }

  // Owned by the running step.
  Response response_;
  bool first_ = true;  // no response has been written
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_CHUNK_STREAM_H_
