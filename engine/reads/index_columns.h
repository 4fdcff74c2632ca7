// The columns of an index as its readers see them: keys of their own types, strings as offsets and
// bytes. AEUs fill chunks with encoded keys (key_encoding.h) and words (storage/byte_value.h); both
// are converted in place. Pure functions; any thread.
#ifndef ERIS_ENGINE_READS_INDEX_COLUMNS_H_
#define ERIS_ENGINE_READS_INDEX_COLUMNS_H_

#include <cstdint>
#include <string>

#include "absl/types/span.h"
#include "eris/batch.h"
#include "eris/schema.h"

namespace eris::engine {

// Converts `keys` to values of the type, which is one for keys of an index.
ColumnView DecodeKeys(ColumnType type, absl::Span<uint64_t> keys);

// Appends the words' strings to `bytes`; their offsets replace the words. Throws std::bad_alloc,
// with the words unchanged. REQUIRES: at least one word.
ColumnView GatherStrings(absl::Span<uint64_t> words, std::string& bytes);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_INDEX_COLUMNS_H_
