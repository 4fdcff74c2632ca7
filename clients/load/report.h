// The report of a load run: a table for people, JSON and CSV for programs, and a line during the
// run. Pure functions; any thread.
#ifndef ERIS_CLIENTS_LOAD_REPORT_H_
#define ERIS_CLIENTS_LOAD_REPORT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/histogram.h"
#include "clients/json.h"
#include "clients/load/plan.h"
#include "clients/load/run.h"
#include "clients/load/tally.h"

namespace eris::load {

// Above this fraction of its processor's time a generator may limit the figures.
inline constexpr double kBusyGenerator = 0.9;
// The form of the JSON, its field "format": it changes if a field that programs read is renamed or
// dropped, or gets another meaning.
inline constexpr uint32_t kReportFormat = 1;

struct Percentile {
  const char* title;  // in a table
  const char* name;   // in JSON and CSV
  double percent;
};
inline constexpr Percentile kPercentiles[] = {{"p50", "p50_us", 50},
                                              {"p90", "p90_us", 90},
                                              {"p99", "p99_us", 99},
                                              {"p99.9", "p99_9_us", 99.9},
                                              {"p99.99", "p99_99_us", 99.99}};

struct Machine {
  std::string cpu;  // the model, or "unknown"
  uint32_t cpus = 0;
};
Machine ReadMachine();

struct ReportContext {
  std::string target{};  // "127.0.0.1:7411", "embedded, 2 AEUs", "null"
  bool null_target = false;
  std::string version{};
  std::string commit{};
  std::string build{};
  // The command's given or default options, names without dashes.
  std::vector<std::pair<std::string, std::string>> flags{};
};

// Parts of the reports below, also of those of a sweep. First: workload, target, keys, and what is
// under way.
std::vector<std::string> SettingsLines(const Plan& plan, const ReportContext& context);
// Each kind of operation that occurred, and last all together.
std::vector<std::pair<std::string, OperationTally>> RowsOf(const Tally& tally);
// The titles and cells of a latency in a table.
std::string LatencyTitles();
std::string LatencyCells(const base::Histogram& histogram);
// What the run was, and what it measured: objects without a common name.
Json SettingsJson(const Plan& plan, const ReportContext& context);
Json FiguresJson(const Plan& plan, const ReportContext& context, const RunResult& result);

std::string ToTable(const Plan& plan, const ReportContext& context, const RunResult& result);
// The members of SettingsJson and FiguresJson.
Json ToJson(const Plan& plan, const ReportContext& context, const RunResult& result);
// A header, a line for each kind of operation that occurred, and one for all together.
std::string ToCsv(const Plan& plan, const RunResult& result);
// Without a line end.
std::string ToLine(const Interval& interval);
// Sentences, without line ends: problems of the run, or reasons to doubt its figures.
std::vector<std::string> Remarks(const Plan& plan, const ReportContext& context,
                                 const RunResult& result);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_REPORT_H_
