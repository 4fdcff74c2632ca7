// eris put, erase: writes by key.
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/cli.h"
#include "clients/cli/exit_code.h"
#include "clients/cli/key_input.h"
#include "clients/cli/output.h"
#include "clients/cli/parse.h"

namespace eris::cli {
namespace {

struct WriteFlags {
  std::string object;
  std::vector<std::string> arguments;
};

// What a verb has written so far; the text of an error says it.
struct Written {
  uint64_t keys = 0;
  uint64_t existed = 0;
};

int ReportAfter(const absl::Status& status, const Written& written) {
  if (written.keys == 0) return Report(status);
  return Report(absl::Status(status.code(),
                             absl::StrCat(status.message(), " (after ", written.keys, " keys)")));
}

int Print(const Cli& cli, const Written& written, const char* done, const char* existed) {
  Output output;
  if (cli.json()) {
    output.WriteJson(nlohmann::ordered_json{{"keys", std::to_string(written.keys)},
                                            {existed, std::to_string(written.existed)}});
  } else {
    output.Write(
        absl::StrCat(written.keys, " keys ", done, ", ", written.existed, " ", existed, "\n"));
  }
  return output.Finish(kExitOk);
}

int RunPut(const Cli& cli, const WriteFlags& flags) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  ArgumentReader reader(flags.arguments, std::cin);
  Written written;
  std::vector<uint64_t> keys, values;
  std::string text;
  for (bool more = true; more;) {
    more = reader.Next(text);
    if (more) {
      const auto pair = ParseKeyValue(text);
      if (!pair.ok()) return ReportAfter(pair.status(), written);
      keys.push_back(pair->first);
      values.push_back(pair->second);
    }
    if (keys.empty() || (more && keys.size() < kKeysPerRequest)) continue;
    const auto existed = (*client)->Upsert(flags.object, keys, values);
    if (!existed.ok()) return ReportAfter(existed.status(), written);
    written.keys += keys.size();
    written.existed += existed->Count();
    keys.clear();
    values.clear();
  }
  return Print(cli, written, "put", "replaced");
}

int RunErase(const Cli& cli, const WriteFlags& flags) {
  const auto client = cli.Connect();
  if (!client.ok()) return Report(client.status());
  ArgumentReader reader(flags.arguments, std::cin);
  Written written;
  std::vector<uint64_t> keys;
  std::string text;
  for (bool more = true; more;) {
    more = reader.Next(text);
    if (more) {
      const auto key = ParseKey(absl::StripAsciiWhitespace(text));
      if (!key.ok()) return ReportAfter(key.status(), written);
      keys.push_back(*key);
    }
    if (keys.empty() || (more && keys.size() < kKeysPerRequest)) continue;
    const auto existed = (*client)->Erase(flags.object, keys);
    if (!existed.ok()) return ReportAfter(existed.status(), written);
    written.keys += keys.size();
    written.existed += existed->Count();
    keys.clear();
  }
  return Print(cli, written, "asked", "erased");
}

}  // namespace

void AddPut(CLI::App& app, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  CLI::App* verb = app.add_subcommand("put", "Insert or replace keys");
  verb->add_option("object", flags->object, "Name")->required();
  verb->add_option("pairs", flags->arguments, "key=value ..., or - for lines 'key value' of stdin")
      ->required();
  verb->footer(
      "Examples:\n"
      "  eris put orders 1=370 2=781\n"
      "  awk '{print $1, $2}' pairs.txt | eris put orders -\n");
  verb->callback([flags, &cli] { cli.run = [flags, &cli] { return RunPut(cli, *flags); }; });
}

void AddErase(CLI::App& app, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  CLI::App* verb = app.add_subcommand("erase", "Remove keys; keys that are not there are no error");
  verb->add_option("object", flags->object, "Name")->required();
  verb->add_option("keys", flags->arguments, "Keys, or - for one key a line of stdin")->required();
  verb->footer(
      "Examples:\n"
      "  eris erase orders 1 2 3\n"
      "  seq 1 2 1000 | eris erase orders -\n");
  verb->callback([flags, &cli] { cli.run = [flags, &cli] { return RunErase(cli, *flags); }; });
}

}  // namespace eris::cli
