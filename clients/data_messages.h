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

// The required content of the answer to a request.
struct AnswerShape {
  uint64_t rows = 0;
  uint64_t bits = 0;            // number of bits
  wire::ColumnTypes columns{};  // their types
};

// Errors: InvalidArgument (the caller has omitted the object's schema).
absl::Status CheckSchema(const ObjectInfo& object);

// Both replace `request`, whose memory is reused. Errors: InvalidArgument (a batch with other
// columns than the schema, an unknown column name), FailedPrecondition (an object without a key).
absl::StatusOr<AnswerShape> FillLookup(const ObjectInfo& object, const RowBatch& keys,
                                       const std::vector<std::string>& columns,
                                       uint64_t answer_bytes_max, v1::LookupRequest& request);
absl::StatusOr<AnswerShape> FillWrite(const ObjectInfo& object, WriteMode mode,
                                      const RowBatch& rows, const RowBatch& expected,
                                      v1::WriteRequest& request);
// The short forms. Errors: InvalidArgument also if columns of the object are not u64, or spans have
// different lengths.
absl::StatusOr<AnswerShape> FillLookup(const ObjectInfo& object, const KeyColumns& keys,
                                       v1::LookupRequest& request);
absl::StatusOr<AnswerShape> FillWrite(const ObjectInfo& object, WriteMode mode,
                                      const KeyColumns& keys, absl::Span<const uint64_t> values,
                                      absl::Span<const uint64_t> expected,
                                      v1::WriteRequest& request);

// Take the content of an answer. Errors: Internal (it does not have that shape).
absl::StatusOr<LookupResult> TakeLookup(const AnswerShape& shape, v1::LookupResponse& response);
absl::StatusOr<WriteResult> TakeWrite(const AnswerShape& shape, v1::WriteResponse& response);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_DATA_MESSAGES_H_
