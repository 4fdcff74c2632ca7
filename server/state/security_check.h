// What a server would refuse of [security] at its start, found without starting one.
#ifndef ERIS_SERVER_STATE_SECURITY_CHECK_H_
#define ERIS_SERVER_STATE_SECURITY_CHECK_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "server/access/security_options.h"

namespace eris::server {

// Each text is a problem: an address of `listen` or `http` that others reach (CheckExposure), a
// file that this process cannot read or that is bad. `listen`, `http`: as in the configuration.
// Reads the files, may ask the system's resolver. Any thread.
std::vector<std::string> SecurityProblems(const SecurityOptions& options, absl::string_view listen,
                                          const std::string& http);

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_SECURITY_CHECK_H_
