// eris get: values of keys.
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "clients/cli/bytes_verbs.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/row_printer.h"

namespace eris::cli {
namespace {

struct GetFlags {
  std::string object;
  std::vector<std::string> arguments;
  BytesFlags bytes;
};

int RunGet(const Cli& cli, const GetFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  if (IsTable(to->info)) {
    if (flags.bytes.any()) {
      return Report(CheckNoTable(to->info, "--hex, --base64 and --raw are for byte strings"));
    }
    return RunGetOfTable(cli, *to->client, flags.object, flags.arguments);
  }
  const KeyTypes& types = to->info.key_type;
  if (to->info.value_type == ColumnType::kString) {
    return RunGetBytes(cli, *to, flags.arguments, flags.bytes);
  }
  if (const absl::Status status = CheckNoBytesFlags(flags.bytes, flags.object); !status.ok()) {
    return Report(status);
  }
  ArgumentReader reader(flags.arguments, std::cin);
  Output output;
  std::optional<RowPrinter> rows;  // from the first answer: an error prints no empty table
  uint64_t missing = 0;
  KeyBatch keys(types);
  std::string text;
  for (bool more = true; more && output.open();) {
    more = reader.Next(text);
    if (more) {
      const auto key = ParseKey(absl::StripAsciiWhitespace(text), types);
      if (!key.ok()) return output.Finish(Report(key.status()));
      keys.Add(*key);
    }
    if (keys.empty() || (more && keys.size() < kKeysPerRequest)) continue;
    const auto result = to->client->Lookup(flags.object, keys.columns(), types);
    if (!result.ok()) return output.Finish(Report(result.status()));
    if (!rows) rows.emplace(output, cli.json(), types);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (result->found[i]) {
        rows->Add(keys[i], result->values[i]);
        continue;
      }
      ++missing;
      rows->Add(keys[i], std::nullopt);
      if (!cli.json()) {
        std::fprintf(stderr, "eris: key %s: not found\n", ObjectKeyText(types, keys[i]).c_str());
      }
    }
    keys.clear();
  }
  if (rows) rows->End();
  return output.Finish(missing == 0 ? kExitOk : kExitNotFound);
}

}  // namespace

void AddGet(Flags& program, Cli& cli) {
  auto flags = std::make_shared<GetFlags>();
  Flags& verb = program.AddVerb("get", "Show the values of keys");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("keys", flags->arguments, "Keys, or - for one key a line of stdin").Required();
  AddBytesFlags(verb, flags->bytes, /*raw=*/true);
  verb.SetFooter(
      "Keys are read and shown by the object's type (see eris create --help). One that begins "
      "with\n"
      "a minus and a letter stands behind --, as in: eris get rates -- -inf\n"
      "Keys of two parts are written FIRST/SECOND, those of a table with a / between its columns.\n"
      "Rows stand in the order of the keys. Missing keys are named on stderr (JSON: value null,\n"
      "of a table null for the row) and make the exit code 1.\n"
      "Byte strings are shown as text, with \\xNN for what is none; exact are --hex, --base64, "
      "--raw\n"
      "and JSON, where a value that is no UTF-8 is called value_base64.\n"
      "\n"
      "Examples:\n"
      "  eris get orders 1 7 32\n"
      "  seq 1 100 | eris get orders - --output json\n"
      "  eris get lineitem 1/1 1/2 7/4\n"
      "  eris get documents 7 --raw > seven.json\n");
  verb.SetRun([flags, &cli] { return RunGet(cli, *flags); });
}

}  // namespace eris::cli
