// The batch operations between message and engine: what a request weighs, how it starts, what
// its answer looks like. Shared by unary calls and streams. Any thread, no state.
#ifndef ERIS_SERVER_DATA_BATCH_OPS_H_
#define ERIS_SERVER_DATA_BATCH_OPS_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "eris/engine.h"
#include "eris/v1/data.pb.h"

namespace eris::server {

using StartedBatch = absl::StatusOr<std::shared_ptr<Pending>>;

// Each: Bytes is what request and answer hold together, with the copies that typed keys need. Start
// checks the request and hands it to the engine; nothing refers to the message afterwards; errors
// as Session's, and InvalidArgument for the object's name and the columns. Fill moves the result's
// columns into the answer, if the status that it returns, with which the call ends, is OK.
struct LookupOp {
  static constexpr bool kIsWrite = false;
  using Request = v1::LookupRequest;
  using Response = v1::LookupResponse;
  using StreamResponse = v1::LookupStreamResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Session::Callback done);
  // Of byte strings OK also for a result that is not, if any key was executed.
  static absl::Status Fill(BatchResult& result, Response* response);
};

struct UpsertOp {
  static constexpr bool kIsWrite = true;
  using Request = v1::UpsertRequest;
  using Response = v1::UpsertResponse;
  using StreamResponse = v1::UpsertStreamResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Session::Callback done);
  static absl::Status Fill(BatchResult& result, Response* response);
};

struct EraseOp {
  static constexpr bool kIsWrite = true;
  using Request = v1::EraseRequest;
  using Response = v1::EraseResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Session::Callback done);
  static absl::Status Fill(BatchResult& result, Response* response);
};

struct WriteOp {
  static constexpr bool kIsWrite = true;
  using Request = v1::WriteRequest;
  using Response = v1::WriteResponse;
  using StreamResponse = v1::WriteStreamResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Session::Callback done);
  // OK also for a result that is not, if any key was executed: the answer tells which.
  static absl::Status Fill(BatchResult& result, Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_BATCH_OPS_H_
