// Tokens and their hashes. A token is made once, shown once and kept by its owner; the server keeps
// only its SHA-256. Any thread, no state.
#ifndef ERIS_SERVER_ACCESS_TOKEN_HASH_H_
#define ERIS_SERVER_ACCESS_TOKEN_HASH_H_

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::server {

inline constexpr size_t kTokenHashBytes = 32;
using TokenHash = std::array<unsigned char, kTokenHashBytes>;

// "eris_" and 32 random bytes in base64url: secret scanners find tokens by the prefix. Errors:
// Unavailable (the system has no randomness).
absl::StatusOr<std::string> NewToken();

TokenHash HashOf(absl::string_view token);
// 64 hex digits, in lower case.
std::string HexOf(const TokenHash& hash);
// nullopt: not 64 hex digits.
std::optional<TokenHash> HashFromHex(absl::string_view hex);

// Takes the same time wherever they differ.
bool SameHash(const TokenHash& a, const TokenHash& b);

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_TOKEN_HASH_H_
