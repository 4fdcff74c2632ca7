// Converts a caller's batch to a request: checks it against the object's schema, and makes the
// words and rows for commands. The same for objects of all kinds. No thread of its own.
#ifndef ERIS_ENGINE_SESSIONS_BATCH_REQUEST_H_
#define ERIS_ENGINE_SESSIONS_BATCH_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/core/request.h"
#include "engine/objects/object_entry.h"
#include "eris/batch.h"
#include "routing/data_command.h"

namespace eris::engine {

// A batch as passed to a session. Borrowed.
struct BatchInput {
  BatchInput(const LookupBatch& batch, bool async)
      : rows(batch.keys),
        columns(batch.columns),
        answer_bytes_max(batch.answer_bytes_max),
        holder(batch.holder),
        copies(async && batch.holder == nullptr) {}
  BatchInput(const WriteBatch& batch, bool async)
      : mode(batch.mode),
        rows(batch.rows),
        expected(batch.expected),
        holder(batch.holder),
        copies(async && batch.holder == nullptr) {}

  bool keys_only() const { return !mode || mode == WriteMode::kErase; }

  std::optional<WriteMode> mode{};  // nullopt: a lookup
  RowBatch rows;
  RowBatch expected{};
  absl::Span<const std::string> columns{};
  uint64_t answer_bytes_max = kBatchValueBytesMax;
  const std::shared_ptr<const void>& holder;
  bool copies;  // the columns may be freed before the request has ended
};

// A batch that is valid for its object.
struct CheckedBatch {
  routing::CommandType type = routing::CommandType::kLookup;
  uint32_t count = 0;             // number of answers: rows, or for an append pieces
  std::vector<uint32_t> asked{};  // requested columns; for an index, empty: the value
  std::vector<uint64_t> pieces{};
  uint64_t record_bytes = 0;  // for strings of an index that do not fit in a word
  int64_t credit_bytes = 0;   // memory that the request takes
};

// Errors: as Session::Lookup and Write, except those that occur only during execution. Throws
// std::bad_alloc.
absl::StatusOr<CheckedBatch> CheckBatch(const ObjectEntry& object, const BatchInput& input);

// Fills in everything to send. The request has been created with `checked`'s type and count and
// holds its credit. Throws std::bad_alloc.
void FillRequest(const BatchInput& input, CheckedBatch checked, Request& request);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_SESSIONS_BATCH_REQUEST_H_
