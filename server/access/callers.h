// All callers of one tokens file, by what they show. Any thread; immutable.
#ifndef ERIS_SERVER_ACCESS_CALLERS_H_
#define ERIS_SERVER_ACCESS_CALLERS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/access/caller.h"
#include "server/access/token_hash.h"

namespace eris::server {

class Callers {
 public:
  explicit Callers(std::vector<Caller> callers);

  // nullptr: unknown. The time does not depend on how much of a hash is right.
  std::shared_ptr<const Caller> ByToken(absl::string_view token) const;
  // By the name in a client's certificate.
  std::shared_ptr<const Caller> ByCertificate(absl::string_view name) const;
  // As the file has it: a caller that was found before.
  std::shared_ptr<const Caller> ByCredential(absl::string_view credential) const;

 private:
  struct Entry {
    TokenHash hash;
    std::shared_ptr<const Caller> caller;
  };
  std::shared_ptr<const Caller> ByHash(const TokenHash& hash) const;

  // By the first bytes of the hash, which nobody can choose; then all of them are compared.
  std::unordered_multimap<uint64_t, Entry> tokens_;
  std::map<std::string, std::shared_ptr<const Caller>, std::less<>> certificates_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_CALLERS_H_
