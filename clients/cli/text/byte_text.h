// Byte strings as a user types and reads them: text, hexadecimal, base64, or a file's content.
// Errors: InvalidArgument, naming the text and what was expected. Any thread; FromFile reads.
#ifndef ERIS_CLIENTS_CLI_TEXT_BYTE_TEXT_H_
#define ERIS_CLIENTS_CLI_TEXT_BYTE_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::cli {

enum class ByteFormat : uint8_t { kText, kHex, kBase64 };

// What `text` says in that format.
absl::StatusOr<std::string> ParseByteText(ByteFormat format, absl::string_view text);

// An argument of the command line: as ParseByteText, but "@path" is that file's content as it is,
// and "@@..." a text that begins with one @.
absl::StatusOr<std::string> ParseByteArgument(ByteFormat format, absl::string_view text);

bool IsUtf8(absl::string_view text);

// For a table: of text, control characters and what is no UTF-8 as \n, \t, \xNN. Not exact.
std::string ShowBytes(ByteFormat format, absl::string_view bytes);

// Members of a JSON object: "NAME": "..." with the text or what stands for it; of text that is no
// UTF-8 "NAME_base64": "...".
std::string ToJsonMember(ByteFormat format, absl::string_view name, absl::string_view bytes);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_BYTE_TEXT_H_
