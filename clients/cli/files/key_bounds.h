// Bounds of ranges and partitions as text. Inside they are words: a value of a key's column as a
// u64 in the same order (include/eris/key_encoding.h; an int32 as a date, a decimal as its unscaled
// int64). Pure functions; any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_KEY_BOUNDS_H_
#define ERIS_CLIENTS_CLI_FILES_KEY_BOUNDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/options.h"
#include "eris/schema.h"
#include "eris/types.h"

namespace eris::cli {

// False: the text is no value of the column, or NaN.
bool ParseWord(const ColumnSchema& column, absl::string_view text, uint64_t& word);
// Errors: InvalidArgument, naming the text and what was expected.
absl::StatusOr<uint64_t> WordFromText(const ColumnSchema& column, absl::string_view text);
std::string WordText(const ColumnSchema& column, uint64_t word);

// A table is cut by the first eight bytes of its key, in which a narrow first column stands at the
// top; an index by words. Here and back; `column` is the first one of the key.
uint64_t CutOf(ObjectKind kind, const ColumnSchema& column, uint64_t word);
uint64_t WordOfCut(ObjectKind kind, const ColumnSchema& column, uint64_t cut);

// Where partitions begin, of the first column of the key: `expect` is "LO:HI", [LO, HI), or "LO:",
// which goes to the end of the key space; `split` is "10,20,30", the inner bounds. Empty: not
// given. Errors: InvalidArgument, naming the text (no bound, a range without a key, a heap table).
absl::Status SetBounds(absl::string_view expect, absl::string_view split, CreateOptions& options);

// A key of an index, or its first part alone, which is in front of all keys that have it.
struct KeyBound {
  uint64_t first = 0;
  uint64_t second = 0;  // of one-part keys 0
  friend auto operator<=>(const KeyBound&, const KeyBound&) = default;
};
// Errors: InvalidArgument, naming the text.
absl::StatusOr<KeyBound> ParseBound(absl::string_view text, const Schema& schema);
// The text of a whole key.
std::string BoundText(const Schema& schema, const KeyBound& bound);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_KEY_BOUNDS_H_
