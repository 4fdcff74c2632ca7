// eris aggregate, eris count: aggregates of the rows of a range, without moving any row.
#include <memory>
#include <sstream>
#include <string>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/range_flags.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

struct AggregateFlags {
  std::string object;
  RangeFlags range;
};

std::string SumText(const RangeAggregate& rows) {
  std::ostringstream text;
  text << absl::MakeUint128(rows.sum_high, rows.sum_low);
  return text.str();
}

void PrintAggregate(const RangeAggregate& rows, const Schema& schema, bool json, Output& output) {
  const auto first = [&] { return BoundText(schema, {rows.first_key, rows.first_second}); };
  const auto last = [&] { return BoundText(schema, {rows.last_key, rows.last_second}); };
  const bool any = rows.count > 0;
  const std::string count = absl::StrCat(rows.count);
  if (json) {
    Json out{{"count", count}};
    for (const char* name : {"min", "max", "sum", "avg", "first_key", "last_key"}) {
      out[name] = nullptr;
    }
    if (any) {
      out["min"] = absl::StrCat(rows.min);
      out["max"] = absl::StrCat(rows.max);
      out["sum"] = SumText(rows);
      out["avg"] = rows.mean();
      out["first_key"] = first();
      out["last_key"] = last();
    }
    return output.WriteJson(out);
  }
  TextTable table({{"COUNT"}, {"MIN"}, {"MAX"}, {"SUM"}, {"AVG"}, {"FIRST KEY"}, {"LAST KEY"}});
  if (any) {
    table.Add({count, absl::StrCat(rows.min), absl::StrCat(rows.max), SumText(rows),
               absl::StrFormat("%.6g", rows.mean()), first(), last()});
  } else {
    table.Add({count, "-", "-", "-", "-", "-", "-"});
  }
  output.Write(table.ToString());
}

void PrintCount(const std::string& count, bool json, Output& output) {
  if (json) return output.WriteJson({{"count", count}});
  output.Write(absl::StrCat(count, "\n"));
}

// Counts all rows of a table on its AEUs.
int RunCountOfTable(const Cli& cli, const Cli::ObjectClient& to) {
  const Query query{.aggregates = {{.function = AggregateFunction::kCount, .name = "count"}}};
  const auto reader = to.client->Scan(to.info, query);
  client::OwnedRows rows;
  const absl::StatusOr<bool> any = reader->Next(rows);
  if (!any.ok()) return Report(any.status());
  if (!*any || rows.rows != 1 || rows.columns[0].values.size() != sizeof(uint64_t)) {
    return Report(absl::InternalError("the server has not answered with one count"));
  }
  Output output;
  PrintCount(absl::StrCat(rows.Get<uint64_t>(0, 0)), cli.json(), output);
  return output.Finish(kExitOk);
}

int RunAggregate(const Cli& cli, const AggregateFlags& flags, bool count_only) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  if (count_only && IsTable(to->info) && !flags.range.any()) {
    return RunCountOfTable(cli, *to);
  }
  if (to->info.kind == ObjectKind::kHash) {
    return Report(absl::FailedPreconditionError(absl::StrCat(
        "object \"", flags.object, "\" is a hash, which has no key order: it cannot be ",
        count_only ? "counted" : "aggregated", "; eris list ", flags.object,
        " shows how many keys it has")));
  }
  const absl::Status no_table = CheckNoTable(
      to->info, absl::StrCat("use eris scan ", flags.object, " --agg '",
                             count_only ? "count(*)" : "count(*), min(a), max(a), sum(a)",
                             "', with --filter for some of its rows"));
  if (!no_table.ok()) return Report(no_table);
  AggregateOptions options{.count_only = count_only};
  const auto range = flags.range.Keys(to->info.schema);
  if (!range.ok()) return Report(range.status());
  options.range = *range;
  const auto values = flags.range.Values();
  if (!values.ok()) return Report(values.status());
  options.values = *values;
  const auto rows = to->client->Aggregate(to->info, options);
  if (!rows.ok()) return Report(rows.status());
  Output output;
  if (!count_only) {
    PrintAggregate(*rows, to->info.schema, cli.json(), output);
  } else {
    PrintCount(absl::StrCat(rows->count), cli.json(), output);
  }
  return output.Finish(kExitOk);
}

Flags& AddVerb(Flags& program, Cli& cli, const char* name, const char* what, bool count_only) {
  auto flags = std::make_shared<AggregateFlags>();
  Flags& verb = program.AddVerb(name, what);
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  flags->range.AddTo(verb);
  verb.SetRun([flags, count_only, &cli] { return RunAggregate(cli, *flags, count_only); });
  return verb;
}

}  // namespace

void AddAggregate(Flags& program, Cli& cli) {
  AddVerb(program, cli, "aggregate",
          "Count, minimum, maximum, sum and average of the values in a key range", false)
      .SetFooter(
          "The server adds up where the rows are; none of them is sent. The sum has 128 bits.\n"
          "Of a table: eris scan NAME --agg 'count(*), min(a), max(a), sum(a), avg(a)'\n"
          "Examples:\n"
          "  eris aggregate orders\n"
          "  eris aggregate orders --from 100 --to 200 --min-value 10 --output json\n");
}

void AddCount(Flags& program, Cli& cli) {
  AddVerb(program, cli, "count", "Count the rows of a key range, or of a table", true)
      .SetFooter(
          "Without a filter on the values no row is read, however many there are.\n"
          "Of a table it counts all rows; some of them: eris scan NAME --agg 'count(*)' --filter "
          "...\n"
          "A hash has no order and no scans: `eris list NAME` shows how many keys it has.\n"
          "Examples:\n"
          "  eris count orders --from 100 --to 200\n"
          "  eris count orders --max-value 9\n"
          "  eris count visits --from 7/2024-01-01 --to 7/2025-01-01\n");
}

}  // namespace eris::cli
