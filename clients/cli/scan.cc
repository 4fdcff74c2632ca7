// eris scan: rows of a key range, in key order.
#include <memory>
#include <string>

#include "clients/cli/cli.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/output.h"
#include "clients/cli/parse.h"
#include "clients/cli/row_printer.h"

namespace eris::cli {
namespace {

struct ScanFlags {
  std::string object;
  std::string from;
  std::string to;
  uint64_t limit = 0;
};

absl::StatusOr<KeyRange> RangeOf(const ScanFlags& flags) {
  KeyRange range;
  if (!flags.from.empty()) {
    const absl::StatusOr<uint64_t> lo = ParseKey(flags.from);
    if (!lo.ok()) return lo.status();
    range.lo = *lo;
  }
  if (!flags.to.empty()) {
    const absl::StatusOr<uint64_t> hi = ParseKey(flags.to);
    if (!hi.ok()) return hi.status();
    range.hi = *hi;
  }
  return range;
}

int RunScan(const Cli& cli, const ScanFlags& flags) {
  const absl::StatusOr<KeyRange> range = RangeOf(flags);
  if (!range.ok()) return Report(range.status());
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  const auto reader = (*client)->Scan(flags.object, *range, flags.limit);
  client::ScanRows rows;
  absl::StatusOr<bool> more = reader->Next(rows);
  if (!more.ok()) return Report(more.status());
  Output output;
  RowPrinter printer(output, cli.json());
  while (*more && output.open()) {
    for (size_t i = 0; i < rows.keys.size() && output.open(); ++i) {
      printer.Add(rows.keys[i], rows.values[i]);
    }
    more = reader->Next(rows);
    if (!more.ok()) return output.Finish(Report(more.status()));
  }
  printer.End();
  return output.Finish(kExitOk);
}

}  // namespace

void AddScan(CLI::App& app, Cli& cli) {
  auto flags = std::make_shared<ScanFlags>();
  CLI::App* verb = app.add_subcommand("scan", "Show the rows of a key range in key order");
  verb->add_option("object", flags->object, "Name")->required();
  verb->add_option("--from", flags->from, "First key; default 0");
  verb->add_option("--to", flags->to, "First key behind the range; default: to the end");
  verb->add_option("--limit", flags->limit, "Rows at most; 0: all")->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  eris scan orders | head\n"
      "  eris scan orders --from 100 --to 200 --limit 10 --output json\n");
  verb->callback([flags, &cli] { cli.run = [flags, &cli] { return RunScan(cli, *flags); }; });
}

}  // namespace eris::cli
