// eris put, add, erase: writes by key.
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/bytes_verbs.h"
#include "clients/cli/conditional_write.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

struct WriteFlags {
  std::string object;
  std::vector<std::string> arguments;
  bool if_absent = false;  // one of the three at most
  bool if_present = false;
  bool compare_and_set = false;
  BytesFlags bytes;

  // nullopt: no condition.
  std::optional<WriteMode> mode() const {
    if (if_absent) return WriteMode::kInsertIfAbsent;
    if (if_present) return WriteMode::kReplaceIfPresent;
    if (compare_and_set) return WriteMode::kCompareAndSet;
    return std::nullopt;
  }
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
    output.WriteJson(
        {{"keys", std::to_string(written.keys)}, {existed, std::to_string(written.existed)}});
  } else {
    output.Write(
        absl::StrCat(written.keys, " keys ", done, ", ", written.existed, " ", existed, "\n"));
  }
  return output.Finish(kExitOk);
}

int RunPut(const Cli& cli, const WriteFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  const KeyTypes& types = to->info.key_type;
  const absl::Status no_table = CheckNoTable(
      to->info,
      absl::StrCat("use eris import ", flags.object,
                   " FILE (or -), which inserts rows and replaces those whose key is there"));
  if (!no_table.ok()) return Report(no_table);
  if (to->info.value_type == ColumnType::kString) {
    return RunPutBytes(cli, *to, flags.mode(), flags.arguments, flags.bytes);
  }
  if (const absl::Status status = CheckNoBytesFlags(flags.bytes, flags.object); !status.ok()) {
    return Report(status);
  }
  if (flags.mode()) {
    return RunConditionalWrite(cli, *flags.mode(), flags.object, flags.arguments);
  }
  ArgumentReader reader(flags.arguments, std::cin);
  Written written;
  KeyBatch keys(types);
  std::vector<uint64_t> values;
  std::string text;
  for (bool more = true; more;) {
    more = reader.Next(text);
    if (more) {
      const auto pair = ParseKeyValue(text, types);
      if (!pair.ok()) return ReportAfter(pair.status(), written);
      keys.Add(pair->first);
      values.push_back(pair->second);
    }
    if (keys.empty() || (more && keys.size() < kKeysPerRequest)) continue;
    const auto existed = to->client->Upsert(flags.object, keys.columns(), values, types);
    if (!existed.ok()) return ReportAfter(existed.status(), written);
    written.keys += keys.size();
    written.existed += existed->Count();
    keys.clear();
    values.clear();
  }
  return Print(cli, written, "put", "replaced");
}

int RunErase(const Cli& cli, const WriteFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  if (IsTable(to->info)) return RunEraseOfTable(cli, *to->client, flags.object, flags.arguments);
  const KeyTypes& types = to->info.key_type;
  ArgumentReader reader(flags.arguments, std::cin);
  Written written;
  KeyBatch keys(types);
  std::string text;
  for (bool more = true; more;) {
    more = reader.Next(text);
    if (more) {
      const auto key = ParseKey(absl::StripAsciiWhitespace(text), types);
      if (!key.ok()) return ReportAfter(key.status(), written);
      keys.Add(*key);
    }
    if (keys.empty() || (more && keys.size() < kKeysPerRequest)) continue;
    const auto existed = to->client->Erase(flags.object, keys.columns(), types);
    if (!existed.ok()) return ReportAfter(existed.status(), written);
    written.keys += keys.size();
    written.existed += existed->Count();
    keys.clear();
  }
  return Print(cli, written, "asked", "erased");
}

}  // namespace

void AddPut(Flags& program, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  Flags& verb = program.AddVerb("put", "Insert or replace keys");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("pairs", flags->arguments, "key=value ..., or - for lines 'key value' of stdin")
      .Required();
  const Flag absent =
      verb.Add("--if-absent", flags->if_absent, "Insert; leave keys that are there");
  const Flag present = verb.Add("--if-present", flags->if_present, "Replace; create no key");
  const Flag compare = verb.Add(
      "--compare-and-set", flags->compare_and_set,
      "Replace values that are the expected ones: key=expected:value, or 'key expected value'");
  absent.Excludes(present).Excludes(compare);
  present.Excludes(compare);
  AddBytesFlags(verb, flags->bytes, /*raw=*/false);
  verb.SetFooter(
      "With a condition each key is tested and written in one step, and shown with the value that\n"
      "was there before. Keys that were not written make the exit code 1.\n"
      "Keys of two parts are written FIRST/SECOND. Rows of tables come in by eris import.\n"
      "A byte string is what stands behind the =, or a file's content: key=@path (key=@@text "
      "begins\n"
      "with @); a line of stdin has a key, blanks, and the value up to its end.\n"
      "\n"
      "Examples:\n"
      "  eris put orders 1=370 2=781\n"
      "  awk '{print $1, $2}' pairs.txt | eris put orders -\n"
      "  eris put locks 7=1001 --if-absent\n"
      "  eris put rainfall 2024-02-29=12 2024-03-01=0\n"
      "  eris put visits 7/2024-02-29=3 8/2024-02-29=1\n"
      "  eris put orders 1=370:371 --compare-and-set\n"
      "  eris put documents '1={\"name\": \"Ann\"}' 2=@two.json\n"
      "  jq -rc '\"\\(.id) \\(.)\"' all.json | eris put documents -\n"
      "  eris put keys 1=00ff1e --hex\n");
  verb.SetRun([flags, &cli] { return RunPut(cli, *flags); });
}

void AddAdd(Flags& program, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  Flags& verb = program.AddVerb("add", "Add to counters and show the sums");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("pairs", flags->arguments,
           "key=delta ..., or - for lines 'key delta' of stdin; -2^63 to 2^64-1")
      .Required();
  verb.SetFooter(
      "A key that is not there counts from 0. Sums are modulo 2^64.\n"
      "\n"
      "Examples:\n"
      "  eris add hits 1=1 2=10\n"
      "  eris add stock 7=-3\n"
      "  eris add visits 7/2024-02-29=1\n"
      "  awk '{print $1, 1}' visits.txt | eris add hits - --output json\n");
  verb.SetRun([flags, &cli] {
    return RunConditionalWrite(cli, WriteMode::kAdd, flags->object, flags->arguments);
  });
}

void AddErase(Flags& program, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  Flags& verb = program.AddVerb("erase",
                                "Remove keys, or of a table the rows with those keys; keys "
                                "that are not there are no error");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("keys", flags->arguments, "Keys, or - for one key a line of stdin").Required();
  verb.SetFooter(
      "Keys are written as in eris get: those of two parts FIRST/SECOND, those of a table with a "
      "/\n"
      "between its columns.\n"
      "\n"
      "Examples:\n"
      "  eris erase orders 1 2 3\n"
      "  eris erase lineitem 1/1 1/2\n"
      "  seq 1 2 1000 | eris erase orders -\n");
  verb.SetRun([flags, &cli] { return RunErase(cli, *flags); });
}

}  // namespace eris::cli
