// The common part of lookups and writes: the bytes of a batch, its columns as the engine reads
// them, and answers with refused rows. Any thread, no state.
#ifndef ERIS_SERVER_DATA_BATCH_REQUEST_H_
#define ERIS_SERVER_DATA_BATCH_REQUEST_H_

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/engine.h"
#include "eris/v1/data.pb.h"
#include "server/guard/rpc_status.h"
#include "wire/columns.h"

namespace eris::server {

// Errors: as Session::Open, and InvalidArgument for the name.
absl::StatusOr<Object> OpenObject(Session& session, const std::string& name);
// Errors: FailedPrecondition (a heap table).
absl::Status CheckKeyed(const Object& object);

// Bytes of unknown fields: protobuf keeps them, at many times their size.
uint64_t UnknownBytes(const google::protobuf::Message& message);
// The bytes of a message's columns, including parts for which the request will be refused.
uint64_t ColumnsBytes(const wire::Columns& columns);
// The number of rows that the columns claim, limited to the maximum that is not refused.
inline uint64_t RowsSaid(const wire::Columns& columns) {
  return columns.empty() ? 0 : std::min<uint64_t>(wire::RowsSaid(columns[0]), kTableBatchRowsMax);
}
inline uint64_t BitmapBytes(uint64_t rows) { return rows / 8 + 1; }
// The engine's temporary copies of columns: keys of an index or a hash that are not u64, and its
// strings.
uint64_t CopiedBytes(const Object& object, const wire::Columns& columns);
// Columns of an answer, except strings, which are charged when they are known.
uint64_t AnsweredBytes(const Object& object, const wire::ColumnTypes& types, uint64_t rows);

// Up to this size the engine copies columns, which costs less than keeping their message.
inline constexpr uint64_t kCopiedColumnsBytesMax = 4 << 10;

// A request's columns, and their message if the engine does not copy them.
template <class Request>
struct BatchInput {
  Request message;
  wire::ViewedColumns rows;
  wire::ViewedColumns expected;
};

// Calls start(message, input, holder), which reads the message's columns into the input and passes
// them to the engine together with the holder.
template <class Request, class Start>
auto StartBatch(Request& request, uint64_t columns_bytes, Start start) {
  if (columns_bytes <= kCopiedColumnsBytesMax) {
    BatchInput<Request> input;
    return start(std::as_const(request), input, nullptr);
  }
  const auto held = std::make_shared<BatchInput<Request>>();
  held->message.Swap(&request);
  return start(std::as_const(held->message), *held, held);
}

// Whether some rows were executed, so that the answer tells which, whatever the status. (For
// appends it tells how many; if there was no memory for the answer, nothing.)
inline bool HasAnswer(const BatchResult& result, bool appends = false) {
  return result.status.ok() ||
         (absl::IsResourceExhausted(result.status) && result.refused < result.count &&
          (appends || !result.executed.empty()));
}
template <class Response>
void FillRefusal(BatchResult& result, Response* response) {
  response->set_executed(std::move(result.executed));
  if (result.status.ok()) return;
  FillRequestStatus(result.status, response->mutable_refusal());
}

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_BATCH_REQUEST_H_
