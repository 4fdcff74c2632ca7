// The file of tokens and certificates that have a role (security.tokens_file). One a line, fields
// separated by spaces; # begins a comment:
//
//   <64 hex digits, the token's SHA-256> etl      writer orders*,lineitem 2027-01-31T00:00:00Z
//   certificate:loader.example.com       loader   admin  *                never
//
// that is credential, name, role, patterns of objects, expiry. Any thread, no state.
#ifndef ERIS_SERVER_ACCESS_TOKEN_FILE_H_
#define ERIS_SERVER_ACCESS_TOKEN_FILE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "server/access/caller.h"

namespace eris::server {

inline constexpr size_t kTokensFileBytesMax = 16 << 20;
inline constexpr size_t kCallerNameBytesMax = 64;
inline constexpr size_t kPatternsBytesMax = 1024;

// Errors: NotFound, PermissionDenied and the like; InvalidArgument (longer than
// kTokensFileBytesMax).
absl::StatusOr<std::string> ReadTokensFile(const std::string& path);

// `source` names the text in messages, which quote no credential. Errors: InvalidArgument (names
// source, line and field; a name or a credential that is there twice).
absl::StatusOr<std::vector<Caller>> ParseTokens(absl::string_view text, absl::string_view source);

// A line of the file, with its end.
std::string TokenLine(const Caller& caller);

// Checks the fields for which an operator chooses the text. Errors: InvalidArgument.
absl::Status CheckCaller(const Caller& caller);

// "never", a date, a date with time as RFC 3339 has it, or a duration from `now` on such as 90d or
// 12h. Errors: InvalidArgument.
absl::StatusOr<absl::Time> ExpiryFrom(absl::string_view text, absl::Time now);
std::string ExpiryText(absl::Time expires);

// The operator's changes. Each replaces the file in one step and keeps its permissions; changes at
// the same time wait for each other. AddToTokensFile creates a missing file. Errors: AlreadyExists
// or NotFound (the name), those of ReadTokensFile and ParseTokens, those of the system (the file
// cannot be written; it is then unchanged).
absl::Status AddToTokensFile(const std::string& path, const Caller& caller);
absl::Status RemoveFromTokensFile(const std::string& path, absl::string_view name);

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_TOKEN_FILE_H_
