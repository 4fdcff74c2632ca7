// Byte strings as a user types and reads them: text, hexadecimal, base64, or a file's content.
// Errors: InvalidArgument, with the text and the expected form. Any thread; FromFile reads.
#ifndef ERIS_CLIENTS_CLI_TEXT_BYTE_TEXT_H_
#define ERIS_CLIENTS_CLI_TEXT_BYTE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::cli {

enum class ByteFormat : uint8_t { kText, kHex, kBase64 };

// The bytes for `text` in that format.
absl::StatusOr<std::string> ParseByteText(ByteFormat format, absl::string_view text);

// An argument of the command line: as ParseByteText, but "@path" is the unchanged content of that
// file, and "@@..." a text that begins with one @.
absl::StatusOr<std::string> ParseByteArgument(ByteFormat format, absl::string_view text);

// What begins the text of bytes in files, before hexadecimal digits: \x00ff, as PostgreSQL has it.
inline constexpr absl::string_view kHexPrefix = "\\x";

bool IsUtf8(absl::string_view text);

// For a table: for text, control characters and invalid UTF-8 are shown as \n, \t, \xNN. Not
// reversible.
std::string ShowBytes(ByteFormat format, absl::string_view bytes);

// Members of a JSON object: "NAME": "..." with the text or its encoding; for text that is not UTF-8
// "NAME_base64": "...".
std::string ToJsonMember(ByteFormat format, absl::string_view name, absl::string_view bytes);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_BYTE_TEXT_H_
