// eris scan: rows of a key range, in key order; for a table the result of a query.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/row_format.h"
#include "clients/cli/scan_flags.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/progress_bar.h"
#include "clients/cli/text/progress_watch.h"

namespace eris::cli {
namespace {

struct ScanVerbFlags {
  std::string object;
  ScanFlags scan;
  RowFormat format;
};

int ShowRowsWritten(const Cli& cli, const std::string& target, uint64_t rows) {
  Output output;
  if (cli.json()) {
    output.WriteJson({{"target", target}, {"rows", std::to_string(rows)}});
  } else {
    output.Write(absl::StrCat(rows, " rows written into ", target, "\n"));
  }
  return output.Finish(kExitOk);
}

// How many rows an object has gained since this call; asked through a connection that does not wait
// long.
ProgressWatch::Look GainOf(const client::Client& client, const std::string& object) {
  if (!ProgressIsSeen()) return nullptr;
  const std::shared_ptr<client::Client> quick = client.WithTimeout(absl::Seconds(1));
  const absl::StatusOr<ObjectInfo> first = quick->Get(object);
  const uint64_t before = first.ok() ? first->keys : 0;
  return [quick, object, before]() -> std::optional<uint64_t> {
    const absl::StatusOr<ObjectInfo> now = quick->Get(object);
    if (!now.ok()) return std::nullopt;
    return now->keys - std::min(now->keys, before);
  };
}

absl::StatusOr<uint64_t> WriteInto(const Cli::ObjectClient& from, const Query& query,
                                   const ScanVerbFlags& flags) {
  const ProgressWatch watch(flags.scan.RowsOf(from.info), GainOf(*from.client, flags.scan.into));
  return from.client->ScanInto(flags.object, query, flags.scan.into);
}

int RunScan(const Cli& cli, const ScanVerbFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const absl::StatusOr<Query> query = flags.scan.QueryOf(to->info);
  if (!query.ok()) return Report(query.status());
  if (absl::Status status = flags.format.bytes.Check(to->info); !status.ok()) return Report(status);
  if (!flags.scan.into.empty()) {
    const absl::StatusOr<uint64_t> rows = WriteInto(*to, *query, flags);
    return rows.ok() ? ShowRowsWritten(cli, flags.scan.into, *rows) : Report(rows.status());
  }
  const auto reader = to->client->Scan(to->info, *query);
  Output output;
  FormattedRows rows(cli, flags.format, output);
  ProgressBar bar(flags.scan.RowsOf(to->info), ProgressIsSeenBy(stdout));
  const absl::Status written = WriteScan(*reader, /*one_moment=*/false, output, bar, rows.sink());
  bar.Clear();
  return output.Finish(Report(written));
}

}  // namespace

void AddScan(Flags& program, Cli& cli) {
  auto flags = std::make_shared<ScanVerbFlags>();
  Flags& verb = program.AddVerb(
      "scan", "Show the rows of a key range in key order, or of a table what a query asks for");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  flags->scan.AddTo(verb);
  flags->format.AddTo(verb);
  verb.SetFooter(
      "Bounds of two-part keys are FIRST/SECOND, or FIRST alone: from its first row, or up to and\n"
      "without it. Strings are shown as `eris get` does.\n"
      "\n"
      "Of a table the rows come in no order, all as of one moment. Expressions: columns, numbers,\n"
      "'text', 1994-01-01, timestamp '1994-01-01 12:00:00'; + - * / div %; = != < <= > >=;\n"
      "between, in (...), is null, like 'a%_' [escape '!']; and, or, not; case when C then V\n"
      "[when ...] [else V] end; cast(X as int64 | decimal(2) | date | ...); substring(T, 1, 3);\n"
      "date_part('year' | 'quarter' | 'month' | 'day' | 'hour' | 'minute' | 'second', X). Names\n"
      "that are no words are in double quotes. 0.05 is a decimal, 1e3 a float64; a quotient is a\n"
      "float64.\n"
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
