#include "clients/load/report.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace eris::load {
namespace {

double ToUs(uint64_t ns) { return static_cast<double>(ns) / 1e3; }

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown";
}

bool CameUp(const OperationTally& one) { return one.answered + one.not_sent > 0; }

// Alternating names and figures of a histogram.
void AddLatency(const base::Histogram& histogram, Json& out) {
  out["mean_us"] = histogram.mean_ns() / 1e3;
  for (const Percentile& one : kPercentiles) {
    out[one.name] = ToUs(histogram.PercentileNs(one.percent));
  }
  out["max_us"] = ToUs(histogram.max_ns());
}

// Three or four digits, whatever its size.
std::string FormatUs(double us) {
  return absl::StrFormat("%.*f", us < 10 ? 2 : us < 100 ? 1 : 0, us);
}

std::string Percents(const std::vector<double>& shares) {
  return absl::StrJoin(shares, ", ", [](std::string* out, double share) {
    absl::StrAppendFormat(out, "%.0f %%", share * 100);
  });
}

std::string PaceOf(const Plan& plan) {
  if (plan.rate == 0) return "closed loop";
  return absl::StrFormat("open loop, %.0f requests/s", plan.rate);
}

Json SeriesJson(const std::vector<Interval>& series) {
  Json out = Json::Array();
  for (const Interval& one : series) {
    const double seconds = std::max(1e-9, one.seconds());
    out.push_back({{"from_s", one.from_s},
                   {"to_s", one.to_s},
                   {"warm_up", one.warm_up},
                   {"requests", one.requests},
                   {"requests_per_second", static_cast<double>(one.requests) / seconds},
                   {"keys_per_second", static_cast<double>(one.keys) / seconds},
                   {"wrong", one.wrong},
                   {"errors", one.errors},
                   {"backlog", one.backlog},
                   {"p50_us", ToUs(one.latency_ns_p50)},
                   {"p99_us", ToUs(one.latency_ns_p99)},
                   {"max_us", ToUs(one.latency_ns_max)}});
  }
  return out;
}

Json OperationJson(const OperationTally& one, double seconds, bool open_loop) {
  Json out = {{"answered", one.answered},
              {"keys", one.keys},
              {"wrong", one.wrong},
              {"not_sent", one.not_sent},
              {"requests_per_second", static_cast<double>(one.answered) / seconds},
              {"keys_per_second", static_cast<double>(one.keys) / seconds}};
  AddLatency(one.latency, out);
  if (open_loop) AddLatency(one.service, out["service"]);
  return out;
}

}  // namespace

Machine ReadMachine() { return {CpuModel(), std::thread::hardware_concurrency()}; }

std::vector<std::string> SettingsLines(const Plan& plan, const ReportContext& context) {
  return {
      absl::StrFormat("%s of %s at %s: %d keys, %s, %s%s", plan.load ? "load" : plan.workload.name,
                      plan.object, context.target, plan.keys, NameOf(plan.layout),
                      NameOf(plan.workload.distribution),
                      plan.verify ? ", every answer verified" : ""),
      absl::StrFormat("%d x %d x %d requests of %d keys under way, %s, seed %d", plan.generators,
                      plan.streams, plan.in_flight, plan.batch, PaceOf(plan), plan.seed)};
}

std::vector<std::pair<std::string, OperationTally>> RowsOf(const Tally& tally) {
  std::vector<std::pair<std::string, OperationTally>> rows;
  for (size_t i = 0; i < kOperations; ++i) {
    if (CameUp(tally.operations[i])) {
      rows.emplace_back(kOperationNames[i], tally.operations[i]);
    }
  }
  rows.emplace_back("all", tally.All());
  return rows;
}

std::string LatencyCells(const base::Histogram& histogram) {
  std::string cells = absl::StrFormat("%10s", FormatUs(histogram.mean_ns() / 1e3));
  for (const Percentile& one : kPercentiles) {
    absl::StrAppendFormat(&cells, "%10s", FormatUs(ToUs(histogram.PercentileNs(one.percent))));
  }
  absl::StrAppendFormat(&cells, "%11s", FormatUs(ToUs(histogram.max_ns())));
  return cells;
}

std::string LatencyTitles() {
  std::string titles = absl::StrFormat("%10s", "mean us");
  for (const Percentile& one : kPercentiles) absl::StrAppendFormat(&titles, "%10s", one.title);
  return titles + absl::StrFormat("%11s", "max");
}

std::vector<std::string> Remarks(const Plan& plan, const ReportContext& context,
                                 const RunResult& result) {
  std::vector<std::string> remarks;
  const Tally& tally = result.tally;
  if (!tally.first_error.empty()) remarks.push_back(tally.first_error);
  if (result.unaccounted > 0) {
    remarks.push_back(absl::StrCat(result.unaccounted, " requests without an answer or a status"));
  }
  // A short backlog of random arrivals means nothing, neither during the run nor at its end.
  const uint64_t room = plan.slots() * uint64_t{plan.generators};
  const uint64_t not_sent = tally.All().not_sent;
  if (tally.backlog > room || not_sent > room) {
    remarks.push_back(absl::StrFormat(
        "the target did not follow %.0f requests/s: up to %d requests of a generator were due "
        "and waited for room, %d were never sent; their wait, of those never sent until the run's "
        "end, is in the latency",
        plan.rate, tally.backlog, not_sent));
  }
  const double busiest =
      result.cpu.empty() ? 0 : *std::max_element(result.cpu.begin(), result.cpu.end());
  if (busiest > kBusyGenerator && !context.null_target) {
    remarks.push_back(
        absl::StrFormat("a generator used %.0f %% of its processor: it may be what limits these "
                        "figures; use more --connections or larger batches",
                        busiest * 100));
  }
  return remarks;
}

std::string ToTable(const Plan& plan, const ReportContext& context, const RunResult& result) {
  std::string out = absl::StrJoin(SettingsLines(plan, context), "\n");
  absl::StrAppendFormat(&out, "\n%.1f s measured%s, generators' processor time %s\n\n",
                        result.seconds,
                        plan.warm_up_s > 0 ? absl::StrFormat(" behind %.1f s", plan.warm_up_s) : "",
                        Percents(result.cpu));
  absl::StrAppendFormat(&out, "%-18s%12s%12s%14s%s\n", "operation", "requests", "requests/s",
                        "keys/s", LatencyTitles());
  const auto rows = RowsOf(result.tally);
  for (const auto& [name, one] : rows) {
    absl::StrAppendFormat(&out, "%-18s%12d%12.0f%14.0f%s\n", name, one.answered,
                          static_cast<double>(one.answered) / result.seconds,
                          static_cast<double>(one.keys) / result.seconds,
                          LatencyCells(one.latency));
  }
  if (plan.rate > 0) {
    absl::StrAppendFormat(&out, "\n%-56s%s\n", "service time: from the actual sending",
                          LatencyTitles());
    for (const auto& [name, one] : rows) {
      absl::StrAppendFormat(&out, "%-56s%s\n", name, LatencyCells(one.service));
    }
  }
  const Tally& tally = result.tally;
  absl::StrAppendFormat(&out, "\nwrong %d%s, failed %d, refused %d", rows.back().second.wrong,
                        plan.verify ? "" : " (not verified)", tally.failed, tally.refused);
  if (tally.retried > 0) absl::StrAppendFormat(&out, ", sent again %d", tally.retried);
  if (tally.refusal.count() > 0) {
    absl::StrAppendFormat(&out, ", refusals took p50 %s, p99 %s us",
                          FormatUs(ToUs(tally.refusal.PercentileNs(50))),
                          FormatUs(ToUs(tally.refusal.PercentileNs(99))));
  }
  if (tally.cut_off > 0) absl::StrAppendFormat(&out, ", cut off %d", tally.cut_off);
  if (plan.rate > 0) absl::StrAppendFormat(&out, ", not sent %d", rows.back().second.not_sent);
  return out + "\n";
}

Json SettingsJson(const Plan& plan, const ReportContext& context) {
  const Machine machine = ReadMachine();
  Json out = {{"format", kReportFormat},
              {"workload", plan.load ? "load" : plan.workload.name},
              {"object", plan.object},
              {"target", context.target},
              {"version", context.version},
              {"commit", context.commit},
              {"build", context.build},
              {"machine",
               {{"cpu", machine.cpu},
                {"cpus", machine.cpus},
                {"memory_bytes", static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                                     static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE))}}},
              {"seed", plan.seed},
              {"flags", Json::Object()},
              {"verified", plan.verify}};
  for (const auto& [name, value] : context.flags) out["flags"][name] = value;
  return out;
}

Json FiguresJson(const Plan& plan, const ReportContext& context, const RunResult& result) {
  const Tally& tally = result.tally;
  const OperationTally all = tally.All();
  Json out = {{"seconds", result.seconds},
              {"requests", result.requests},
              {"answered", all.answered},
              {"refused", tally.refused},
              {"retried", tally.retried},
              {"refusal_p50_us", ToUs(tally.refusal.PercentileNs(50))},
              {"refusal_p99_us", ToUs(tally.refusal.PercentileNs(99))},
              {"failed", tally.failed},
              {"wrong", all.wrong},
              {"first_error", tally.first_error},
              {"cut_off", tally.cut_off},
              {"cut_off_begun_unix_ns", result.cut_off_begun_unix_ns},
              {"cut_off_rows", tally.cut_off_rows},
              {"backlog_max", tally.backlog},
              {"not_sent", all.not_sent}};
  const Json together = OperationJson(all, result.seconds, plan.rate > 0);
  for (const std::string& name : together.names()) {
    if (!out.contains(name)) out[name] = together[name];
  }
  for (size_t i = 0; i < kOperations; ++i) {
    const OperationTally& one = tally.operations[i];
    if (!CameUp(one)) continue;
    out["operations"][kOperationNames[i]] = OperationJson(one, result.seconds, plan.rate > 0);
  }
  out["generators_cpu"] = result.cpu;
  out["remarks"] = Remarks(plan, context, result);
  out["series"] = SeriesJson(result.series);
  return out;
}

Json ToJson(const Plan& plan, const ReportContext& context, const RunResult& result) {
  Json out = SettingsJson(plan, context);
  const Json figures = FiguresJson(plan, context, result);
  for (const std::string& name : figures.names()) out[name] = figures[name];
  return out;
}

std::string ToCsv(const Plan& plan, const RunResult& result) {
  std::string out = "operation";
  for (const auto& [name, one] : RowsOf(result.tally)) {
    Json cells = OperationJson(one, result.seconds, plan.rate > 0);
    if (plan.rate > 0) {
      const Json service = cells["service"];
      cells.erase("service");
      for (const std::string& title : service.names()) cells["service_" + title] = service[title];
    }
    // For the whole run, whatever the kind: empty except in the last line.
    for (const auto& [title, value] :
         {std::pair("failed", result.tally.failed), std::pair("refused", result.tally.refused),
          std::pair("backlog_max", result.tally.backlog)}) {
      cells[title] = nullptr;
      if (name == "all") cells[title] = value;
    }
    if (out == "operation") {
      for (const std::string& title : cells.names()) absl::StrAppend(&out, ",", title);
      out += "\n";
    }
    out += name;
    for (size_t i = 0; i < cells.size(); ++i) {
      absl::StrAppend(&out, ",", cells[i].is_null() ? "" : cells[i].Dump());
    }
    out += "\n";
  }
  return out;
}

std::string ToLine(const Interval& interval) {
  const double seconds = std::max(1e-9, interval.seconds());
  std::string line = absl::StrFormat(
      "%6.1f s%s%12.0f requests/s%14.0f keys/s   p50 %s   p99 %s   max %s us", interval.to_s,
      interval.warm_up ? " warm-up" : "", static_cast<double>(interval.requests) / seconds,
      static_cast<double>(interval.keys) / seconds, FormatUs(ToUs(interval.latency_ns_p50)),
      FormatUs(ToUs(interval.latency_ns_p99)), FormatUs(ToUs(interval.latency_ns_max)));
  if (interval.backlog > 0) absl::StrAppend(&line, "   backlog ", interval.backlog);
  if (interval.wrong > 0) absl::StrAppend(&line, "   wrong ", interval.wrong);
  if (interval.errors > 0) absl::StrAppend(&line, "   errors ", interval.errors);
  return line;
}

}  // namespace eris::load
