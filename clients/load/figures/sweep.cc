#include "clients/load/figures/sweep.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace eris::load {

absl::StatusOr<std::vector<uint32_t>> ParseShares(absl::string_view text) {
  std::vector<uint32_t> shares;
  for (const absl::string_view one : absl::StrSplit(text, ',')) {
    uint32_t percent = 0;
    if (!absl::SimpleAtoi(one, &percent) || percent < 1 || percent > kSharePercentMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", text,
          "' is no list of percentages of the peak, such as 50,70,90,100: each from 1 to ",
          kSharePercentMax));
    }
    shares.push_back(percent);
  }
  if (shares.size() > kSharesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' has ", shares.size(), " percentages; at most ", kSharesMax));
  }
  return shares;
}

std::string SweepRun::name() const { return percent == 0 ? "peak" : absl::StrCat(percent, " %"); }

double RateOf(const RunResult& result) {
  return static_cast<double>(result.tally.All().answered) / result.seconds;
}

absl::StatusOr<Plan> PlanAt(const SweepRun& peak, uint32_t percent) {
  Plan plan = peak.plan;
  plan.rate = RateOf(peak.result) * percent / 100;
  if (plan.rate >= kRateMin) return plan;
  return absl::FailedPreconditionError(absl::StrFormat(
      "the closed loop answered %g requests/s: %d %% of them are less than %g, the lowest rate of "
      "an open loop",
      RateOf(peak.result), percent, kRateMin));
}

std::string SweepToTable(const ReportContext& context, const std::vector<SweepRun>& runs) {
  const SweepRun& peak = runs.front();
  std::string out;
  for (const std::string& line : SettingsLines(peak.plan, context)) {
    absl::StrAppend(&out, line, "\n");
  }
  absl::StrAppendFormat(&out,
                        "%.1f s measured for the peak, then at shares of it in open loops\n\n",
                        peak.result.seconds);
  absl::StrAppendFormat(&out, "%-8s%12s%12s%14s%10s%s\n", "share", "due/s", "requests/s", "keys/s",
                        "not sent", LatencyTitles());
  for (const SweepRun& run : runs) {
    const OperationTally all = run.result.tally.All();
    absl::StrAppendFormat(&out, "%-8s%12s%12.0f%14.0f%10d%s\n", run.name(),
                          run.percent == 0 ? "-" : absl::StrFormat("%.0f", run.plan.rate),
                          RateOf(run.result), static_cast<double>(all.keys) / run.result.seconds,
                          all.not_sent, LatencyCells(all.latency));
  }
  uint64_t wrong = 0, failed = 0, refused = 0;
  for (const SweepRun& run : runs) {
    wrong += run.result.tally.All().wrong;
    failed += run.result.tally.failed;
    refused += run.result.tally.refused;
  }
  absl::StrAppendFormat(&out, "\nwrong %d%s, failed %d, refused %d\n", wrong,
                        peak.plan.verify ? "" : " (not verified)", failed, refused);
  return out;
}

Json SweepToJson(const ReportContext& context, const std::vector<SweepRun>& runs) {
  Json out = SettingsJson(runs.front().plan, context);
  out["peak"] = FiguresJson(runs.front().plan, context, runs.front().result);
  Json shares = Json::Array();
  for (size_t i = 1; i < runs.size(); ++i) {
    Json share{{"percent", runs[i].percent}, {"rate", runs[i].plan.rate}};
    const Json figures = FiguresJson(runs[i].plan, context, runs[i].result);
    for (const std::string& name : figures.names()) share[name] = figures[name];
    shares.push_back(std::move(share));
  }
  out["sweep"] = std::move(shares);
  return out;
}

std::string SweepToCsv(const std::vector<SweepRun>& runs) {
  std::string out;
  for (const SweepRun& run : runs) {
    // The columns of the peak: without the service time, which a closed loop has not.
    Plan plan = run.plan;
    plan.rate = 0;
    std::vector<std::string> lines =
        absl::StrSplit(ToCsv(plan, run.result), '\n', absl::SkipEmpty());
    if (out.empty()) out = absl::StrCat("percent,rate,", lines.front(), "\n");
    for (size_t i = 1; i < lines.size(); ++i) {
      const bool peak = run.percent == 0;
      absl::StrAppend(&out, peak ? "" : absl::StrCat(run.percent), ",",
                      peak ? "" : Json(run.plan.rate).Dump(), ",", lines[i], "\n");
    }
  }
  return out;
}

}  // namespace eris::load
