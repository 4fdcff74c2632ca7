// "did you mean": finds the name that a mistyped one resembles. Any thread, no state.
#ifndef ERIS_CLIENTS_CLI_TEXT_NEAREST_H_
#define ERIS_CLIENTS_CLI_TEXT_NEAREST_H_

#include <string>
#include <vector>

namespace eris::cli {

// The name that `text` resembles most; empty: none is similar.
std::string NearestOf(const std::vector<std::string>& names, const std::string& text);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_NEAREST_H_
