// eris metrics: the metrics that a server has at /metrics.
#include <memory>
#include <string>

#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "server/metrics/metric_table.h"

namespace eris::cli {
namespace {

struct MetricsFlags {
  bool list = false;
  bool markdown = false;
};

Json MetricsAsJson() {
  Json metrics = Json::Array();
  for (const server::MetricRow& row : server::Metrics()) {
    metrics.push_back({{"name", std::string(row.name)},
                       {"type", std::string(row.type)},
                       {"unit", std::string(row.unit)},
                       {"labels", std::string(row.labels)},
                       {"series", std::string(row.series)},
                       {"meaning", std::string(row.meaning)}});
  }
  return metrics;
}

int RunMetrics(const Cli& cli, const MetricsFlags& flags) {
  if (!flags.list && !flags.markdown) {
    return Report(absl::InvalidArgumentError(
        "give --list; the figures themselves are at http://ADDRESS/metrics of a server with "
        "server.http"));
  }
  Output output;
  if (cli.json()) {
    output.WriteJson(MetricsAsJson());
  } else {
    output.Write(flags.markdown ? server::MetricsAsMarkdown() : server::MetricsAsText());
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddMetrics(Flags& program, Cli& cli) {
  auto flags = std::make_shared<MetricsFlags>();
  Flags& verb = program.AddVerb("metrics", "List the metrics of a server, without asking one");
  verb.Add("--list", flags->list, "Each with its type, unit, labels, number of series, meaning");
  verb.Add("--markdown", flags->markdown, "The same as the table of docs/guide/metrics.md");
  verb.SetFooter(
      "Examples:\n"
      "  eris metrics --list\n"
      "  eris metrics --list --output json | jq -r '.[].name'\n");
  verb.SetRun([flags, &cli] { return RunMetrics(cli, *flags); });
}

}  // namespace eris::cli
