// The operations on tables between message and engine, as those of batch_ops.h for UnaryCall and
// StreamCall. The rows of a request are not copied: the message's columns go to the engine, which
// keeps them until its last AEU has answered, also where the call has ended before. Any thread, no
// state.
#ifndef ERIS_SERVER_TABLES_TABLE_OPS_H_
#define ERIS_SERVER_TABLES_TABLE_OPS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "eris/engine.h"
#include "eris/v1/table.pb.h"
#include "server/data/batch_ops.h"
#include "server/state/server_state.h"

namespace eris::server {

// Start of each takes the rows out of the request, whatever it returns.
struct WriteRowsOp {
  static constexpr bool kIsWrite = true;
  // Of rows that were refused the others have been stored, and the answer says how many.
  static constexpr bool kAnswersRefusals = true;
  using Request = v1::WriteRowsRequest;
  using Response = v1::WriteRowsResponse;
  using StreamResponse = v1::WriteRowsStreamResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Session::Callback done);
  static absl::Status Fill(BatchResult& result, Response* response);
};

struct EraseRowsOp {
  static constexpr bool kIsWrite = true;
  using Request = v1::EraseRowsRequest;
  using Response = v1::EraseRowsResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Session::Callback done);
  static absl::Status Fill(BatchResult& result, Response* response);
};

struct LookedUpRows {
  BatchResult result;
  std::vector<ColumnType> types;
  std::vector<ColumnBuffers> columns;
};
uint64_t AnswerBytes(const LookedUpRows& rows);

struct LookupRowsOp {
  static constexpr bool kIsWrite = false;
  using Request = v1::LookupRowsRequest;
  using Response = v1::LookupRowsResponse;
  using Callback = absl::AnyInvocable<void(LookedUpRows) &&>;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(Session& session, const Request& request, Callback done);
  static absl::Status Fill(LookedUpRows& rows, Response* response);
};

struct ScanIntoOp {
  static constexpr bool kIsWrite = true;
  static constexpr bool kUsesServer = true;
  using Request = v1::ScanIntoRequest;
  using Response = v1::ScanIntoResponse;
  static uint64_t Bytes(const Request& request);
  static StartedBatch Start(ServerState& server, Session& session, const Request& request,
                            Session::ScanIntoCallback done);
  static absl::Status Fill(const absl::StatusOr<uint64_t>& rows, Response* response);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_TABLES_TABLE_OPS_H_
