// Key and value rows, or keys alone, as a table or as a JSON array, written as they come. One
// thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_ROW_PRINTER_H_
#define ERIS_CLIENTS_CLI_TEXT_ROW_PRINTER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/cli/text/object_key.h"
#include "clients/cli/text/output.h"

namespace eris::cli {

class RowPrinter {
 public:
  // `keys`: the types of the keys that are shown.
  RowPrinter(Output& output, bool json, const KeyTypes& keys, bool keys_only = false)
      : output_(output), json_(json), keys_(keys), width_(KeyWidth(keys)) {
    output_.Write(json_       ? "["
                  : keys_only ? absl::StrFormat("%*s\n", width_, "KEY")
                              : absl::StrFormat("%*s  %20s\n", width_, "KEY", "VALUE"));
  }

  // Of a printer of keys only.
  void AddKey(const ObjectKey& key) {
    text_.clear();
    AppendObjectKey(keys_, key, &text_);
    if (!json_) return output_.Write(absl::StrFormat("%*s\n", width_, text_));
    output_.Write(absl::StrCat(first_ ? "\n" : ",\n", "  {\"key\": \"", text_, "\"}"));
    first_ = false;
  }

  // Without a value the key is missing: JSON shows null, the table leaves it out.
  void Add(const ObjectKey& key, std::optional<uint64_t> value) {
    text_.clear();
    AppendObjectKey(keys_, key, &text_);
    if (!json_) {
      if (value) output_.Write(absl::StrFormat("%*s  %20d\n", width_, text_, *value));
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
  const KeyTypes keys_;
  const int width_;
  std::string text_;
  bool first_ = true;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_ROW_PRINTER_H_
