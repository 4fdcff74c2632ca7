// What put with a condition and add share: keys that are tested and written in one step, with an
// answer for each.
#ifndef ERIS_CLIENTS_CLI_CONDITIONAL_WRITE_H_
#define ERIS_CLIENTS_CLI_CONDITIONAL_WRITE_H_

#include <string>
#include <vector>

#include "clients/cli/text/cli.h"
#include "eris/types.h"

namespace eris::cli {

// Writes what `arguments` say (see ParseWrite; "-": lines of standard input) and prints a row for
// each key in their order: whether it was written and the value before, of adds the sum. Keys that
// the server refuses are named on stderr. Returns the exit code.
int RunConditionalWrite(const Cli& cli, WriteMode mode, const std::string& object,
                        const std::vector<std::string>& arguments);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_CONDITIONAL_WRITE_H_
