// eris scan: rows of a key range, in key order.
#include <memory>
#include <string>

#include "clients/cli/bytes_verbs.h"
#include "clients/cli/cli.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/output.h"
#include "clients/cli/range_flags.h"
#include "clients/cli/row_printer.h"
#include "clients/cli/string_printer.h"

namespace eris::cli {
namespace {

struct ScanFlags {
  std::string object;
  RangeFlags range;
  uint64_t limit = 0;
  bool reverse = false;
  bool keys_only = false;
  BytesFlags bytes;
};

absl::StatusOr<ScanOptions> OptionsOf(const ScanFlags& flags, KeyType type) {
  ScanOptions options{.limit = flags.limit, .keys_only = flags.keys_only};
  if (flags.reverse) options.direction = ScanDirection::kBackward;
  const auto range = flags.range.Keys(type);
  if (!range.ok()) return range.status();
  options.range = *range;
  const auto values = flags.range.Values();
  if (!values.ok()) return values.status();
  options.values = *values;
  return options;
}

// Goes on behind the first chunk. Returns the exit code.
int ShowStrings(const Cli& cli, const ScanFlags& flags, KeyType type, client::ScanReader& reader,
                client::ScanRows& rows) {
  Output output;
  StringPrinter printer(output, cli.json(), flags.bytes.format(), type);
  absl::StatusOr<bool> more = true;
  while (*more && output.open()) {
    for (size_t i = 0; i < rows.keys.size() && output.open(); ++i) {
      printer.Add(rows.keys[i], rows.bytes[i]);
    }
    more = reader.Next(rows);
    if (!more.ok()) return output.Finish(Report(more.status()));
  }
  printer.End();
  return output.Finish(kExitOk);
}

int RunScan(const Cli& cli, const ScanFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const KeyType type = to->info.key_type;
  const absl::StatusOr<ScanOptions> options = OptionsOf(flags, type);
  if (!options.ok()) return Report(options.status());
  const auto reader = to->client->ScanWith(flags.object, *options, type);
  client::ScanRows rows;
  absl::StatusOr<bool> more = reader->Next(rows);
  if (!more.ok()) return Report(more.status());
  if (rows.has_bytes) return ShowStrings(cli, flags, type, *reader, rows);
  Output output;
  RowPrinter printer(output, cli.json(), type, flags.keys_only);
  while (*more && output.open()) {
    for (size_t i = 0; i < rows.keys.size() && output.open(); ++i) {
      if (flags.keys_only) {
        printer.AddKey(rows.keys[i]);
      } else {
        printer.Add(rows.keys[i], rows.values[i]);
      }
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
  flags->range.AddTo(*verb);
  verb->add_option("--limit", flags->limit, "Rows at most; 0: all")->capture_default_str();
  verb->add_flag("--reverse", flags->reverse, "Descending keys, from the end of the range");
  verb->add_flag("--keys-only", flags->keys_only, "Without the values");
  AddBytesFlags(*verb, flags->bytes, /*raw=*/false);
  verb->footer(
      "Byte strings are shown as `eris get` does.\n"
      "\n"
      "Examples:\n"
      "  eris scan orders | head\n"
      "  eris scan orders --from 100 --to 200 --limit 10 --output json\n"
      "  eris scan rainfall --from 2024-01-01 --to 2025-01-01\n"
      "  eris scan orders --reverse --limit 3 --min-value 1000 --keys-only\n");
  verb->callback([flags, &cli] { cli.run = [flags, &cli] { return RunScan(cli, *flags); }; });
}

}  // namespace eris::cli
