// A command line as a user types it, cut into arguments.
#ifndef ERIS_TESTS_UNIT_CLIENTS_COMMAND_LINE_H_
#define ERIS_TESTS_UNIT_CLIENTS_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace eris::cli {

// At blanks, except between double quotes.
inline std::vector<std::string> ArgumentsOf(const std::string& text) {
  std::vector<std::string> arguments;
  std::string one;
  bool quoted = false;
  for (const char c : text + " ") {
    if (c == '"') quoted = !quoted;
    if (c == '"') continue;
    if (c != ' ' || quoted) {
      one += c;
    } else if (!one.empty()) {
      arguments.push_back(std::move(one));
      one.clear();
    }
  }
  return arguments;
}

}  // namespace eris::cli

#endif  // ERIS_TESTS_UNIT_CLIENTS_COMMAND_LINE_H_
