// The report of a load run: a table for people, JSON and CSV for programs, and a line during the
// run. Pure functions; any thread.
#ifndef ERIS_CLIENTS_LOAD_REPORT_H_
#define ERIS_CLIENTS_LOAD_REPORT_H_

#include <string>
#include <utility>
#include <vector>

#include "clients/json.h"
#include "clients/load/plan.h"
#include "clients/load/run.h"

namespace eris::load {

// Above this fraction of its processor's time a generator may limit the figures.
inline constexpr double kBusyGenerator = 0.9;

struct ReportContext {
  std::string target;  // "127.0.0.1:7411", "embedded, 2 AEUs", "null"
  bool null_target = false;
  std::string version;
  std::string commit;
  std::string build;
  // The command's given or default options, names without dashes.
  std::vector<std::pair<std::string, std::string>> flags;
};

std::string ToTable(const Plan& plan, const ReportContext& context, const RunResult& result);
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
