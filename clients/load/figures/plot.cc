#include "clients/load/figures/plot.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/load/figures/chart.h"

namespace eris::load {
namespace {

constexpr char kLatencyTitle[] = "latency, \xc2\xb5s";  // micro sign, UTF-8

double ToUs(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

std::vector<std::string> CaptionOf(const Plan& plan, const ReportContext& context,
                                   const std::string& measured) {
  std::vector<std::string> caption = SettingsLines(plan, context);
  caption.push_back(measured);
  const Machine machine = ReadMachine();
  caption.push_back(absl::StrCat(
      machine.cpu, ", ", machine.cpus, " cpus; eris ", context.version,
      context.commit.empty() ? "" : absl::StrCat(" (", context.commit, ")"), ", ", context.build));
  return caption;
}

std::string TitleOf(const Plan& plan, const char* what) {
  return absl::StrCat("eris bench ", plan.load ? "load" : plan.workload.name, what);
}

// 50 % is at 0.3, 90 % at 1, 99 % at 2: as many steps as it has nines.
double NinesOf(double percent) { return -std::log10(1 - percent / 100); }

Chart ByPercentile(const RunResult& result) {
  Chart chart{.title = "Latency by percentile",
              .x = {.title = "percentile of requests"},
              .y = {.title = kLatencyTitle, .logarithmic = true}};
  chart.x.ticks.push_back({0, "0"});
  for (const Percentile& one : kPercentiles) {
    chart.x.ticks.push_back({NinesOf(one.percent), one.title});
  }
  for (const auto& [name, one] : RowsOf(result.tally)) {
    Line line{.name = name, .points = {}};
    for (double nines = 0.1; nines < 4.01; nines += 0.1) {
      if (one.latency.count() == 0) break;
      const double percent = 100 * (1 - std::pow(10, -nines));
      line.points.emplace_back(nines, ToUs(one.latency.PercentileNs(percent)));
    }
    chart.lines.push_back(std::move(line));
  }
  // One kind of operation: "all" says the same.
  if (chart.lines.size() == 2) chart.lines.pop_back();
  return chart;
}

std::vector<Chart> OverTime(const Plan& plan, const RunResult& result) {
  const std::string time =
      plan.warm_up_s > 0
          ? absl::StrFormat("time, s; the first %g s are the warm-up", plan.warm_up_s)
          : "time, s";
  Chart throughput{.title = "Throughput",
                   .x = {.title = time},
                   .y = {.title = "keys per second"},
                   .lines = {{.name = "keys", .points = {}}}};
  Chart latency{.title = "Latency",
                .x = {.title = time},
                .y = {.title = kLatencyTitle, .logarithmic = true},
                .lines = {{.name = "p50", .points = {}},
                          {.name = "p99", .points = {}},
                          {.name = "max", .points = {}}}};
  for (const Interval& one : result.series) {
    const double seconds = std::max(1e-9, one.seconds());
    throughput.lines[0].points.emplace_back(one.to_s, static_cast<double>(one.keys) / seconds);
    latency.lines[0].points.emplace_back(one.to_s, ToUs(one.latency_ns_p50));
    latency.lines[1].points.emplace_back(one.to_s, ToUs(one.latency_ns_p99));
    latency.lines[2].points.emplace_back(one.to_s, ToUs(one.latency_ns_max));
  }
  return {std::move(throughput), std::move(latency)};
}

}  // namespace

std::string PlotRun(const Plan& plan, const ReportContext& context, const RunResult& result) {
  std::vector<Chart> charts;
  if (result.series.size() > 1) charts = OverTime(plan, result);
  charts.push_back(ByPercentile(result));
  const OperationTally all = result.tally.All();
  return ToSvg(
      TitleOf(plan, ""), charts,
      CaptionOf(plan, context,
                absl::StrFormat("%.1f s measured: %.0f requests/s, %.0f keys/s", result.seconds,
                                RateOf(result), static_cast<double>(all.keys) / result.seconds)));
}

std::string PlotSweep(const ReportContext& context, const std::vector<SweepRun>& runs) {
  Chart latency{.title = "Latency over the rate (open loops)",
                .x = {.title = "requests due per second"},
                .y = {.title = kLatencyTitle, .logarithmic = true}};
  for (const Percentile& one : kPercentiles) {
    Line line{.name = one.title, .points = {}};
    for (const SweepRun& run : runs) {
      if (run.percent == 0) continue;
      const OperationTally all = run.result.tally.All();
      line.points.emplace_back(run.plan.rate, ToUs(all.latency.PercentileNs(one.percent)));
    }
    std::sort(line.points.begin(), line.points.end());
    latency.lines.push_back(std::move(line));
  }
  Chart answered{.title = "What the target answered",
                 .x = latency.x,
                 .y = {.title = "requests answered per second"},
                 .lines = {{.name = "answered", .points = {}}}};
  for (const SweepRun& run : runs) {
    if (run.percent > 0) answered.lines[0].points.emplace_back(run.plan.rate, RateOf(run.result));
  }
  std::sort(answered.lines[0].points.begin(), answered.lines[0].points.end());
  const SweepRun& peak = runs.front();
  return ToSvg(TitleOf(peak.plan, ": sweep of the rate"), {std::move(latency), std::move(answered)},
               CaptionOf(peak.plan, context,
                         absl::StrFormat("the peak, in a closed loop: %.0f requests/s",
                                         RateOf(peak.result))));
}

}  // namespace eris::load
