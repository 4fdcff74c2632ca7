// The configuration that `eris serve` would run with: defaults, a file, the environment, flags.
// Each value's origin is in ServerConfig::origins. One thread.
#ifndef ERIS_CLIENTS_CLI_SETTINGS_CONFIG_SOURCE_H_
#define ERIS_CLIENTS_CLI_SETTINGS_CONFIG_SOURCE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "clients/cli/text/option_flags.h"
#include "server/state/config.h"

namespace eris::cli {

// Read if it exists and --config is not given.
inline constexpr char kDefaultConfigFile[] = "/etc/eris/eris.toml";
// As --config: no file at all.
inline constexpr char kNoConfigFile[] = "none";

// The file to read, for the value of --config (or empty). Empty: none. The default file is looked
// for under $ERIS_SYSTEM_ROOT if that is set (for tests).
std::string ConfigFileOf(const std::string& given);

// Applies file (empty: none), environment and flags to `config`, and checks it. Errors:
// InvalidArgument, and those of reading the file.
absl::Status ReadConfig(const std::string& file, const OptionFlags& flags,
                        server::ServerConfig& config);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_SETTINGS_CONFIG_SOURCE_H_
