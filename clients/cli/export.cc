// eris export: an object's rows as a file, which eris import reads again.
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/import_flags.h"
#include "clients/cli/files/row_text.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/output_file.h"
#include "clients/cli/text/parse.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

struct ExportFlags {
  std::string object;
  std::string path;
  std::string format;  // empty: by the file's name

  bool IsTbl() const { return format.empty() ? IsTblPath(path) : format == "tbl"; }
};

absl::StatusOr<uint64_t> WriteRows(client::ScanReader& reader, client::ScanRows& rows, bool more,
                                   bool tbl, const KeyTypes& types, Output& output) {
  const char* separator = tbl ? "|" : ",";
  const char* end = tbl ? "|\n" : "\n";
  uint64_t count = 0;
  std::string line;
  if (!tbl) output.Write(types.two_parts() ? "key,second_key,value\n" : "key,value\n");
  while (more && output.open()) {
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      line.clear();
      AppendKeyText(types.first, rows.keys[i], &line);
      if (types.two_parts()) {
        line += separator;
        AppendKeyText(*types.second, rows.second_keys[i], &line);
      }
      absl::StrAppend(&line, separator, rows.values[i], end);
      output.Write(line);
    }
    count += rows.keys.size();
    if (absl::Status status = CheckInterrupted(); !status.ok()) return status;
    const absl::StatusOr<bool> next = reader.Next(rows);
    if (!next.ok()) return next.status();
    more = *next;
    if (more && rows.new_snapshot) {
      return absl::AbortedError(
          absl::StrCat("the connection broke after ", count,
                       " rows, and the rest would be of a later moment: try again"));
    }
  }
  return count;
}

// `write` puts the rows into an output and counts them. Returns the exit code.
int WriteTo(const Cli& cli, const std::string& path,
            absl::FunctionRef<absl::StatusOr<uint64_t>(Output&)> write) {
  if (path == "-") {
    Output output;
    const absl::StatusOr<uint64_t> count = write(output);
    return output.Finish(Report(count.status()));
  }
  OutputFile file;
  if (absl::Status status = file.Open(path); !status.ok()) return Report(status);
  Output output(file.file());
  const absl::StatusOr<uint64_t> count = write(output);
  const int code = output.Finish(Report(count.status()));
  if (code != kExitOk) return code;
  if (absl::Status status = file.Keep(); !status.ok()) return Report(status);
  Output summary;
  if (cli.json()) {
    summary.WriteJson({{"rows", std::to_string(*count)}, {"file", path}});
  } else {
    summary.Write(absl::StrCat(*count, " rows written to ", path, "\n"));
  }
  return summary.Finish(kExitOk);
}

int RunExport(const Cli& cli, const ExportFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const bool tbl = flags.IsTbl();
  if (IsTable(to->info)) {
    const auto reader = client::TableClient(*to->client).Scan(flags.object, {});
    return WriteTo(cli, flags.path, [&](Output& output) -> absl::StatusOr<uint64_t> {
      RowText text(output, tbl);
      if (absl::Status status = WriteScan(*reader, output, text); !status.ok()) return status;
      return text.rows();
    });
  }
  const KeyTypes& types = to->info.key_type;
  const auto reader = to->client->Scan(flags.object, {}, 0, types);
  client::ScanRows rows;
  const absl::StatusOr<bool> first = reader->Next(rows);
  if (!first.ok()) return Report(first.status());
  if (rows.has_bytes) {
    return Report(absl::FailedPreconditionError(
        absl::StrCat("values of object \"", flags.object, "\" are byte strings, which neither csv ",
                     "nor tbl holds; eris scan --output json shows all of them")));
  }
  return WriteTo(cli, flags.path, [&](Output& output) {
    return WriteRows(*reader, rows, *first, tbl, types, output);
  });
}

}  // namespace

void AddExport(Flags& program, Cli& cli) {
  auto flags = std::make_shared<ExportFlags>();
  Flags& verb =
      program.AddVerb("export", "Write an object's rows to a file; of an index in key order");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("file", flags->path, "File, or - for standard output").Required();
  verb.Add("--format", flags->format,
           "csv (with a header: key,value or key,second_key,value; of a table its columns) "
           "or tbl; default: tbl for *.tbl, else csv")
      .Check(OneOf({"csv", "tbl"}));
  verb.SetFooter(
      "A file is replaced when all rows are written, and else as it was. Pipes and devices are "
      "written\n"
      "directly. Ctrl-C leaves the file as it was.\n"
      "\n"
      "A file of two-part keys comes in again with: eris import ... --key key,second_key (tbl: "
      "--key "
      "1,2), and --key-type\n"
      "unless they are u64,u64.\n"
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
