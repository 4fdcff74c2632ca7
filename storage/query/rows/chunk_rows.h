// Puts the rows of a scan's chunk into envelopes.
#ifndef ERIS_STORAGE_QUERY_CHUNK_ROWS_H_
#define ERIS_STORAGE_QUERY_CHUNK_ROWS_H_

#include "absl/status/status.h"
#include "eris/query.h"
#include "storage/query/rows/row_sink.h"

namespace eris::storage {

// Errors: ResourceExhausted.
absl::Status AddChunk(const Chunk& chunk, RowSink& sink);

}  // namespace eris::storage

#endif  // ERIS_STORAGE_QUERY_CHUNK_ROWS_H_
