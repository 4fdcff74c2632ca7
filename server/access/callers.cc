#include "server/access/callers.h"

#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace eris::server {
namespace {

uint64_t FirstOf(const TokenHash& hash) {
  uint64_t first;
  std::memcpy(&first, hash.data(), sizeof first);
  return first;
}

}  // namespace

Callers::Callers(std::vector<Caller> callers) {
  for (Caller& caller : callers) {
    const auto shared = std::make_shared<const Caller>(std::move(caller));
    if (const std::optional<TokenHash> hash = HashFromHex(shared->credential)) {
      tokens_.emplace(FirstOf(*hash), Entry{*hash, shared});
    } else {
      certificates_.emplace(shared->credential, shared);
    }
  }
}

std::shared_ptr<const Caller> Callers::ByToken(absl::string_view token) const {
  return ByHash(HashOf(token));
}

std::shared_ptr<const Caller> Callers::ByCertificate(absl::string_view name) const {
  return ByCredential(absl::StrCat(kCertificatePrefix, name));
}

std::shared_ptr<const Caller> Callers::ByCredential(absl::string_view credential) const {
  if (const std::optional<TokenHash> hash = HashFromHex(credential)) return ByHash(*hash);
  const auto found = certificates_.find(credential);
  return found == certificates_.end() ? nullptr : found->second;
}

std::shared_ptr<const Caller> Callers::ByHash(const TokenHash& hash) const {
  const auto [begin, end] = tokens_.equal_range(FirstOf(hash));
  for (auto at = begin; at != end; ++at) {
    if (SameHash(at->second.hash, hash)) return at->second.caller;
  }
  return nullptr;
}

}  // namespace eris::server
