// eris scan: rows of a key range, in key order.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/bytes_verbs.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/range_flags.h"
#include "clients/cli/text/row_printer.h"
#include "clients/cli/text/string_printer.h"

namespace eris::cli {
namespace {

struct ScanFlags {
  std::string object;
  RangeFlags range;
  uint64_t limit = 0;
  bool reverse = false;
  bool keys_only = false;
  BytesFlags bytes;
  TableScanFlags table;

  bool any_of_indexes() const {
    return !range.from.empty() || !range.to.empty() || !range.min_value.empty() ||
           !range.max_value.empty() || reverse || keys_only || bytes.any();
  }
};

absl::StatusOr<ScanOptions> OptionsOf(const ScanFlags& flags, const KeyTypes& types) {
  ScanOptions options{.limit = flags.limit, .keys_only = flags.keys_only};
  if (flags.reverse) options.direction = ScanDirection::kBackward;
  const auto range = flags.range.Keys(types);
  if (!range.ok()) return range.status();
  options.range = *range;
  const auto values = flags.range.Values();
  if (!values.ok()) return values.status();
  options.values = *values;
  return options;
}

ObjectKey KeyOf(const KeyTypes& types, const client::ScanRows& rows, size_t i) {
  return {rows.keys[i], types.two_parts() ? rows.second_keys[i] : 0};
}

// The next chunk; says so where it is of another moment than the rows before it.
absl::StatusOr<bool> Next(client::ScanReader& reader, client::ScanRows& rows) {
  absl::StatusOr<bool> more = reader.Next(rows);
  if (more.ok() && *more && rows.new_snapshot) {
    std::fputs("eris: the connection broke: the rows from here on are of a later moment\n", stderr);
  }
  return more;
}

// Goes on behind the first chunk. Returns the exit code.
int ShowStrings(const Cli& cli, const ScanFlags& flags, ColumnType type, client::ScanReader& reader,
                client::ScanRows& rows) {
  Output output;
  StringPrinter printer(output, cli.json(), flags.bytes.format(), type);
  absl::StatusOr<bool> more = true;
  while (*more && output.open()) {
    for (size_t i = 0; i < rows.keys.size() && output.open(); ++i) {
      printer.Add(rows.keys[i], rows.bytes[i]);
    }
    more = Next(reader, rows);
    if (!more.ok()) return output.Finish(Report(more.status()));
  }
  printer.End();
  return output.Finish(kExitOk);
}

int RunScan(const Cli& cli, const ScanFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  if (IsTable(to->info)) {
    if (!flags.any_of_indexes()) {
      return RunScanOfTable(cli, *to->client, flags.object, flags.table, flags.limit);
    }
    return Report(absl::InvalidArgumentError(
        absl::StrCat(flags.object,
                     " is a table, whose rows come in no order: of ranges, values and "
                     "keys only --filter and --columns say which")));
  }
  if (flags.table.any()) {
    return Report(absl::InvalidArgumentError(absl::StrCat(
        flags.object,
        " is no table: --filter, --columns, --agg, --group-by, --into and --format are for tables; "
        "eris export writes its rows as csv or tbl")));
  }
  const KeyTypes& types = to->info.key_type;
  const absl::StatusOr<ScanOptions> options = OptionsOf(flags, types);
  if (!options.ok()) return Report(options.status());
  const auto reader = to->client->ScanWith(flags.object, *options, types);
  client::ScanRows rows;
  absl::StatusOr<bool> more = reader->Next(rows);
  if (!more.ok()) return Report(more.status());
  if (rows.has_bytes) return ShowStrings(cli, flags, types.first, *reader, rows);
  Output output;
  RowPrinter printer(output, cli.json(), types, flags.keys_only);
  while (*more && output.open()) {
    for (size_t i = 0; i < rows.keys.size() && output.open(); ++i) {
      const ObjectKey key = KeyOf(types, rows, i);
      if (flags.keys_only) {
        printer.AddKey(key);
      } else {
        printer.Add(key, rows.values[i]);
      }
    }
    more = Next(*reader, rows);
    if (!more.ok()) return output.Finish(Report(more.status()));
  }
  printer.End();
  return output.Finish(kExitOk);
}

}  // namespace

void AddScan(Flags& program, Cli& cli) {
  auto flags = std::make_shared<ScanFlags>();
  Flags& verb = program.AddVerb(
      "scan", "Show the rows of a key range in key order, or of a table what a query asks for");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  flags->range.AddTo(verb);
  verb.Add("--limit", flags->limit, "Rows at most; 0: all").Check(CheckU64).ShowDefault();
  verb.Add("--reverse", flags->reverse, "Descending keys, from the end of the range");
  verb.Add("--keys-only", flags->keys_only, "Without the values");
  AddBytesFlags(verb, flags->bytes, /*raw=*/false);
  AddTableScanFlags(verb, flags->table);
  verb.SetFooter(
      "Bounds of two-part keys are FIRST/SECOND, or FIRST alone: from its first row, or up to and\n"
      "without it. Byte strings are shown as `eris get` does.\n"
      "\n"
      "Of a table the rows come in no order, all as of one moment. Expressions: columns, numbers,\n"
      "'text', 1994-01-01; + - *; = != < <= > >=; between, in (...), is null; and, or, not. Names\n"
      "that are no words stand in double quotes. 0.05 is a decimal, 1e3 a double.\n"
      "A reader that pauses, as `less` does, is waited for as long as the server's stall_ms_max "
      "says\n"
      "(30 s); a table's moment is kept for another scan_resume_ms (30 s), in which the scan goes "
      "on.\n"
      "Shown as a table a null is -; exact are --format csv, tbl and json.\n"
      "\n"
      "Examples:\n"
      "  eris scan orders | head\n"
      "  eris scan orders --from 100 --to 200 --limit 10 --output json\n"
      "  eris scan rainfall --from 2024-01-01 --to 2025-01-01\n"
      "  eris scan visits --from 7/2024-01-01 --to 7/2025-01-01 --reverse\n"
      "  eris scan orders --reverse --limit 3 --min-value 1000 --keys-only\n"
      "  eris scan lineitem --filter \"l_shipmode in ('AIR', 'MAIL')\" --columns l_orderkey "
      "--limit 9\n"
      "  eris scan lineitem --filter 'l_shipdate < 1994-01-01 and l_discount between 0.05 and "
      "0.07' \\\n"
      "    --agg 'sum(l_extendedprice * l_discount) as revenue'\n"
      "  eris scan lineitem --agg 'count(*), avg(l_quantity)' --group-by "
      "l_returnflag,l_linestatus\n"
      "  eris scan lineitem --filter 'l_quantity = 50' --into large_orders\n"
      "  eris scan trades --filter \"note = 'late'\" --format csv > late.csv\n");
  verb.SetRun([flags, &cli] { return RunScan(cli, *flags); });
}

}  // namespace eris::cli
