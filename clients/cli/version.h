// The version of the program's sources. Any thread.
#ifndef ERIS_CLIENTS_CLI_VERSION_H_
#define ERIS_CLIENTS_CLI_VERSION_H_

#include <string>

namespace eris::cli {

const char* ProjectVersion();  // "0.1.0"
// Abbreviated, with "-changed" if the sources differ from the commit; "unknown" outside a
// repository.
const char* Commit();
// "0.1.0 (commit 0123456789ab)"
inline std::string VersionText() {
  return std::string(ProjectVersion()) + " (commit " + Commit() + ")";
}

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_VERSION_H_
