// eris put, add, erase: writes by key.
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/row_printer.h"
#include "clients/cli/files/write_text.h"
#include "clients/cli/text/byte_flags.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

// Bytes of values in one request: servers accept messages of 32 MiB by default.
constexpr size_t kValueBytesPerRequest = 8 << 20;

struct WriteFlags {
  std::string object;
  std::vector<std::string> arguments;
  bool if_absent = false;  // at most one of these three
  bool if_present = false;
  bool compare_and_set = false;
  ByteFlags bytes;

  WriteMode put_mode() const {
    if (if_absent) return WriteMode::kInsertIfAbsent;
    if (if_present) return WriteMode::kReplaceIfPresent;
    return compare_and_set ? WriteMode::kCompareAndSet : WriteMode::kUpsert;
  }
};

// Whether the mode answers a row for each key: whether it was written and the previous value, or
// for adds the sum. kUpsert and kErase show no rows.
bool ShowsOutcomes(WriteMode mode) {
  return mode == WriteMode::kInsertIfAbsent || mode == WriteMode::kReplaceIfPresent ||
         mode == WriteMode::kCompareAndSet;
}
Schema AnswerSchema(const Schema& object, WriteMode mode) {
  Schema schema = object;
  if (ShowsOutcomes(mode)) {
    ColumnSchema& before = schema.columns.back();
    before.name = "before";
    before.nullable = true;
    schema.columns.insert(schema.columns.end() - 1,
                          {.name = "written", .type = ColumnType::kInt32});
  }
  return schema;
}

// One execution of a verb.
class Writer {
 public:
  Writer(const Cli& cli, const Cli::ObjectClient& to, const WriteSyntax& syntax)
      : cli_(cli),
        client_(*to.client),
        object_(to.info),
        syntax_(syntax),
        answer_(AnswerSchema(object_.schema, syntax.mode)),
        printer_(output_, cli.json(), syntax.format,
                 ShowsOutcomes(syntax.mode) ? object_.schema.key.size() : RowPrinter::kNoColumn) {}

  int Run(const std::vector<std::string>& arguments) {
    ArgumentReader reader(arguments, std::cin);
    const auto take = [&](const std::string& text) {
      if (writes_rows()) {
        return AddTableRow(object_.schema, syntax_.format, text, batch_.rows);
      }
      return AddWrite(object_.schema, syntax_, reader.from_input(), text, batch_);
    };
    const absl::Status status = reader.ForEach(output_, take, [this](bool last) {
      const bool full =
          batch_.rows.rows == kKeysPerRequest || batch_.value_bytes() >= kValueBytesPerRequest;
      return batch_.rows.rows > 0 && (last || full) ? Send() : absl::OkStatus();
    });
    // An error before the first answer prints no empty table.
    if (shows_rows() && (sent_ > 0 || status.ok())) printer_.End(answer_);
    if (!status.ok()) {
      const std::string after = sent_ == 0 ? "" : absl::StrCat(" (after ", sent_, " keys)");
      return output_.Finish(
          Report(absl::Status(status.code(), absl::StrCat(status.message(), after))));
    }
    if (!shows_rows()) PrintCounts();
    return output_.Finish(missed_ == 0 ? kExitOk : kExitNotFound);
  }

 private:
  bool shows_rows() const {
    return syntax_.mode != WriteMode::kUpsert && syntax_.mode != WriteMode::kErase &&
           syntax_.mode != WriteMode::kAppend;
  }
  // Whole ones, of a table.
  bool writes_rows() const { return IsTable(object_) && syntax_.mode != WriteMode::kErase; }

  absl::Status Send() {
    absl::StatusOr<client::WriteResult> result =
        client_.Write(object_, syntax_.mode, batch_.rows.view(), batch_.expected.view());
    if (!result.ok()) return result.status();
    sent_ += batch_.rows.rows;
    existed_ += result->existed.Count();
    if (shows_rows()) ShowRows(*result);
    batch_ = {};
    return result->refusal;
  }

  void ShowRows(client::WriteResult& result) {
    client::OwnedRows& rows = batch_.rows;
    for (uint64_t row = 0; row < rows.rows; ++row) {
      if (!result.executed[row]) {
        std::fprintf(stderr, "eris: key %s: refused, not changed\n",
                     KeyTextOf(object_.schema, rows, row).c_str());
      } else if (ShowsOutcomes(syntax_.mode) && !result.applied[row]) {
        ++missed_;
      }
    }
    rows.columns.back() = std::move(result.values.columns[0]);
    if (ShowsOutcomes(syntax_.mode)) {
      std::vector<int32_t> written(rows.rows);
      std::string& existed = rows.columns.back().validity;
      existed.assign((rows.rows + 7) / 8, '\0');
      for (uint64_t row = 0; row < rows.rows; ++row) {
        written[row] = result.applied[row] ? 1 : 0;
        const int bit = result.existed[row] ? 1 << (row & 7) : 0;
        existed[row >> 3] = static_cast<char>(existed[row >> 3] | bit);
      }
      rows.columns.insert(rows.columns.end() - 1, client::NumberColumn<int32_t>(written));
    }
    printer_.Add(answer_, rows, &result.executed);
  }

  void PrintCounts() {
    const bool erases = syntax_.mode == WriteMode::kErase;
    if (cli_.json()) {
      output_.WriteJson({{"keys", std::to_string(sent_)},
                         {erases ? "erased" : "replaced", std::to_string(existed_)}});
    } else {
      output_.Write(absl::StrCat(sent_, erases ? " keys asked, " : " keys put, ", existed_,
                                 erases ? " erased\n" : " replaced\n"));
    }
  }

  const Cli& cli_;
  client::Client& client_;
  const ObjectInfo& object_;
  const WriteSyntax syntax_;
  const Schema answer_;
  Output output_;
  RowPrinter printer_;
  RowsToWrite batch_;  // of the current request
  uint64_t sent_ = 0;
  uint64_t existed_ = 0;
  uint64_t missed_ = 0;  // keys whose condition failed
};

// What the mode is not for. Errors: FailedPrecondition.
absl::Status CheckObject(const ObjectInfo& object, WriteMode mode) {
  if (mode == WriteMode::kErase) {
    if (object.schema.has_key()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        absl::StrCat("table ", object.name, " has no key to name rows by"));
  }
  if (mode == WriteMode::kUpsert) return absl::OkStatus();
  if (mode == WriteMode::kAdd && !IsTable(object) && IsByteString(ValueTypeOf(object.schema))) {
    return absl::FailedPreconditionError(
        absl::StrCat("values of object \"", object.name, "\" are of type ",
                     ColumnTypeName(ValueTypeOf(object.schema)), ": counters are of uint64"));
  }
  return CheckNoTable(object, "counters and conditions are for the values of indexes and hashes");
}

int RunWrite(const Cli& cli, const WriteFlags& flags, WriteMode mode) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  absl::Status status = CheckObject(to->info, mode);
  if (status.ok()) status = flags.bytes.Check(to->info);
  if (!status.ok()) return Report(status);
  if (mode == WriteMode::kUpsert && !to->info.schema.has_key()) mode = WriteMode::kAppend;
  return Writer(cli, *to, {mode, flags.bytes.format()}).Run(flags.arguments);
}

}  // namespace

void AddPut(Flags& program, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  Flags& verb = program.AddVerb("put", "Insert or replace keys, or rows of a table");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("pairs", flags->arguments,
           "key=value ..., of a table rows as CSV; or - for lines 'key value', or rows, of stdin")
      .Required();
  const Flag absent =
      verb.Add("--if-absent", flags->if_absent, "Insert; leave keys that are there");
  const Flag present = verb.Add("--if-present", flags->if_present, "Replace; create no key");
  const Flag compare = verb.Add(
      "--compare-and-set", flags->compare_and_set,
      "Replace values that are the expected ones: key=expected:value, or 'key expected value'");
  absent.Excludes(present).Excludes(compare);
  present.Excludes(compare);
  flags->bytes.AddTo(verb, /*with_raw=*/false);
  verb.SetFooter(
      "With a condition each key is tested and written in one step, and shown with the value that\n"
      "was there before. Keys that were not written make the exit code 1.\n"
      "Keys of two parts are written FIRST/SECOND. A row of a table has all columns, in the order\n"
      "of eris describe: an empty field is null, one of \"\" an empty string; large files are for\n"
      "eris import.\n"
      "One that begins with a minus and a letter stands behind --, as in: eris put rates -- "
      "-inf=1\n"
      "A string is what stands behind the =, or a file's content: key=@path (key=@@text begins\n"
      "with @); a line of stdin has a key, blanks, and the value up to its end.\n"
      "\n"
      "Examples:\n"
      "  eris put orders 1=370 2=781\n"
      "  awk '{print $1, $2}' pairs.txt | eris put orders -\n"
      "  eris put locks 7=1001 --if-absent\n"
      "  eris put rainfall 2024-02-29=12 2024-03-01=0\n"
      "  eris put visits 7/2024-02-29=3 8/2024-02-29=1\n"
      "  eris put heartbeats '2024-02-29 03:04:05=1'\n"
      "  eris put orders 1=370:371 --compare-and-set\n"
      "  eris put documents '1={\"name\": \"Ann\"}' 2=@two.json\n"
      "  jq -rc '\"\\(.id) \\(.)\"' all.json | eris put documents -\n"
      "  eris put keys 1=00ff1e --hex\n"
      "  eris put trades '7,2024-02-29,3.50,\"a, b\"' 8,2024-03-01,0.25,\n");
  verb.SetRun([flags, &cli] { return RunWrite(cli, *flags, flags->put_mode()); });
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
  verb.SetRun([flags, &cli] { return RunWrite(cli, *flags, WriteMode::kAdd); });
}

void AddErase(Flags& program, Cli& cli) {
  auto flags = std::make_shared<WriteFlags>();
  Flags& verb = program.AddVerb("erase",
                                "Remove keys, or of a table the rows with those keys; keys "
                                "that are not there are no error");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("keys", flags->arguments, "Keys, or - for one key a line of stdin").Required();
  verb.SetFooter(
      "Keys are written as in eris get: those of several columns with a / between them.\n"
      "\n"
      "Examples:\n"
      "  eris erase orders 1 2 3\n"
      "  eris erase lineitem 1/1 1/2\n"
      "  seq 1 2 1000 | eris erase orders -\n");
  verb.SetRun([flags, &cli] { return RunWrite(cli, *flags, WriteMode::kErase); });
}

}  // namespace eris::cli
