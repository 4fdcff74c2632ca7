// The caller of a call, and what it may do: a role, and the objects for which it has the role.
// Any thread, no state.
#ifndef ERIS_SERVER_ACCESS_CALLER_H_
#define ERIS_SERVER_ACCESS_CALLER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace eris::server {

// Each may do what those before it may. kReader reads rows and counters; kWriter also writes rows;
// kAdmin also creates and drops objects, and steers the balancer.
enum class Role : uint8_t { kReader, kWriter, kAdmin };

absl::string_view RoleName(Role role);
std::optional<Role> RoleFrom(absl::string_view name);

// Whether an object's whole name fits a pattern, in which each * matches any text, even an empty
// one.
bool MatchesPattern(absl::string_view pattern, absl::string_view object);

inline constexpr absl::string_view kCertificatePrefix = "certificate:";

struct Caller {
  // As in the tokens file: 64 hex digits, or kCertificatePrefix and a name.
  std::string credential{};
  std::string name{};
  Role role = Role::kReader;
  std::vector<std::string> patterns{};  // an object must fit one of them
  absl::Time expires = absl::InfiniteFuture();

  // Whether it shows a certificate; else it shows a token.
  bool has_certificate() const;
  bool Sees(absl::string_view object) const;
  // It has the pattern "*".
  bool SeesEveryObject() const;
  // For messages: `token "etl" has role reader for "orders*"`.
  std::string Text() const;
};

// Whether the caller may do what needs `role` for `object`. Errors: PermissionDenied (names what is
// needed, and what the caller has).
absl::Status Allow(const Caller& caller, Role role, absl::string_view object);
// The same for what shows or changes all objects, or none.
absl::Status AllowEveryObject(const Caller& caller, Role role);
absl::Status AllowWithoutObject(const Caller& caller, Role role);

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_CALLER_H_
