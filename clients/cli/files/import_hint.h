// What a message about a file adds when the file does not fit its import: the flags that would
// help. Any thread, no state.
#ifndef ERIS_CLIENTS_CLI_FILES_IMPORT_HINT_H_
#define ERIS_CLIENTS_CLI_FILES_IMPORT_HINT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/types.h"

namespace eris::cli {

// For a record that has one field only because another delimiter is in it; else empty.
std::string DelimiterHint(absl::Span<const absl::string_view> fields, char delimiter);

// For a header that has a column's name in other letters, large or small; else empty.
std::string CaseHint(absl::Span<const absl::string_view> header, absl::string_view name);

// For a record one of whose fields cannot be in an index. `names` are empty if the file has no
// header.
std::string TableHint(const std::vector<std::string>& names,
                      absl::Span<const absl::string_view> fields, size_t key_column);

// For a key that is none of its type, but of another; else empty.
std::string KeyHint(const KeyTypes& types, bool second_part, absl::string_view key);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_IMPORT_HINT_H_
