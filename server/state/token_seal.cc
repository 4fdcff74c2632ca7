#include "server/state/token_seal.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "eris/errors.h"

namespace eris::server {

static_assert(std::endian::native == std::endian::little);

namespace {

// An HMAC: from tokens alone, a client can compute neither the checksum of another content nor the
// seed. Otherwise it could make tokens for what other clients hold.
uint64_t ChecksumOf(absl::string_view bytes, uint64_t seed) {
  unsigned char code[EVP_MAX_MD_SIZE] = {};
  const void* const made =
      HMAC(EVP_sha256(), &seed, sizeof seed, reinterpret_cast<const unsigned char*>(bytes.data()),
           bytes.size(), code, nullptr);
  ERIS_CHECK(made != nullptr);  // SHA-256 is always there
  uint64_t checksum;
  std::memcpy(&checksum, code, sizeof checksum);
  return checksum;
}

void PutNumber(std::string& out, uint64_t value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

uint64_t NumberAt(absl::string_view bytes, size_t at) {
  uint64_t value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

}  // namespace

// No token begins like this text.
TokenSeal::TokenSeal(uint64_t seed) : seed_(seed), server_(ChecksumOf("eris", seed)) {}

std::string TokenSeal::Seal(const Kind& kind, absl::string_view content) const {
  std::string token;
  token.reserve(kHeadBytes + content.size() + kChecksumBytes);
  token.push_back(static_cast<char>(kind.form));
  PutNumber(token, server_);
  token.append(content.data(), content.size());
  PutNumber(token, ChecksumOf(token, seed_));
  return token;
}

absl::StatusOr<absl::string_view> TokenSeal::Open(const Kind& kind, absl::string_view token) const {
  ERIS_CHECK(token.size() >= kHeadBytes + kChecksumBytes);
  if (const auto form = static_cast<uint8_t>(token[0]); form != kind.form) {
    const bool older = kind.older_forms.find(token[0]) != absl::string_view::npos;
    return Error(ErrorReason::kResumeTokenInvalid,
                 absl::StrCat(kind.name, ": of form ", uint32_t{form},
                              older ? ", from a server of an older version; this one reads form "
                                    : ", which is unknown, must be ",
                              uint32_t{kind.form}, ": ", kind.again));
  }
  if (NumberAt(token, 1) != server_) {
    return Error(ErrorReason::kResumeTokenInvalid,
                 absl::StrCat(kind.name, ": of another server, or of this one before its restart; ",
                              kind.again));
  }
  const size_t end = token.size() - kChecksumBytes;
  if (NumberAt(token, end) != ChecksumOf(token.substr(0, end), seed_)) {
    return Error(ErrorReason::kResumeTokenInvalid,
                 absl::StrCat(kind.name, ": damaged, its checksum does not match"));
  }
  return token.substr(kHeadBytes, end - kHeadBytes);
}

}  // namespace eris::server
