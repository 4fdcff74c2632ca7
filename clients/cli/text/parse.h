// Parses numbers of the command line. Pure functions; any thread.
// Errors: InvalidArgument, with the text and the expected form.
#ifndef ERIS_CLIENTS_CLI_TEXT_PARSE_H_
#define ERIS_CLIENTS_CLI_TEXT_PARSE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/types.h"

namespace eris::cli {

// Only decimal digits, 0 to 2^64-1: no sign, no blank, no point.
bool ParseU64(absl::string_view text, uint64_t& value);

// "index", "hash", "table", "heap table"; the number of an unknown kind.
std::string KindName(ObjectKind kind);

// For Flag::Check: the text's problem, or nothing.
std::string CheckNotEmpty(const std::string& text);
std::string CheckName(const std::string& text);  // names are UTF-8
std::string CheckU64(const std::string& text);

// "4GiB", "512 MiB", "64KiB", "4096".
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_PARSE_H_
