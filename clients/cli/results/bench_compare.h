// eris bench compare: two results of eris bench next to each other.
#ifndef ERIS_CLIENTS_CLI_RESULTS_BENCH_COMPARE_H_
#define ERIS_CLIENTS_CLI_RESULTS_BENCH_COMPARE_H_

#include <optional>
#include <string>

#include "clients/cli/text/cli.h"
#include "clients/cli/text/flags.h"

namespace eris::cli {

// Adds the verb to `bench`, whose own flags it refuses, except --output, which sets `output`.
void AddBenchCompare(Flags& bench, const std::optional<std::string>& output, Cli& cli);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_RESULTS_BENCH_COMPARE_H_
