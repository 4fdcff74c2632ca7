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

absl::StatusOr<KeyRange> RangeOf(const ScanFlags& flags, KeyType type) {
  KeyRange range;
  if (!flags.from.empty()) {
    const absl::StatusOr<uint64_t> lo = ParseKey(flags.from, type);
    if (!lo.ok()) return lo.status();
    range.lo = *lo;
  }
  if (!flags.to.empty()) {
    const absl::StatusOr<uint64_t> hi = ParseKey(flags.to, type);
    if (!hi.ok()) return hi.status();
    range.hi = *hi;
  }
  return range;
}

int RunScan(const Cli& cli, const ScanFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const KeyType type = to->info.key_type;
  const absl::StatusOr<KeyRange> range = RangeOf(flags, type);
  if (!range.ok()) return Report(range.status());
  const auto reader = to->client->Scan(flags.object, *range, flags.limit, type);
  client::ScanRows rows;
  absl::StatusOr<bool> more = reader->Next(rows);
  if (!more.ok()) return Report(more.status());
  Output output;
  RowPrinter printer(output, cli.json(), type);
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
  verb->add_option("--from", flags->from, "First key; default: from the lowest");
  verb->add_option("--to", flags->to, "First key behind the range; default: to the end");
  verb->add_option("--limit", flags->limit, "Rows at most; 0: all")->capture_default_str();
  verb->footer(
      "Examples:\n"
      "  eris scan orders | head\n"
      "  eris scan orders --from 100 --to 200 --limit 10 --output json\n"
      "  eris scan rainfall --from 2024-01-01 --to 2025-01-01\n");
  verb->callback([flags, &cli] { cli.run = [flags, &cli] { return RunScan(cli, *flags); }; });
}

}  // namespace eris::cli
