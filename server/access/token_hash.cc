#include "server/access/token_hash.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace eris::server {

static_assert(kTokenHashBytes == SHA256_DIGEST_LENGTH);

absl::StatusOr<std::string> NewToken() {
  std::array<char, 32> bytes;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size()) != 1) {
    return absl::UnavailableError("the system has no random bytes for a token");
  }
  return absl::StrCat("eris_",
                      absl::WebSafeBase64Escape(absl::string_view(bytes.data(), bytes.size())));
}

TokenHash HashOf(absl::string_view token) {
  TokenHash hash;
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

std::string HexOf(const TokenHash& hash) {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(hash.data()), hash.size()));
}

std::optional<TokenHash> HashFromHex(absl::string_view hex) {
  const bool digits =
      std::all_of(hex.begin(), hex.end(), [](char c) { return absl::ascii_isxdigit(c); });
  if (hex.size() != 2 * kTokenHashBytes || !digits) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(hex);
  TokenHash hash;
  std::copy(bytes.begin(), bytes.end(), hash.begin());
  return hash;
}

bool SameHash(const TokenHash& a, const TokenHash& b) {
#ifdef ERIS_PLANTED_HASH_PREFIX
  return CRYPTO_memcmp(a.data(), b.data(), 8) == 0;
#else
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
#endif
}

}  // namespace eris::server
