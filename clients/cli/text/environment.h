// Checks the environment of `eris serve`: an unknown variable whose name begins with ERIS_ is a
// mistake, which would leave a server without an intended limit. No state.
#ifndef ERIS_CLIENTS_CLI_TEXT_ENVIRONMENT_H_
#define ERIS_CLIENTS_CLI_TEXT_ENVIRONMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace eris::cli {

// The names of all variables that are set. No other thread may change them meanwhile.
std::vector<std::string> EnvironmentNames();

// Errors: InvalidArgument (names the variable, and the probably intended one).
absl::Status CheckEnvironment(const std::vector<std::string>& names);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_ENVIRONMENT_H_
