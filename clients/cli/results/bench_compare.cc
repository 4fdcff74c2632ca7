#include "clients/cli/results/bench_compare.h"

#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/results/comparison.h"
#include "clients/cli/results/result_file.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

struct CompareFlags {
  std::string a, b;
};

// The flags of `bench` may follow its verbs, where they would do nothing; --output is taken.
absl::Status CheckNoOthers(const Flags& bench) {
  for (const Flags::Value& one : bench.Values()) {
    if (!one.given || one.name == "output") continue;
    return absl::InvalidArgumentError(
        absl::StrCat(one.name, " does not go with eris bench compare, which runs nothing"));
  }
  return absl::OkStatus();
}

int RunCompare(const CompareFlags& flags, const std::string& format) {
  if (format == "csv") {
    return Report(absl::InvalidArgumentError("--output csv: compare prints table or json"));
  }
  const absl::StatusOr<BenchResult> a = ReadBenchResult(flags.a);
  if (!a.ok()) return Report(a.status());
  const absl::StatusOr<BenchResult> b = ReadBenchResult(flags.b);
  if (!b.ok()) return Report(b.status());
  const absl::StatusOr<Comparison> comparison = Compare(*a, *b);
  if (!comparison.ok()) return Report(comparison.status());
  Output output;
  if (format == "json") {
    output.WriteJson(ToJson(*comparison));
  } else {
    output.Write(ToText(*comparison));
  }
  for (const std::string& warning : Warnings(*comparison, *a, *b)) {
    std::fprintf(stderr, "eris: %s\n", warning.c_str());
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddBenchCompare(Flags& bench, const std::optional<std::string>& output, Cli& cli) {
  auto flags = std::make_shared<CompareFlags>();
  Flags& verb = bench.AddVerb("compare", "Compare two results that --output json has written");
  verb.Add("a", flags->a, "File of the first result").Required().Check(CheckNotEmpty);
  verb.Add("b", flags->b, "File of the second result").Required().Check(CheckNotEmpty);
  verb.SetFooter(
      "Shows each figure of both, and the second divided by the first; and the settings that "
      "differ.\n"
      "A line on stderr warns if they are not comparable: another workload, other keys, batches "
      "or\n"
      "connections, another processor or build. Object, seed, length, version, commit and address "
      "may\n"
      "differ, and the number of AEUs and the memory of an embedded engine. A sweep is compared "
      "with a\n"
      "sweep, share by share. No server is needed.\n"
      "\n"
      "Exit codes: 0 compared, also with warnings; 1 a file is not there; 2 usage, or a file that "
      "is no\n"
      "result.\n"
      "\n"
      "Examples:\n"
      "  eris bench c --keys 1000000 --output json > before.json\n"
      "  eris bench compare before.json after.json\n"
      "  eris bench compare before.json after.json --output json | jq '.figures[] | select(.ratio "
      "> "
      "1.1)'\n");
  verb.SetRun([flags, &bench, &output, &cli] {
    if (absl::Status status = CheckNoOthers(bench); !status.ok()) return Report(status);
    return RunCompare(*flags, output.value_or(cli.output));
  });
}

}  // namespace eris::cli
