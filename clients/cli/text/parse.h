// Text of the command line as numbers. Pure functions; any thread.
// Errors: InvalidArgument, naming the text and what was expected.
#ifndef ERIS_CLIENTS_CLI_TEXT_PARSE_H_
#define ERIS_CLIENTS_CLI_TEXT_PARSE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"

namespace eris::cli {

// Decimal digits alone, 0 to 2^64-1: no sign, no blank, no point.
bool ParseU64(absl::string_view text, uint64_t& value);

// "index", "hash", "table", "heap table"; of any other kind its number.
std::string KindName(ObjectKind kind);

// For Flag::Check: what is wrong with the text, or nothing.
std::string CheckNotEmpty(const std::string& text);
std::string CheckName(const std::string& text);  // names are UTF-8
std::string CheckU64(const std::string& text);

// "4GiB", "512 MiB", "64KiB", "4096".
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_PARSE_H_
