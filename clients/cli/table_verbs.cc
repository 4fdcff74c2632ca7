#include "clients/cli/table_verbs.h"

#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/row_text.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
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

// Errors: InvalidArgument, naming the flag, unless all names are UTF-8.
absl::Status CheckNames(absl::string_view flag, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string problem = CheckName(name);
    if (!problem.empty()) return absl::InvalidArgumentError(absl::StrCat(flag, ": ", problem));
  }
  return absl::OkStatus();
}
void CollectNames(const Expression& expression, std::vector<std::string>& names) {
  if (expression.kind == Expression::Kind::kColumn) names.push_back(expression.column);
  for (const Expression& argument : expression.arguments) CollectNames(argument, names);
}
absl::Status CheckNames(const Query& query) {
  std::vector<std::string> filter, columns, aggregates;
  if (query.filter) CollectNames(*query.filter, filter);
  for (const NamedExpression& column : query.columns) {
    CollectNames(column.expression, columns);
    columns.push_back(column.name);
  }
  for (const AggregateColumn& aggregate : query.aggregates) {
    if (aggregate.argument) CollectNames(*aggregate.argument, aggregates);
    aggregates.push_back(aggregate.name);
  }
  absl::Status status = CheckNames("--filter", filter);
  if (status.ok()) status = CheckNames("--columns", columns);
  if (status.ok()) status = CheckNames("--agg", aggregates);
  if (status.ok()) status = CheckNames("--group-by", query.group_by);
  return status;
}

int ShowRowsWritten(const Cli& cli, const std::string& target, uint64_t rows) {
  Output output;
  if (cli.json()) {
    output.WriteJson({{"target", target}, {"rows", std::to_string(rows)}});
  } else {
    output.Write(absl::StrCat(rows, " rows written into ", target, "\n"));
  }
  return output.Finish(kExitOk);
}

// Of a table whose rows have keys.
absl::StatusOr<Schema> SchemaWithKey(client::Client& client, const std::string& table) {
  absl::StatusOr<client::TableInfo> info = client::TableClient(client).Get(table);
  if (!info.ok()) return info.status();
  if (info->schema.clustered()) return std::move(info->schema);
  return absl::InvalidArgumentError(absl::StrCat(
      "table ", table, " has no key to name rows by; eris scan ", table, " --filter shows some"));
}

// Hands the keys that the arguments name to `send`, in batches, with their texts. Errors:
// InvalidArgument (one that is no key); those of `send`.
template <class Send>
absl::Status InBatches(const Schema& schema, const std::vector<std::string>& arguments,
                       Send send) {
  ArgumentReader reader(arguments, std::cin);
  client::OwnedRows keys;
  std::vector<std::string> texts;
  std::string text;
  for (bool more = true; more;) {
    more = reader.Next(text);
    if (more) {
      texts.emplace_back(absl::StripAsciiWhitespace(text));
      if (absl::Status status = AddKeyRow(schema, texts.back(), keys); !status.ok()) return status;
    }
    if (keys.rows == 0 || (more && keys.rows < kKeysPerRequest)) continue;
    if (absl::Status status = send(keys, texts); !status.ok()) return status;
    keys = {};
    texts.clear();
  }
  return absl::OkStatus();
}

}  // namespace

void AddTableScanFlags(Flags& verb, TableScanFlags& flags) {
  verb.Add("--filter", flags.filter, "Of a table: only rows for which this is true")
      .Check(CheckNotEmpty);
  const Flag columns =
      verb.Add("--columns", flags.columns, "Of a table: what is shown of each row: a, b * 2 as c")
          .Check(CheckNotEmpty);
  verb.Add("--agg", flags.aggregates,
           "Of a table: count, sum, min, max, avg instead of rows: sum(a * b) as s, count(*)")
      .Check(CheckNotEmpty)
      .Excludes(columns);
  verb.Add("--group-by", flags.group_by, "Of a table, with --agg: up to four columns")
      .Check(CheckNotEmpty);
  const Flag into = verb.Add("--into", flags.into,
                             "Of a table: write the rows into this object, which is there "
                             "already, inside the server and within --timeout")
                        .Check(CheckNotEmpty)
                        .Check(CheckName);
  verb.Add("--format", flags.format,
           "Of a table: table, json, or as a file that import reads again: csv, tbl; "
           "default: as --output says")
      .Check(OneOf({"table", "json", "csv", "tbl"}))
      .Excludes(into);
}

absl::StatusOr<Query> QueryOf(const TableScanFlags& flags, uint64_t limit) {
  Query query;
  query.limit = limit;
  absl::Status status = Read("--filter", flags.filter, client::ParseExpression, query.filter);
  if (status.ok()) status = Read("--columns", flags.columns, client::ParseColumns, query.columns);
  if (status.ok()) {
    status = Read("--agg", flags.aggregates, client::ParseAggregates, query.aggregates);
  }
  if (status.ok()) status = Read("--group-by", flags.group_by, client::ParseNames, query.group_by);
  if (status.ok()) status = CheckNames(query);
  if (!status.ok()) return status;
  if (!query.group_by.empty() && query.aggregates.empty()) {
    return absl::InvalidArgumentError("--group-by is given without --agg");
  }
  return query;
}

absl::Status CheckNoTable(const ObjectInfo& info, absl::string_view instead) {
  if (!IsTable(info)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(info.name, " is a table; ", instead));
}

absl::Status WriteScan(client::TableScanReader& reader, const Output& output, RowSink& sink) {
  client::OwnedRows rows;
  absl::StatusOr<bool> more = reader.Next(rows);
  while (more.ok() && *more && output.open()) {
    if (absl::Status status = sink.Add(reader.schema(), rows); !status.ok()) return status;
    if (absl::Status status = CheckInterrupted(); !status.ok()) return status;
    more = reader.Next(rows);
  }
  if (!more.ok()) return more.status();
  sink.End(reader.schema());
  return absl::OkStatus();
}

int RunScanOfTable(const Cli& cli, client::Client& client, const std::string& table,
                   const TableScanFlags& flags, uint64_t limit) {
  const absl::StatusOr<Query> query = QueryOf(flags, limit);
  if (!query.ok()) return Report(query.status());
  client::TableClient tables(client);
  if (!flags.into.empty()) {
    const absl::StatusOr<uint64_t> rows = tables.ScanInto(table, *query, flags.into);
    if (!rows.ok()) return Report(rows.status());
    return ShowRowsWritten(cli, flags.into, *rows);
  }
  const auto reader = tables.Scan(table, *query);
  Output output;
  CellPrinter cells(output, flags.format.empty() ? cli.json() : flags.format == "json");
  RowText text(output, flags.format == "tbl");
  const bool delimited = flags.format == "csv" || flags.format == "tbl";
  RowSink& sink = delimited ? static_cast<RowSink&>(text) : cells;
  return output.Finish(Report(WriteScan(*reader, output, sink)));
}

int RunGetOfTable(const Cli& cli, client::Client& client, const std::string& table,
                  const std::vector<std::string>& arguments) {
  const absl::StatusOr<Schema> schema = SchemaWithKey(client, table);
  if (!schema.ok()) return Report(schema.status());
  Output output;
  CellPrinter printer(output, cli.json());
  uint64_t missing = 0;
  const absl::Status status =
      InBatches(*schema, arguments, [&](client::OwnedRows& keys, const auto& texts) {
        const absl::StatusOr<client::FoundRows> found =
            client::TableClient(client).LookUp(table, *schema, keys);
        if (!found.ok()) return found.status();
        printer.Add(*schema, found->rows, &found->found);
        for (size_t i = 0; i < texts.size(); ++i) {
          if (found->found[i]) continue;
          ++missing;
          if (!cli.json()) std::cerr << "eris: key " << texts[i] << ": not found\n";
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return output.Finish(Report(status));
  printer.End(*schema);
  return output.Finish(missing == 0 ? kExitOk : kExitNotFound);
}

int RunEraseOfTable(const Cli& cli, client::Client& client, const std::string& table,
                    const std::vector<std::string>& arguments) {
  const absl::StatusOr<Schema> schema = SchemaWithKey(client, table);
  if (!schema.ok()) return Report(schema.status());
  uint64_t asked = 0, erased = 0;
  const absl::Status status =
      InBatches(*schema, arguments, [&](client::OwnedRows& keys, const auto&) {
        const absl::StatusOr<client::RowBits> existed =
            client::TableClient(client).Erase(table, *schema, keys);
        if (!existed.ok()) return existed.status();
        asked += keys.rows;
        erased += existed->Count();
        return absl::OkStatus();
      });
  if (!status.ok()) {
    return Report(absl::Status(
        status.code(), asked == 0 ? std::string(status.message())
                                  : absl::StrCat(status.message(), " (after ", asked, " keys)")));
  }
  Output output;
  if (cli.json()) {
    output.WriteJson({{"keys", std::to_string(asked)}, {"erased", std::to_string(erased)}});
  } else {
    output.Write(absl::StrCat(asked, " keys asked, ", erased, " erased\n"));
  }
  return output.Finish(kExitOk);
}

}  // namespace eris::cli
