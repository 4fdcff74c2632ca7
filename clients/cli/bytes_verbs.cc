#include "clients/cli/bytes_verbs.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/string_printer.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

// Keys of one look-up, and bytes of one write: an answer is as long as its values, and servers take
// messages of 32 MiB unless told otherwise.
constexpr size_t kKeysAtOnce = 4096;
constexpr size_t kBytesAtOnce = 8 << 20;

// Rows of a put with a condition.
class OutcomePrinter {
 public:
  OutcomePrinter(Output& output, bool json, ByteFormat format, ColumnType keys)
      : output_(output), json_(json), format_(format), keys_(keys) {
    output_.Write(json_ ? "[" : absl::StrFormat("%20s  %7s  %s\n", "KEY", "WRITTEN", "BEFORE"));
  }
  void Add(uint64_t key, bool written, std::optional<absl::string_view> before) {
    text_.clear();
    AppendKeyText(keys_, key, &text_);
    if (!json_) {
      output_.Write(absl::StrFormat("%20s  %7s  %s\n", text_, written ? "yes" : "no",
                                    before ? ShowBytes(format_, *before) : "-"));
      return;
    }
    output_.Write(
        absl::StrCat(first_ ? "\n" : ",\n", "  {\"key\": \"", text_,
                     "\", \"written\": ", written ? "true" : "false", ", ",
                     before ? ToJsonMember(format_, "before", *before) : "\"before\": null", "}"));
    first_ = false;
  }
  void End() {
    if (json_) output_.Write(first_ ? "]\n" : "\n]\n");
  }

 private:
  Output& output_;
  const bool json_;
  const ByteFormat format_;
  const ColumnType keys_;
  std::string text_;
  bool first_ = true;
};

// One run of get.
class Getter {
 public:
  Getter(const Cli& cli, const Cli::ObjectClient& to, const BytesFlags& flags)
      : cli_(cli),
        client_(*to.client),
        object_(to.info.name),
        type_(to.info.key_type.first),
        flags_(flags) {}

  int Run(const std::vector<std::string>& arguments) {
    ArgumentReader reader(arguments, std::cin);
    absl::Status status;
    std::string text;
    for (bool more = true; more && status.ok() && output_.open();) {
      more = reader.Next(text);
      if (more) {
        const auto key = ParseKey(absl::StripAsciiWhitespace(text), type_);
        if (!key.ok()) {
          status = key.status();
          break;
        }
        keys_.push_back(key->first);
        if (flags_.raw && keys_.size() + asked_ > 1) {
          status = absl::InvalidArgumentError("--raw shows the value of one key");
          break;
        }
      }
      if (!keys_.empty() && (!more || keys_.size() == kKeysAtOnce)) status = Ask();
    }
    if (rows_) rows_->End();
    if (!status.ok()) return output_.Finish(Report(status));
    return output_.Finish(missing_ == 0 ? kExitOk : kExitNotFound);
  }

 private:
  // In pieces whose values fit an answer.
  absl::Status Ask() {
    size_t done = 0;
    while (done < keys_.size() && output_.open()) {
      const auto keys = absl::MakeConstSpan(keys_).subspan(done, at_once_);
      const auto result = client_.LookupBytes(object_, keys, 0, type_);
      if (!result.ok()) return result.status();
      if (!result->refusal.ok()) {
        if (keys.size() == 1) return result->refusal;
        at_once_ = keys.size() / 2;
        continue;
      }
      for (size_t i = 0; i < keys.size(); ++i) Show(keys[i], *result, i);
      done += keys.size();
    }
    asked_ += keys_.size();
    keys_.clear();
    at_once_ = std::min(2 * at_once_, kKeysAtOnce);
    return absl::OkStatus();
  }

  void Show(uint64_t key, const client::BytesLookupResult& result, size_t i) {
    if (!result.found[i]) {
      ++missing_;
      if (flags_.raw || !cli_.json()) {
        std::fprintf(stderr, "eris: key %s: not found\n", KeyText(type_, key).c_str());
      }
    }
    if (flags_.raw) return output_.Write(result.values[i]);
    // From the first answer: an error prints no empty table.
    if (!rows_) rows_.emplace(output_, cli_.json(), flags_.format(), type_);
    rows_->Add(key, result.found[i] ? std::optional(result.values[i]) : std::nullopt);
  }

  const Cli& cli_;
  client::Client& client_;
  const std::string& object_;
  const ColumnType type_;
  const BytesFlags& flags_;
  Output output_;
  std::optional<StringPrinter> rows_;
  std::vector<uint64_t> keys_;  // not asked for yet
  size_t at_once_ = kKeysAtOnce;
  uint64_t asked_ = 0;
  uint64_t missing_ = 0;
};

// One run of put.
class Putter {
 public:
  Putter(const Cli& cli, const Cli::ObjectClient& to, std::optional<WriteMode> mode,
         const BytesFlags& flags)
      : cli_(cli),
        client_(*to.client),
        mode_(mode),
        object_(to.info.name),
        type_(to.info.key_type.first),
        flags_(flags) {}

  int Run(const std::vector<std::string>& arguments) {
    ArgumentReader reader(arguments, std::cin);
    absl::Status status;
    std::string text;
    for (bool more = true; more && status.ok() && output_.open();) {
      more = reader.Next(text);
      if (more) status = Add(text, reader.from_input());
      if (!status.ok()) break;
      const bool full = keys_.size() == kKeysPerRequest || bytes_ >= kBytesAtOnce;
      if (!keys_.empty() && (!more || full)) status = Send();
    }
    if (outcomes_) outcomes_->End();
    if (!status.ok()) {
      return output_.Finish(
          Report(sent_ == 0 ? status
                            : absl::Status(status.code(), absl::StrCat(status.message(), " (after ",
                                                                       sent_, " keys)"))));
    }
    if (!mode_) PrintCounts();
    return output_.Finish(missed_ == 0 ? kExitOk : kExitNotFound);
  }

 private:
  absl::StatusOr<std::string> Value(absl::string_view text, bool from_input) const {
    return from_input ? ParseByteText(flags_.format(), text)
                      : ParseByteArgument(flags_.format(), text);
  }

  absl::Status Add(absl::string_view text, bool from_input) {
    const auto pair = ParseBytePair(text, type_);
    if (!pair.ok()) return pair.status();
    absl::string_view value_text = pair->value;
    if (mode_ == WriteMode::kCompareAndSet) {
      const size_t colon = value_text.find(':');
      if (colon == absl::string_view::npos) {
        return absl::InvalidArgumentError(absl::StrCat(
            "key ", KeyText(type_, pair->key), ": expected key=expected:value, there is no colon"));
      }
      auto expected = Value(value_text.substr(0, colon), from_input);
      if (!expected.ok()) return expected.status();
      bytes_ += expected->size();
      expected_.push_back(*std::move(expected));
      value_text.remove_prefix(colon + 1);
    }
    auto value = Value(value_text, from_input);
    if (!value.ok()) return value.status();
    bytes_ += value->size();
    keys_.push_back(pair->key);
    values_.push_back(*std::move(value));
    return absl::OkStatus();
  }

  absl::Status Send() {
    const std::vector<absl::string_view> values(values_.begin(), values_.end());
    const std::vector<absl::string_view> expected(expected_.begin(), expected_.end());
    absl::Status refusal;
    if (mode_) {
      const auto result = client_.WriteBytes(object_, *mode_, keys_, values, expected, type_);
      if (!result.ok()) return result.status();
      if (!outcomes_) outcomes_.emplace(output_, cli_.json(), flags_.format(), type_);
      for (size_t i = 0; i < keys_.size(); ++i) Show(*result, i);
      refusal = result->refusal;
    } else {
      const auto existed = client_.UpsertBytes(object_, keys_, values, type_);
      if (!existed.ok()) return existed.status();
      replaced_ += existed->Count();
    }
    sent_ += keys_.size();
    keys_.clear();
    values_.clear();
    expected_.clear();
    bytes_ = 0;
    return refusal;
  }

  void Show(const client::BytesWriteResult& result, size_t i) {
    if (!result.executed[i]) {
      std::fprintf(stderr, "eris: key %s: refused, not changed\n",
                   KeyText(type_, keys_[i]).c_str());
      return;
    }
    if (!result.applied[i]) ++missed_;
    outcomes_->Add(keys_[i], result.applied[i],
                   result.existed[i] ? std::optional(result.values[i]) : std::nullopt);
  }

  void PrintCounts() {
    if (cli_.json()) {
      output_.WriteJson(
          Json{{"keys", std::to_string(sent_)}, {"replaced", std::to_string(replaced_)}});
    } else {
      output_.Write(absl::StrCat(sent_, " keys put, ", replaced_, " replaced\n"));
    }
  }

  const Cli& cli_;
  client::Client& client_;
  const std::optional<WriteMode> mode_;
  const std::string& object_;
  const ColumnType type_;
  const BytesFlags& flags_;
  Output output_;
  std::optional<OutcomePrinter> outcomes_;
  std::vector<uint64_t> keys_;  // of the request at hand, with the next three
  std::vector<std::string> values_, expected_;
  size_t bytes_ = 0;
  uint64_t sent_ = 0;
  uint64_t replaced_ = 0;
  uint64_t missed_ = 0;  // keys whose condition did not hold
};

}  // namespace

void AddBytesFlags(Flags& verb, BytesFlags& flags, bool raw) {
  const Flag hex = verb.Add("--hex", flags.hex, "Byte strings as hexadecimal digits");
  const Flag base64 = verb.Add("--base64", flags.base64, "Byte strings as base64");
  base64.Excludes(hex);
  if (!raw) return;
  verb.Add("--raw", flags.raw, "The byte string of one key as it is, nothing else")
      .Excludes(hex)
      .Excludes(base64);
}

absl::Status CheckNoBytesFlags(const BytesFlags& flags, const std::string& object) {
  if (!flags.any()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("values of object \"", object,
                                                 "\" are u64; --hex, --base64 and --raw are for ",
                                                 "byte strings"));
}

int RunGetBytes(const Cli& cli, const Cli::ObjectClient& to,
                const std::vector<std::string>& arguments, const BytesFlags& flags) {
  return Getter(cli, to, flags).Run(arguments);
}

int RunPutBytes(const Cli& cli, const Cli::ObjectClient& to, std::optional<WriteMode> mode,
                const std::vector<std::string>& arguments, const BytesFlags& flags) {
  return Putter(cli, to, mode, flags).Run(arguments);
}

}  // namespace eris::cli
