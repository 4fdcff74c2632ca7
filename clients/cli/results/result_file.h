// A result that `eris bench --output json` has written, read again. One thread.
#ifndef ERIS_CLIENTS_CLI_RESULTS_RESULT_FILE_H_
#define ERIS_CLIENTS_CLI_RESULTS_RESULT_FILE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::cli {

struct BenchMetric {
  std::string run;        // of a sweep: "peak", "70 %"; otherwise empty
  std::string operation;  // "lookup", "all"
  std::string name;       // as in the file: "p99_us"
  double value = 0;

  bool SameAs(const BenchMetric& other) const {
    return run == other.run && operation == other.operation && name == other.name;
  }
};

struct BenchResult {
  std::string name;  // of the file
  bool sweep = false;
  // The workload, the target, the machine, version, commit and build, and each flag, by its name.
  std::vector<std::pair<std::string, std::string>> settings{};
  std::vector<BenchMetric> metrics{};
  uint64_t wrong = 0;  // of all runs
  uint64_t failed = 0;
};

// The result in the text of the file `name`. Errors: InvalidArgument, with the file and the field
// (no JSON, another format, a field that is missing or of another type).
absl::StatusOr<BenchResult> ParseBenchResult(const std::string& name, absl::string_view text);
// The same for a file. Errors: also NotFound, or InvalidArgument (it cannot be read).
absl::StatusOr<BenchResult> ReadBenchResult(const std::string& path);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_RESULTS_RESULT_FILE_H_
