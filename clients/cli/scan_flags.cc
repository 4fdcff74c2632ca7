#include "clients/cli/scan_flags.h"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cli/text/parse.h"
#include "text/expression_text.h"

namespace eris::cli {
namespace {

// Parses one flag's text; errors name the flag.
template <class Parse, class Out>
absl::Status ReadFlag(absl::string_view flag, const std::string& text, Parse parse, Out& out) {
  if (text.empty()) return absl::OkStatus();
  auto parsed = parse(text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", parsed.status().message()));
  }
  out = *std::move(parsed);
  return absl::OkStatus();
}

// Errors: InvalidArgument, naming the flag, if a name is not UTF-8.
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

// Only the columns of the object's key.
std::vector<NamedExpression> KeyColumnsOf(const Schema& schema) {
  std::vector<NamedExpression> columns;
  for (const uint32_t column : schema.key) {
    const std::string& name = schema.columns[column].name;
    columns.push_back({{.kind = Expression::Kind::kColumn, .column = name}, name});
  }
  return columns;
}

}  // namespace

void ScanFlags::AddTo(Flags& verb) {
  range.AddTo(verb);
  verb.Add("--limit", limit, "Rows at most; 0: all").Check(CheckU64).ShowDefault();
  verb.Add("--reverse", reverse, "Descending keys, from the end of the range");
  const Flag keys = verb.Add("--keys-only", keys_only, "The columns of the key alone");
  verb.Add("--filter", filter, "Of a table: only rows for which this is true").Check(CheckNotEmpty);
  const Flag shown =
      verb.Add("--columns", columns, "Of a table: what is shown of each row: a, b * 2 as c")
          .Check(CheckNotEmpty)
          .Excludes(keys);
  verb.Add("--agg", aggregates,
           absl::StrCat("Of a table: ", absl::StrJoin(kAggregateFunctionNames, ", "),
                        " instead of rows: sum(a * b) as s, count(*)"))
      .Check(CheckNotEmpty)
      .Excludes(shown)
      .Excludes(keys);
  verb.Add("--group-by", group_by, "Of a table, with --agg: up to four columns")
      .Check(CheckNotEmpty);
  verb.Add("--into", into,
           "Of a table: write the rows into this object, which is there already, inside the server "
           "and within --timeout")
      .Check(CheckNotEmpty)
      .Check(CheckName);
}

absl::StatusOr<Query> ScanFlags::QueryOf(const ObjectInfo& object) const {
  Query query{.limit = limit};
  if (reverse) query.direction = ScanDirection::kBackward;
  const bool of_tables = !filter.empty() || !columns.empty() || !aggregates.empty() ||
                         !group_by.empty() || !into.empty();
  if (IsTable(object) && (range.any() || reverse)) {
    return absl::InvalidArgumentError(
        absl::StrCat(object.name,
                     " is a table, whose rows come in no order: it takes no --from, --to, "
                     "--min-value, --max-value and --reverse; --filter says which rows"));
  }
  if (!IsTable(object) && of_tables) {
    return absl::InvalidArgumentError(
        absl::StrCat(object.name,
                     " is no table: --filter, --columns, --agg, --group-by and --into "
                     "are for tables"));
  }
  if (keys_only && !object.schema.has_key()) {
    return absl::InvalidArgumentError(absl::StrCat("--keys-only: ", object.name, " has no key"));
  }
  if (keys_only) query.columns = KeyColumnsOf(object.schema);
  if (!IsTable(object)) {
    const absl::StatusOr<KeyRange> keys = range.Keys(object.schema);
    if (!keys.ok()) return keys.status();
    query.range = *keys;
    const absl::StatusOr<std::optional<ValueRange>> values = range.Values();
    if (!values.ok()) return values.status();
    query.values = *values;
    return query;
  }
  absl::Status status = ReadFlag("--filter", filter, text::ParseExpression, query.filter);
  if (status.ok()) status = ReadFlag("--columns", columns, text::ParseColumns, query.columns);
  if (status.ok()) {
    status = ReadFlag("--agg", aggregates, text::ParseAggregates, query.aggregates);
  }
  if (status.ok()) status = ReadFlag("--group-by", group_by, text::ParseNames, query.group_by);
  if (status.ok()) status = CheckNames(query);
  if (!status.ok()) return status;
  if (!query.group_by.empty() && query.aggregates.empty()) {
    return absl::InvalidArgumentError("--group-by is given without --agg");
  }
  return query;
}

uint64_t ScanFlags::RowsOf(const ObjectInfo& object) const {
  if (range.any() || !filter.empty() || !aggregates.empty()) return 0;
  return limit == 0 ? object.keys : std::min(limit, object.keys);
}

absl::Status WriteScan(client::ScanReader& reader, bool one_moment, const Output& output,
                       ProgressBar& bar, RowSink& sink) {
  client::OwnedRows rows;
  uint64_t written = 0;
  for (;;) {
    const absl::StatusOr<bool> more = reader.Next(rows);
    if (!more.ok()) return more.status();
    if (!*more || !output.open()) break;
    if (reader.new_snapshot() && one_moment) {
      return absl::AbortedError(
          absl::StrCat("the connection broke after ", written,
                       " rows, and the rest would be of a later moment: try again"));
    }
    if (reader.new_snapshot()) {
      bar.Clear();
      std::fputs("eris: the connection broke: the rows from here on are of a later moment\n",
                 stderr);
    }
    if (absl::Status status = sink.Add(reader.schema(), rows); !status.ok()) return status;
    written += rows.rows;
    bar.Show(written, written);
    if (absl::Status status = CheckInterrupted(); !status.ok()) return status;
  }
  sink.End(reader.schema());
  return absl::OkStatus();
}

}  // namespace eris::cli
