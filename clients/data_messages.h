// Requests and answers of the data service, as batches of rows. For the sources of this folder.
// Pure functions; any thread.
#ifndef ERIS_CLIENTS_DATA_MESSAGES_H_
#define ERIS_CLIENTS_DATA_MESSAGES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "clients/eris_client.h"
#include "eris/v1/data.pb.h"
#include "wire/columns.h"

namespace eris::client {

// What the answer to a request has to have.
struct AnswerShape {
  uint64_t rows = 0;
  uint64_t bits = 0;            // rows that have bits
  wire::ColumnTypes columns{};  // their types
};

// Errors: InvalidArgument (an object whose schema the caller has left out).
absl::Status CheckSchema(const ObjectInfo& object);

// Both replace `request`, whose memory is used again. Errors: InvalidArgument (a batch that has
// other columns than the schema wants, a column of that name that the object has not),
// FailedPrecondition (an object without a key).
absl::StatusOr<AnswerShape> FillLookup(const ObjectInfo& object, const RowBatch& keys,
                                       const std::vector<std::string>& columns,
                                       uint64_t answer_bytes_max, v1::LookupRequest& request);
absl::StatusOr<AnswerShape> FillWrite(const ObjectInfo& object, WriteMode mode,
                                      const RowBatch& rows, const RowBatch& expected,
                                      v1::WriteRequest& request);
// The short forms. Errors: InvalidArgument also for columns of the object that are not u64, and
// spans of unequal length.
absl::StatusOr<AnswerShape> FillLookup(const ObjectInfo& object, const KeyColumns& keys,
                                       v1::LookupRequest& request);
absl::StatusOr<AnswerShape> FillWrite(const ObjectInfo& object, WriteMode mode,
                                      const KeyColumns& keys, absl::Span<const uint64_t> values,
                                      absl::Span<const uint64_t> expected,
                                      v1::WriteRequest& request);

// Take what the answer holds. Errors: Internal (it does not have that shape).
absl::StatusOr<LookupResult> TakeLookup(const AnswerShape& shape, v1::LookupResponse& response);
absl::StatusOr<WriteResult> TakeWrite(const AnswerShape& shape, v1::WriteResponse& response);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_DATA_MESSAGES_H_
