// What the program is built from. Any thread.
#ifndef ERIS_CLIENTS_CLI_VERSION_H_
#define ERIS_CLIENTS_CLI_VERSION_H_

#include <string>

namespace eris::cli {

const char* ProjectVersion();  // "0.1.0"
// Abbreviated, with "-changed" where the sources are not those of the commit; "unknown" where they
// are of no repository.
const char* Commit();
// "0.1.0 (commit 0123456789ab)"
inline std::string VersionText() {
  return std::string(ProjectVersion()) + " (commit " + Commit() + ")";
}

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_VERSION_H_
