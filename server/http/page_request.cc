#include "server/http/page_request.h"

#include <boost/asio/ip/address.hpp>

#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace eris::server {
namespace {

bool IsIpAddress(absl::string_view host) {
  boost::system::error_code error;
  boost::asio::ip::make_address(std::string(host), error);
  return !error;
}

// %41 and +. Errors: InvalidArgument.
absl::StatusOr<std::string> Decoded(absl::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    uint32_t byte = 0;
    if (i + 2 >= text.size() || !absl::ascii_isxdigit(text[i + 1]) ||
        !absl::ascii_isxdigit(text[i + 2]) || !absl::SimpleHexAtoi(text.substr(i + 1, 2), &byte)) {
      return absl::InvalidArgumentError("the query has a broken escape");
    }
    result += static_cast<char>(byte);
    i += 2;
  }
  return result;
}

}  // namespace

bool IsOwnHost(absl::string_view header, absl::string_view own_host) {
  absl::string_view host = header;
  if (absl::ConsumePrefix(&host, "[")) {
    const size_t end = host.find(']');
    if (end == absl::string_view::npos) return false;
    const absl::string_view rest = host.substr(end + 1);
    return IsIpAddress(host.substr(0, end)) && (rest.empty() || rest[0] == ':');
  }
  host = host.substr(0, host.rfind(':'));
  return !host.empty() && !absl::StrContains(host, ':') &&
         (IsIpAddress(host) || absl::EqualsIgnoreCase(host, "localhost") ||
          absl::EqualsIgnoreCase(host, own_host));
}

absl::StatusOr<PageTarget> ParseTarget(absl::string_view target) {
  if (!absl::StartsWith(target, "/")) {
    return absl::InvalidArgumentError("the request's target is not a path");
  }
  const size_t question = target.find('?');
  PageTarget result{.path = std::string(target.substr(0, question))};
  if (question == absl::string_view::npos) return result;
  for (const absl::string_view part :
       absl::StrSplit(target.substr(question + 1), '&', absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('=', 1));
    ERIS_ASSIGN_OR_RETURN(std::string name, Decoded(pair.first));
    ERIS_ASSIGN_OR_RETURN(std::string value, Decoded(pair.second));
    if (!result.values.emplace(std::move(name), std::move(value)).second) {
      return absl::InvalidArgumentError("the query has a parameter twice");
    }
  }
  return result;
}

}  // namespace eris::server
