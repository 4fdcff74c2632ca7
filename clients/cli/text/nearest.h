// "did you mean": which of some names a mistyped one was meant to be. Any thread, no state.
#ifndef ERIS_CLIENTS_CLI_TEXT_NEAREST_H_
#define ERIS_CLIENTS_CLI_TEXT_NEAREST_H_

#include <string>
#include <vector>

namespace eris::cli {

// The name that `text` was meant to be; empty: none is like it.
std::string NearestOf(const std::vector<std::string>& names, const std::string& text);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_NEAREST_H_
