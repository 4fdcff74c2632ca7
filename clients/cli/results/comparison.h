// Two results of `eris bench`: which settings differ, and the ratio of each figure. Pure functions;
// any thread.
#ifndef ERIS_CLIENTS_CLI_RESULTS_COMPARISON_H_
#define ERIS_CLIENTS_CLI_RESULTS_COMPARISON_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/results/result_file.h"
#include "clients/json.h"

namespace eris::cli {

struct Comparison {
  struct Setting {
    std::string name;
    std::optional<std::string> a, b;  // unset: that file has no such setting
    bool matters = false;             // with it another thing was measured
  };
  struct Figure {
    std::string run, operation, name;
    std::optional<double> a, b;  // unset: that file has no such figure

    // b / a; unset if one is missing, or if `a` is 0.
    std::optional<double> ratio() const;
  };

  std::string a, b;               // the files
  std::vector<Setting> settings;  // those that differ
  std::vector<Figure> figures;    // in the order of the first file; then those of the second alone

  bool comparable() const;
};

// Errors: InvalidArgument (one is a sweep, the other one is not).
absl::StatusOr<Comparison> Compare(const BenchResult& a, const BenchResult& b);

std::string ToText(const Comparison& comparison);
Json ToJson(const Comparison& comparison);
// Without line ends: reasons to doubt the ratios.
std::vector<std::string> Warnings(const Comparison& comparison, const BenchResult& a,
                                  const BenchResult& b);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_RESULTS_COMPARISON_H_
