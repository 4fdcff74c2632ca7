#include "clients/cli/settings/config_source.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/environment.h"

namespace eris::cli {

std::string ConfigFileOf(const std::string& given) {
  if (given == kNoConfigFile) return "";
  if (!given.empty()) return given;
  const char* root = std::getenv("ERIS_SYSTEM_ROOT");
  const std::string file = absl::StrCat(root == nullptr ? "" : root, kDefaultConfigFile);
  // A file that is there but cannot be read is an error, which reading it tells.
  const bool missing = access(file.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR);
  return missing ? "" : file;
}

absl::Status ReadConfig(const std::string& file, const OptionFlags& flags,
                        server::ServerConfig& config) {
  if (!file.empty()) {
    const absl::Status status = server::ApplyConfigFile(file, &config);
    const bool unread = !status.ok() && !absl::IsInvalidArgument(status);
    if (unread && absl::EndsWith(file, kDefaultConfigFile)) {
      return absl::InvalidArgumentError(
          absl::StrCat(status.message(), "; --config none does without it"));
    }
    // A missing file is invalid input, too.
    if (!status.ok()) return absl::InvalidArgumentError(status.message());
  }
  absl::Status status = CheckEnvironment(EnvironmentNames());
  if (status.ok()) status = flags.Apply(config);
  return status.ok() ? server::ValidateConfig(config) : status;
}

}  // namespace eris::cli
