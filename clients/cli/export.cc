// eris export: an object's rows as a file, which eris import reads again.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/row_text.h"
#include "clients/cli/loading/import_flags.h"
#include "clients/cli/scan_flags.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/output_file.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/progress_bar.h"

namespace eris::cli {
namespace {

struct ExportFlags {
  std::string object;
  std::string path;
  std::string format;  // empty: from the file's name

  bool IsTbl() const { return format.empty() ? IsTblPath(path) : format == "tbl"; }
};

absl::Status WriteWithBar(client::ScanReader& reader, const ObjectInfo& object, std::FILE* file,
                          const Output& output, RowText& text) {
  ProgressBar bar(object.keys, ProgressIsSeenBy(file));
  return WriteScan(reader, /*one_moment=*/true, output, bar, text);
}

int RunExport(const Cli& cli, const ExportFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const auto reader = to->client->Scan(to->info, {});
  if (flags.path == "-") {
    Output output;
    RowText text(output, flags.IsTbl());
    const absl::Status written = WriteWithBar(*reader, to->info, stdout, output, text);
    return output.Finish(Report(written));
  }
  OutputFile file;
  if (absl::Status status = file.Open(flags.path); !status.ok()) return Report(status);
  Output output(file.file());
  RowText text(output, flags.IsTbl());
  const absl::Status written = WriteWithBar(*reader, to->info, file.file(), output, text);
  if (const int code = output.Finish(Report(written)); code != kExitOk) return code;
  if (absl::Status status = file.Keep(); !status.ok()) return Report(status);
  Output summary;
  if (cli.json()) {
    summary.WriteJson({{"rows", std::to_string(text.rows())}, {"file", flags.path}});
  } else {
    summary.Write(absl::StrCat(text.rows(), " rows written to ", flags.path, "\n"));
  }
  return summary.Finish(kExitOk);
}

}  // namespace

void AddExport(Flags& program, Cli& cli) {
  auto flags = std::make_shared<ExportFlags>();
  Flags& verb =
      program.AddVerb("export", "Write an object's rows to a file; of an index in key order");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("file", flags->path, "File, or - for standard output").Required();
  verb.Add("--format", flags->format,
           "csv (with a header, the names of the columns) or tbl; default: tbl for *.tbl, else "
           "csv")
      .Check(OneOf({"csv", "tbl"}));
  verb.SetFooter(
      "A file is replaced when all rows are written, and else as it was. Pipes and devices are "
      "written\n"
      "directly. Ctrl-C leaves the file as it was.\n"
      "\n"
      "A file of an index comes in again with --key-type and --value-type, unless all is uint64, "
      "and of\n"
      "two-part keys with: --key key,second_key (tbl: --key 1,2).\n"
      "\n"
      "A table's rows are those of one moment, in no order. Of csv nothing is lost: a null is an "
      "empty\n"
      "field, an empty string stands in quotes. tbl has no quotes: strings that it cannot hold "
      "are\n"
      "refused. `eris scan --format csv` writes some of the rows, or columns. What the columns are "
      "says\n"
      "`eris list NAME --output json`.\n"
      "\n"
      "Examples:\n"
      "  eris export orders orders.csv\n"
      "  eris export orders - --format tbl | sort -t '|' -k 2n | head\n"
      "  eris export trades trades.csv && eris import copy trades.csv --schema \"$(eris list "
      "trades "
      "--output json | jq -r '.[0].schema')\" --key id\n");
  verb.SetRun([flags, &cli] { return RunExport(cli, *flags); });
}

}  // namespace eris::cli
