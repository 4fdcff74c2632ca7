#include "clients/cli/conditional_write.h"

#include <cstdio>
#include <iostream>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/table_verbs.h"
#include "clients/cli/text/exit_code.h"
#include "clients/cli/text/key_input.h"
#include "clients/cli/text/output.h"
#include "clients/cli/text/parse.h"
#include "clients/cli/text/row_printer.h"

namespace eris::cli {
namespace {

// Rows of a put with a condition, written as they come.
class OutcomePrinter {
 public:
  OutcomePrinter(Output& output, bool json, const KeyTypes& keys)
      : output_(output), json_(json), keys_(keys), width_(KeyWidth(keys)) {
    output_.Write(json_ ? "["
                        : absl::StrFormat("%*s  %7s  %20s\n", width_, "KEY", "WRITTEN", "BEFORE"));
  }
  void Add(const ObjectKey& key, bool written, std::optional<uint64_t> before) {
    const std::string text = ObjectKeyText(keys_, key);
    if (!json_) {
      const std::string shown = before ? absl::StrCat(*before) : "-";
      output_.Write(
          absl::StrFormat("%*s  %7s  %20s\n", width_, text, written ? "yes" : "no", shown));
      return;
    }
    const std::string shown = before ? absl::StrCat("\"", *before, "\"") : "null";
    output_.Write(absl::StrCat(first_ ? "\n" : ",\n", "  {\"key\": \"", text, "\", \"written\": ",
                               written ? "true" : "false", ", \"before\": ", shown, "}"));
    first_ = false;
  }
  void End() {
    if (json_) output_.Write(first_ ? "]\n" : "\n]\n");
  }

 private:
  Output& output_;
  const bool json_;
  const KeyTypes keys_;
  const int width_;
  bool first_ = true;
};

// One run of the verb.
class ConditionalWriter {
 public:
  ConditionalWriter(const Cli& cli, WriteMode mode, const std::string& object, const KeyTypes& keys)
      : cli_(cli), mode_(mode), object_(object), key_type_(keys), keys_(keys) {}

  int Run(client::Client& client, const std::vector<std::string>& arguments) {
    absl::Status status;
    ArgumentReader reader(arguments, std::cin);
    std::string text;
    for (bool more = true; more && status.ok() && output_.open();) {
      more = reader.Next(text);
      if (more) {
        const auto write = ParseWrite(mode_, text, key_type_);
        if (!write.ok()) {
          status = write.status();
          break;
        }
        keys_.Add(write->key);
        values_.push_back(write->value);
        if (mode_ == WriteMode::kCompareAndSet) expected_.push_back(write->expected);
      }
      if (keys_.empty() || (more && keys_.size() < kKeysPerRequest)) continue;
      status = SendBatch(client);
    }
    if (sums_) sums_->End();
    if (outcomes_) outcomes_->End();
    if (!status.ok()) {
      return output_.Finish(
          Report(sent_ == 0 ? status
                            : absl::Status(status.code(), absl::StrCat(status.message(), " (after ",
                                                                       sent_, " keys)"))));
    }
    return output_.Finish(missed_ == 0 ? kExitOk : kExitNotFound);
  }

 private:
  absl::Status SendBatch(client::Client& client) {
    const auto result =
        client.Write(object_, mode_, keys_.columns(), values_, expected_, key_type_);
    if (!result.ok()) return result.status();
    // From the first answer: an error prints no empty table.
    if (mode_ == WriteMode::kAdd) {
      if (!sums_) sums_.emplace(output_, cli_.json(), key_type_);
    } else if (!outcomes_) {
      outcomes_.emplace(output_, cli_.json(), key_type_);
    }
    for (size_t i = 0; i < keys_.size(); ++i) Print(*result, i);
    sent_ += keys_.size();
    keys_.clear();
    values_.clear();
    expected_.clear();
    return result->refusal;
  }

  void Print(const client::WriteResult& result, size_t i) {
    if (!result.executed[i]) {
      std::fprintf(stderr, "eris: key %s: refused, not changed\n",
                   ObjectKeyText(key_type_, keys_[i]).c_str());
      return;
    }
    if (sums_) return sums_->Add(keys_[i], result.values[i]);
    if (!result.applied[i]) ++missed_;
    const auto before =
        result.existed[i] ? std::optional<uint64_t>(result.values[i]) : std::nullopt;
    outcomes_->Add(keys_[i], result.applied[i], before);
  }

  const Cli& cli_;
  const WriteMode mode_;
  const std::string& object_;
  const KeyTypes key_type_;
  Output output_;
  std::optional<RowPrinter> sums_;
  std::optional<OutcomePrinter> outcomes_;
  KeyBatch keys_;  // of the request at hand, with the next two
  std::vector<uint64_t> values_, expected_;
  uint64_t sent_ = 0;
  uint64_t missed_ = 0;  // keys whose condition did not hold
};

}  // namespace

int RunConditionalWrite(const Cli& cli, WriteMode mode, const std::string& object,
                        const std::vector<std::string>& arguments) {
  const auto to = cli.ConnectTo(object);
  if (!to.ok()) return Report(to.status());
  const absl::Status no_table =
      CheckNoTable(to->info, "counters and conditions are for the values of indexes and hashes");
  if (!no_table.ok()) return Report(no_table);
  return ConditionalWriter(cli, mode, object, to->info.key_type).Run(*to->client, arguments);
}

}  // namespace eris::cli
