// eris generate: sample data for trying things. Needs no server.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/loading/sample_rows.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/output_file.h"
#include "clients/cli/text/progress_bar.h"

namespace eris::cli {
namespace {

struct GenerateFlags {
  std::string table;
  std::string path;
  SampleScale scale;
};

// Returns the number of rows written into `file`, through `output`; stops when its reader has
// closed it. Errors: Cancelled.
absl::StatusOr<uint64_t> WriteRows(const GenerateFlags& flags, std::FILE* file, Output& output) {
  ProgressBar bar(flags.scale.orders(), ProgressIsSeenBy(file));
  uint64_t rows = 0;
  std::string text;
  for (uint64_t number = 0; number < flags.scale.orders() && output.open(); ++number) {
    text.clear();
    if (flags.table == "orders") {
      AppendOrder(flags.scale, number, text);
      ++rows;
    } else {
      rows += AppendLineitems(flags.scale, number, text);
    }
    output.Write(text);
    bar.Show(number + 1, rows);
    if (absl::Status status = CheckInterrupted(); !status.ok()) return status;
  }
  return rows;
}

int RunGenerate(const Cli& cli, const GenerateFlags& flags) {
  if (flags.path == "-") {
    Output output;
    const absl::Status status = WriteRows(flags, stdout, output).status();
    return output.Finish(Report(status));
  }
  OutputFile file;
  if (absl::Status status = file.Open(flags.path); !status.ok()) return Report(status);
  Output output(file.file());
  const absl::StatusOr<uint64_t> rows = WriteRows(flags, file.file(), output);
  if (const int code = output.Finish(Report(rows.status())); code != kExitOk) return code;
  if (absl::Status status = file.Keep(); !status.ok()) return Report(status);
  Output summary;
  if (cli.json()) {
    summary.WriteJson({{"rows", std::to_string(*rows)}, {"file", flags.path}});
  } else {
    summary.Write(absl::StrCat(*rows, " rows written to ", flags.path, "\n"));
  }
  return summary.Finish(kExitOk);
}

}  // namespace

void AddGenerate(Flags& program, Cli& cli) {
  auto flags = std::make_shared<GenerateFlags>();
  Flags& verb = program.AddVerb("generate", "Write sample data to a file, to try things with");
  verb.Add("table", flags->table, "orders or lineitem")
      .Required()
      .Check(OneOf({"orders", "lineitem"}));
  verb.Add("file", flags->path, "File, or - for standard output").Required();
  verb.Add("--scale", flags->scale.factor, "1: as many rows as TPC-H has at scale factor 1")
      .Check(Within(0.001, 100.0))
      .ShowDefault();
  verb.Add("--seed", flags->scale.seed, "Other seeds give other rows, the same one the same rows")
      .ShowDefault();
  verb.SetFooter(
      "The rows have the columns, types and keys of TPC-H's tables of that name, and made-up "
      "values: 15000\n"
      "orders and some 60000 lineitems at the default scale, in key order. They are for trying "
      "things, not\n"
      "for TPC-H's results. Needs no server.\n"
      "\n"
      "Examples:\n"
      "  eris generate orders orders.tbl\n"
      "  eris generate lineitem lineitem.tbl --scale 1\n"
      "  eris generate orders - --seed 7 | head\n");
  verb.SetRun([flags, &cli] { return RunGenerate(cli, *flags); });
}

}  // namespace eris::cli
