// The environment of `eris serve`: a variable whose name begins with ERIS_ and that nobody reads is
// a mistake, which would leave a server without the limit that it was meant to have. No state.
#ifndef ERIS_CLIENTS_CLI_TEXT_ENVIRONMENT_H_
#define ERIS_CLIENTS_CLI_TEXT_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace eris::cli {

// The names of all variables that are set. While no other thread changes them.
std::vector<std::string> EnvironmentNames();

// Errors: InvalidArgument (names the variable, and the one that was meant).
absl::Status CheckEnvironment(const std::vector<std::string>& names);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_ENVIRONMENT_H_
