#include "clients/cli/table_verbs.h"

#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/cell_text.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/key_input.h"
#include "clients/cli/output.h"
#include "clients/cli/schema_text.h"
#include "clients/expression_text.h"

namespace eris::cli {
namespace {

// Reads one flag's text, and says which flag it is where it is wrong.
template <class Parse, class Out>
absl::Status Read(absl::string_view flag, const std::string& text, Parse parse, Out& out) {
  if (text.empty()) return absl::OkStatus();
  auto parsed = parse(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", parsed.status().message()));
  }
  out = *std::move(parsed);
  return absl::OkStatus();
}

int ShowRowsWritten(const Cli& cli, const std::string& target, uint64_t rows) {
  Output output;
  if (cli.json()) {
    output.WriteJson(nlohmann::ordered_json{{"target", target}, {"rows", std::to_string(rows)}});
  } else {
    output.Write(absl::StrCat(rows, " rows written into ", target, "\n"));
  }
  return output.Finish(kExitOk);
}

}  // namespace

void AddTableScanFlags(CLI::App& verb, TableScanFlags& flags) {
  verb.add_option("--filter", flags.filter, "Of a table: only rows for which this is true");
  CLI::Option* columns = verb.add_option("--columns", flags.columns,
                                         "Of a table: what is shown of each row: a, b * 2 as c");
  verb.add_option(
          "--agg", flags.aggregates,
          "Of a table: count, sum, min, max, avg instead of rows: sum(a * b) as s, count(*)")
      ->excludes(columns);
  verb.add_option("--group-by", flags.group_by, "Of a table, with --agg: up to four columns");
  verb.add_option("--into", flags.into,
                  "Of a table: write the rows into this object, inside the server");
}

absl::StatusOr<TableQuery> QueryOf(const TableScanFlags& flags, uint64_t limit) {
  TableQuery query;
  query.limit = limit;
  absl::Status status = Read("--filter", flags.filter, client::ParseExpression, query.filter);
  if (status.ok()) status = Read("--columns", flags.columns, client::ParseColumns, query.columns);
  if (status.ok()) {
    status = Read("--agg", flags.aggregates, client::ParseAggregates, query.aggregates);
  }
  if (status.ok()) status = Read("--group-by", flags.group_by, client::ParseNames, query.group_by);
  if (!status.ok()) return status;
  if (!query.group_by.empty() && query.aggregates.empty()) {
    return absl::InvalidArgumentError("--group-by is given without --agg");
  }
  return query;
}

int RunScanOfTable(const Cli& cli, client::Client& client, const std::string& table,
                   const TableScanFlags& flags, uint64_t limit) {
  const absl::StatusOr<TableQuery> query = QueryOf(flags, limit);
  if (!query.ok()) return Report(query.status());
  client::TableClient tables(client);
  if (!flags.into.empty()) {
    const absl::StatusOr<uint64_t> rows = tables.ScanInto(table, *query, flags.into);
    if (!rows.ok()) return Report(rows.status());
    return ShowRowsWritten(cli, flags.into, *rows);
  }
  const auto reader = tables.Scan(table, *query);
  client::OwnedRows rows;
  absl::StatusOr<bool> more = reader->Next(rows);
  if (!more.ok()) return Report(more.status());
  Output output;
  CellPrinter printer(output, cli.json());
  while (*more && output.open()) {
    printer.Add(reader->schema(), rows);
    more = reader->Next(rows);
    if (!more.ok()) return output.Finish(Report(more.status()));
  }
  printer.End(reader->schema());
  return output.Finish(kExitOk);
}

int RunGetOfTable(const Cli& cli, client::Client& client, const std::string& table,
                  const std::vector<std::string>& arguments) {
  client::TableClient tables(client);
  const absl::StatusOr<client::TableInfo> info = tables.Get(table);
  if (!info.ok()) return Report(info.status());
  const TableSchema& schema = info->schema;
  if (!schema.clustered()) {
    return Report(absl::InvalidArgumentError(
        absl::StrCat("table ", table, " has no key to get rows by; use eris scan")));
  }
  ArgumentReader reader(arguments, std::cin);
  Output output;
  CellPrinter printer(output, cli.json());
  client::OwnedRows keys;
  uint64_t missing = 0;
  std::string text;
  for (bool more = true; more && output.open();) {
    more = reader.Next(text);
    if (more) {
      const absl::Status status = AddKeyRow(schema, absl::StripAsciiWhitespace(text), keys);
      if (!status.ok()) return output.Finish(Report(status));
    }
    if (keys.rows == 0 || (more && keys.rows < kKeysPerRequest)) continue;
    const absl::StatusOr<client::FoundRows> found = tables.LookUp(table, schema, keys);
    if (!found.ok()) return output.Finish(Report(found.status()));
    // Missing keys are rows of nulls.
    printer.Add(schema, found->rows);
    missing += keys.rows - found->found.Count();
    keys = {};
  }
  printer.End(schema);
  if (missing > 0) std::cerr << "eris: " << missing << " keys not found\n";
  return output.Finish(missing == 0 ? kExitOk : kExitNotFound);
}

}  // namespace eris::cli
