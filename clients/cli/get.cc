// eris get: rows by their keys.
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/row_printer.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/byte_flags.h"
#include "clients/cli/text/cli.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

// Keys of one lookup of strings, which bounds the length of an answer.
constexpr size_t kStringsPerRequest = 4096;

struct GetFlags {
  std::string object;
  std::vector<std::string> arguments;
  ByteFlags bytes;
};

// Rows [from, from + count) of fixed-width columns.
client::OwnedRows Slice(const client::OwnedRows& rows, uint64_t from, uint64_t count) {
  client::OwnedRows slice{.rows = count};
  for (const ColumnBuffers& column : rows.columns) {
    const size_t width = column.values.size() / rows.rows;
    slice.columns.emplace_back().values = column.values.substr(from * width, count * width);
  }
  return slice;
}

// One execution of the verb.
class Getter {
 public:
  Getter(const Cli& cli, const Cli::ObjectClient& to, const ByteFlags& flags)
      : client_(*to.client),
        object_(to.info),
        schema_(to.info.schema),
        raw_(flags.raw),
        printer_(output_, cli.json(), flags.format()) {
    for (const ColumnSchema& column : schema_.columns) {
      if (IsByteString(column.type)) at_once_ = kStringsPerRequest;
    }
    keys_max_ = at_once_;
  }

  int Run(const std::vector<std::string>& arguments) {
    ArgumentReader reader(arguments, std::cin);
    const auto take = [this](const std::string& text) {
      absl::Status status = AddKey(schema_, absl::StripAsciiWhitespace(text), keys_);
      if (status.ok() && raw_ && keys_.rows + asked_ > 1) {
        status = absl::InvalidArgumentError("--raw shows the string of one key");
      }
      return status;
    };
    const absl::Status status = reader.ForEach(output_, take, [this](bool last) {
      return keys_.rows > 0 && (last || keys_.rows == keys_max_) ? Ask() : absl::OkStatus();
    });
    if (!raw_ && (asked_ > 0 || status.ok())) printer_.End(schema_);
    if (!status.ok()) return output_.Finish(Report(status));
    return output_.Finish(missing_ == 0 ? kExitOk : kExitNotFound);
  }

 private:
  // In pieces whose strings fit in an answer.
  absl::Status Ask() {
    for (uint64_t done = 0; done < keys_.rows && output_.open();) {
      client::OwnedRows keys = Slice(keys_, done, std::min<uint64_t>(at_once_, keys_.rows - done));
      absl::StatusOr<client::LookupResult> result = client_.Lookup(object_, keys.view());
      if (!result.ok()) return result.status();
      if (!result->refusal.ok()) {
        if (keys.rows == 1) return result->refusal;
        at_once_ = keys.rows / 2;
        continue;
      }
      done += keys.rows;
      asked_ += keys.rows;
      Show(keys, *result);
    }
    keys_ = {};
    at_once_ = std::min(2 * at_once_, keys_max_);
    return absl::OkStatus();
  }

  void Show(client::OwnedRows& keys, client::LookupResult& result) {
    for (uint64_t row = 0; row < keys.rows; ++row) {
      if (result.found[row]) continue;
      ++missing_;
      std::cerr << "eris: key " << KeyTextOf(schema_, keys, row) << ": not found\n";
    }
    if (raw_) {
      if (result.found[0]) output_.Write(result.rows.GetString(0, 0));
      return;
    }
    // All columns, in their order.
    client::OwnedRows rows{.rows = keys.rows};
    auto value = result.rows.columns.begin();
    for (uint32_t i = 0; i < schema_.columns.size(); ++i) {
      const auto key = std::find(schema_.key.begin(), schema_.key.end(), i);
      rows.columns.push_back(
          std::move(key != schema_.key.end() ? keys.columns[key - schema_.key.begin()] : *value++));
    }
    printer_.Add(schema_, rows, &result.found);
  }

  client::Client& client_;
  const ObjectInfo& object_;
  const Schema& schema_;
  const bool raw_;
  Output output_;
  RowPrinter printer_;
  client::OwnedRows keys_;  // not requested
  size_t keys_max_ = 0;
  size_t at_once_ = kKeysPerRequest;
  uint64_t asked_ = 0;
  uint64_t missing_ = 0;
};

absl::Status CheckObject(const ObjectInfo& object, const ByteFlags& flags) {
  if (!object.schema.has_key()) {
    return absl::FailedPreconditionError(absl::StrCat("table ", object.name,
                                                      " has no key to name rows by; eris scan ",
                                                      object.name, " --filter shows some"));
  }
  if (flags.raw && object.schema.columns.size() - object.schema.key.size() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--raw shows one string, and rows of ", object.name, " have ", ValuesText(object.schema)));
  }
  return flags.Check(object);
}

int RunGet(const Cli& cli, const GetFlags& flags) {
  const auto to = cli.ConnectTo(flags.object);
  if (!to.ok()) return Report(to.status());
  if (const absl::Status status = CheckObject(to->info, flags.bytes); !status.ok()) {
    return Report(status);
  }
  return Getter(cli, *to, flags.bytes).Run(flags.arguments);
}

}  // namespace

void AddGet(Flags& program, Cli& cli) {
  auto flags = std::make_shared<GetFlags>();
  Flags& verb = program.AddVerb("get", "Show the rows of keys");
  verb.Add("object", flags->object, "Name").Required().Check(CheckName);
  verb.Add("keys", flags->arguments, "Keys, or - for one key a line of stdin").Required();
  flags->bytes.AddTo(verb, /*with_raw=*/true);
  verb.SetFooter(
      "Keys are read and shown by the object's types (see eris create --help). One that begins "
      "with\n"
      "a minus and a letter stands behind --, as in: eris get rates -- -inf\n"
      "Keys of several columns are written with a / between them: FIRST/SECOND.\n"
      "Rows stand in the order of the keys. Missing keys are named on stderr (JSON: null in place "
      "of\n"
      "the row) and make the exit code 1.\n"
      "Strings are shown as text, with \\xNN for what is none; exact are --hex, --base64, --raw\n"
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
