// What a request to the page asks for. Pure functions; any thread.
#ifndef ERIS_SERVER_HTTP_PAGE_REQUEST_H_
#define ERIS_SERVER_HTTP_PAGE_REQUEST_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::server {

// Whether a request with this Host header is for a server on `own_host`: it names an IP address,
// localhost or `own_host`, with any port. Any other name may belong to somebody else who has
// pointed it here, so that a browser takes this page for a part of a foreign site (DNS rebinding).
bool IsOwnHost(absl::string_view header, absl::string_view own_host);

struct PageTarget {
  std::string path;                             // "/api/stats"
  std::map<std::string, std::string> values{};  // of the query, decoded
};
// Errors: InvalidArgument (not a path, a broken escape, a parameter twice).
absl::StatusOr<PageTarget> ParseTarget(absl::string_view target);

}  // namespace eris::server

#endif  // ERIS_SERVER_HTTP_PAGE_REQUEST_H_
