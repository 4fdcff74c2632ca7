// The flags of `eris bench`, and the plan made from them, or the error. One thread.
#ifndef ERIS_CLIENTS_CLI_BENCH_FLAGS_H_
#define ERIS_CLIENTS_CLI_BENCH_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/cli/text/flags.h"
#include "clients/cli/text/option_flags.h"
#include "clients/load/plan.h"

namespace eris::cli {

struct BenchFlags {
  std::string workload = "lookup";
  bool embedded = false;
  bool null_target = false;
  bool replace = false;
  std::string kind = "index";
  std::optional<std::string> layout, distribution, output, plot;
  std::string shares = "50,70,90,100";  // of a sweep
  std::optional<uint64_t> scan_rows;
  std::optional<uint32_t> upsert_percent, insert_percent, scan_percent, rmw_percent, in_flight;
  load::Plan plan;
  OptionFlags engine;

  // Parsing writes here: the flags must outlive `verb` and must not move.
  void AddTo(Flags& verb);
  // The plan described by the flags. `verb` tells which were given. Errors: InvalidArgument (flags
  // that exclude each other).
  absl::StatusOr<load::Plan> ToPlan(const Flags& verb) const;
  // The shares of a sweep; empty: no sweep is wanted. Errors: InvalidArgument (flags that exclude a
  // sweep).
  absl::StatusOr<std::vector<uint32_t>> SweepShares(const Flags& verb) const;

 private:
  void AddTarget(Flags& verb);
  void AddWorkload(Flags& verb);
  void AddKeys(Flags& verb);
  void AddPace(Flags& verb);
  absl::StatusOr<load::Workload> ToWorkload(const Flags& verb) const;
  absl::Status CheckTarget(const Flags& verb, const load::Plan& of) const;
  absl::Status CheckKeys(const Flags& verb, const load::Plan& of) const;
};

// Options as given or by default, by name, for a report: what follows from the workload comes from
// the plan.
std::vector<std::pair<std::string, std::string>> GivenFlags(const Flags& verb,
                                                            const load::Plan& plan);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_BENCH_FLAGS_H_
