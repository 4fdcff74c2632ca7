#include "clients/cli/loading/import_flags.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/text/parse.h"
#include "eris/batch.h"

namespace eris::cli {

bool IsTblPath(absl::string_view path) {
  return absl::EndsWith(path, ".tbl") || absl::StrContains(path, ".tbl.");
}

void ImportFlags::AddTo(Flags& verb) {
  verb.Add("object", object, "Name").Required().Check(CheckName);
  verb.Add("file", path, "File, also compressed with gzip or zstd, or - for standard input")
      .Required();
  verb.Add("--format", format,
           "csv, tbl or ndjson; default: tbl for *.tbl, ndjson for *.ndjson, *.jsonl and *.json, "
           "else csv")
      .Check(OneOf({"csv", "tbl", kNdjson}));
  verb.Add(
      "--delimiter", delimiter,
      "One character, or tab; default: the one that divides the lines; , into an index, | in tbl");
  verb.Add("--escape", escape, "In quotes, the character before a quote that is text: \\");
  verb.AddSwitch(
      "--header,!--no-header", header,
      "The first line is (not) a header; default: it is one if none of its key fields is a key; "
      "of a table, if it names its columns");
  const Flag shows =
      verb.Add("--infer", infer,
               "Show what the file seems to be: delimiter, header, nulls, and --schema for a table "
               "of all its columns, to be changed and pasted. Loads nothing, and needs no server");
  verb.Add("--null", null_text,
           "A text that is null in all columns, as an empty field is: NA, \\N");
  verb.Add("--date-format", forms.date, "How dates are written: DD.MM.YYYY, MM/DD/YYYY, ...")
      .Check(CheckDateForm);
  verb.Add("--decimal-comma", forms.decimal_comma, "1,5 is 1.5, and 1.000 a thousand");
  verb.Add("--skip", skip_lines, "Lines to pass over at the beginning of the file");
  verb.Add("--dry-run", dry_run,
           "Read and check the file as for an object that is missing, and send nothing: needs no "
           "server");
  const Flag schema = create.AddTo(verb).schema;
  shows.Excludes(schema);
  verb.Add("--types", types,
           "COLUMN=TYPE,... instead of the types that a table without --schema infers")
      .Excludes(schema);
  verb.Add("--table", table,
           "TPC-H table that names the columns; default: from the name of a .tbl file")
      .Excludes(schema);
  verb.Add("--key", key,
           "Of a table: up to four key columns by name, or none (default, but for tpch:). Of an "
           "index: the key column, by name or by number from 1 (default: the first); of two-part "
           "keys two: 1,4")
      .Check(CheckNotEmpty);
  verb.Add("--value", value,
           "Of an index: the value column, by name or by number from 1; default: the first that "
           "is no key")
      .Excludes(schema);
  verb.Add("--create,!--no-create", create_missing,
           "Create the object if it is missing (default), or refuse");
  verb.Add("--keep", keep,
           "Keep an object that this import has created when it fails; default: drop it again");
  verb.Add("--on-error", on_error,
           "What a bad line does: abort, or skip, which shows the first ones and counts them")
      .Check(OneOf({"abort", "skip"}))
      .ShowDefault();
  verb.Add("--batch", batch, "Rows in one request").Check(Within(1u, kBatchKeysMax)).ShowDefault();
  verb.Add("--in-flight", in_flight, "Requests under way at once")
      .Check(Within(1u, 64u))
      .ShowDefault();
  verb.Add("--progress,!--no-progress", progress, "Progress bar, on a terminal only (default)");
}

bool ImportFlags::AreForIndex() const {
  return create.kind == "index" || create.kind == "hash" || !value.empty() || !table.empty() ||
         !create.key_type.empty() || !create.value_type.empty();
}

bool ImportFlags::IsTbl() const { return format.empty() ? IsTblPath(path) : format == "tbl"; }

absl::StatusOr<DelimitedFormat> ImportFlags::Delimited() const {
  DelimitedFormat delimited = IsTbl() ? DelimitedFormat{'|', false, true} : DelimitedFormat{};
  if (delimiter == "\\t" || delimiter == "tab") {
    delimited.delimiter = '\t';
  } else if (delimiter.size() == 1 && delimiter != "\"" && delimiter != "\n") {
    delimited.delimiter = delimiter[0];
  } else if (!delimiter.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--delimiter '", delimiter,
                     "' is not one character (or tab), or is a quote or a line end"));
  }
  if (escape.size() > 1 || escape == "\"" || escape == "\n") {
    return absl::InvalidArgumentError(
        absl::StrCat("--escape '", escape, "' is not one character, or is a quote or a line end"));
  }
  if (!escape.empty()) delimited.escape = escape[0];
  return delimited;
}

std::vector<std::string> ImportFlags::KeyColumns(size_t parts) const {
  std::vector<std::string> columns;
  if (key.empty()) {
    for (size_t i = 1; i <= parts; ++i) columns.push_back(absl::StrCat(i));
    return columns;
  }
  for (const absl::string_view column : absl::StrSplit(key, ',')) {
    columns.emplace_back(absl::StripAsciiWhitespace(column));
  }
  return columns;
}

}  // namespace eris::cli
