// Batches as C gives them, checked, for calls that wait and for those that do not.
#ifndef ERIS_CAPI_BATCHES_H_
#define ERIS_CAPI_BATCHES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capi/columns.h"
#include "eris/batch.h"
#include "eris/c/session.h"
#include "eris/session.h"

namespace eris::capi {

// What a lookup asks for, apart from its keys.
struct LookupIn {
  // Errors: InvalidArgument (options).
  static absl::StatusOr<std::unique_ptr<LookupIn>> Create(const Object& object,
                                                          const eris_lookup_options* given);
  LookupBatch batch(const RowBatch& keys) const;  // points into it

  std::vector<std::string> names{};
  std::vector<ColumnSchema> types{};  // of the answer's columns
  uint64_t answer_bytes_max = 0;
};

struct WriteIn {
  // Errors: InvalidArgument (mode, columns).
  static absl::StatusOr<std::unique_ptr<WriteIn>> Create(const Object& object, int32_t mode,
                                                         const eris_rows& rows,
                                                         const eris_rows* expected);
  WriteBatch batch() const;  // points into it

  WriteMode mode = WriteMode::kUpsert;
  std::vector<RowsIn> rows{};         // and the expected ones
  std::vector<ColumnSchema> types{};  // of the answer's columns
};

// The columns that a write takes.
std::vector<ColumnSchema> ColumnsOf(const Object& object, WriteMode mode);

}  // namespace eris::capi

#endif  // ERIS_CAPI_BATCHES_H_
