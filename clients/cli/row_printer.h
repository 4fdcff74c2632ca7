// Key and value rows, or keys alone, as a table or as a JSON array, written as they come. One
// thread.
#ifndef ERIS_CLIENTS_CLI_ROW_PRINTER_H_
#define ERIS_CLIENTS_CLI_ROW_PRINTER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/output.h"
#include "eris/key_text.h"

namespace eris::cli {

class RowPrinter {
 public:
  // `keys`: the type of the keys that are shown.
  RowPrinter(Output& output, bool json, KeyType keys, bool keys_only = false)
      : output_(output), json_(json), keys_(keys) {
    output_.Write(json_       ? "["
                  : keys_only ? absl::StrFormat("%20s\n", "KEY")
                              : absl::StrFormat("%20s  %20s\n", "KEY", "VALUE"));
  }

  // Of a printer of keys only.
  void AddKey(uint64_t key) {
    text_.clear();
    AppendKeyText(keys_, key, &text_);
    if (!json_) return output_.Write(absl::StrFormat("%20s\n", text_));
    output_.Write(absl::StrCat(first_ ? "\n" : ",\n", "  {\"key\": \"", text_, "\"}"));
    first_ = false;
  }

  // Without a value the key is missing: JSON shows null, the table leaves it out.
  void Add(uint64_t key, std::optional<uint64_t> value) {
    text_.clear();
    AppendKeyText(keys_, key, &text_);
    if (!json_) {
      if (value) output_.Write(absl::StrFormat("%20s  %20d\n", text_, *value));
      return;
    }
    const std::string shown = value ? absl::StrCat("\"", *value, "\"") : "null";
    output_.Write(absl::StrCat(first_ ? "\n" : ",\n", "  {\"key\": \"", text_,
                               "\", \"value\": ", shown, "}"));
    first_ = false;
  }

  void End() {
    if (json_) output_.Write(first_ ? "]\n" : "\n]\n");
  }

 private:
  Output& output_;
  const bool json_;
  const KeyType keys_;
  std::string text_;
  bool first_ = true;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_ROW_PRINTER_H_
