// A sweep of the rate: a closed loop finds the peak, then open loops run at shares of it, so that
// one report has the latency at each rate. Pure functions; any thread.
#ifndef ERIS_CLIENTS_LOAD_FIGURES_SWEEP_H_
#define ERIS_CLIENTS_LOAD_FIGURES_SWEEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/json.h"
#include "clients/load/plan.h"
#include "clients/load/report.h"
#include "clients/load/run.h"

namespace eris::load {

// Shares of the peak, in percent: 1 to kSharePercentMax, at most kSharesMax of them.
inline constexpr uint32_t kSharePercentMax = 200;
inline constexpr size_t kSharesMax = 50;

// "50,70,90,100", in any order. Errors: InvalidArgument.
absl::StatusOr<std::vector<uint32_t>> ParseShares(absl::string_view text);

struct SweepRun {
  uint32_t percent = 0;  // of the peak; 0: the closed loop that found it
  Plan plan;
  RunResult result;

  std::string name() const;  // "peak", "70 %"
};

// Requests answered per second.
double RateOf(const RunResult& result);
// The plan of the open loop at that share of the peak. Errors: FailedPrecondition (the peak is too
// low for it).
absl::StatusOr<Plan> PlanAt(const SweepRun& peak, uint32_t percent);

// REQUIRES for all: `runs` has the peak first; later ones may be missing if the sweep was ended.
std::string SweepToTable(const ReportContext& context, const std::vector<SweepRun>& runs);
Json SweepToJson(const ReportContext& context, const std::vector<SweepRun>& runs);
// The lines of ToCsv for each run, behind its share and its rate, both empty for the peak.
std::string SweepToCsv(const std::vector<SweepRun>& runs);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_FIGURES_SWEEP_H_
