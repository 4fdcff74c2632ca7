#include "clients/cli/loading/inferred_text.h"

#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"

namespace eris::cli {

int ShowInferred(const Cli& cli, const ImportFlags& flags, const InferredFile& file,
                 const Schema& schema) {
  Output output;
  if (cli.json()) {
    Json columns = Json::Array();
    for (const ColumnSchema& column : schema.columns) {
      Json nulls = Json::Array();
      for (const std::string& text : file.nulls) {
        if (NullsHold(file, column.type)) nulls.push_back(text);
      }
      columns.push_back(
          Json{{"name", column.name}, {"type", ColumnTypeText(column)}, {"nulls", nulls}});
    }
    const char escape = file.delimited.escape;
    output.WriteJson({{"format", file.json       ? kNdjson
                                 : flags.IsTbl() ? "tbl"
                                                 : "csv"},
                      {"delimiter", file.json ? "" : std::string(1, file.delimited.delimiter)},
                      {"escape", escape == '\0' ? std::string() : std::string(1, escape)},
                      {"header", file.header},
                      {"nulls", file.nulls},
                      {"date_format", file.forms.date},
                      {"decimal_comma", file.forms.decimal_comma},
                      {"columns", columns}});
    return output.Finish(kExitOk);
  }
  output.Write(absl::StrCat(FormatText(file), "\n"));
  for (const std::string& note : file.notes) output.Write(absl::StrCat(note, "\n"));
  output.Write(absl::StrCat("--schema '", SchemaText(schema), "'",
                            flags.key.empty() ? "" : absl::StrCat(" --key ", flags.key), "\n"));
  return output.Finish(kExitOk);
}

void TellForms(const ImportFlags& flags, const InferredFile& file) {
  InferredFile usual{.json = flags.IsJson(), .header = file.header};
  if (const auto delimited = flags.Delimited(); delimited.ok()) usual.delimited = *delimited;
  usual.forms = flags.forms;
  usual.nulls_given = file.nulls_given;
  if (file.nulls_given) usual.nulls = file.nulls;
  const std::string text = FormatText(file);
  if (text != FormatText(usual)) std::fprintf(stderr, "eris: %s\n", text.c_str());
}

void TellInferred(const InferredFile& file, const Schema& schema) {
  std::fprintf(stderr, "eris: %s; columns %s\n", FormatText(file).c_str(),
               SchemaText(schema).c_str());
  for (const std::string& note : file.notes) std::fprintf(stderr, "eris: %s\n", note.c_str());
}

}  // namespace eris::cli
