// Rows of keys and byte strings as a table or as a JSON array, written as they come. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_STRING_PRINTER_H_
#define ERIS_CLIENTS_CLI_TEXT_STRING_PRINTER_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/output.h"
#include "eris/key_text.h"

namespace eris::cli {

class StringPrinter {
 public:
  // `keys`: the type of the keys that are shown.
  StringPrinter(Output& output, bool json, ByteFormat format, ColumnType keys)
      : output_(output), json_(json), format_(format), keys_(keys) {
    output_.Write(json_ ? "[" : absl::StrFormat("%20s  %s\n", "KEY", "VALUE"));
  }
  // Without a value the key is missing: JSON shows null, the table leaves it out.
  void Add(uint64_t key, std::optional<absl::string_view> value) {
    text_.clear();
    AppendKeyText(keys_, key, &text_);
    if (!json_) {
      if (value) output_.Write(absl::StrFormat("%20s  %s\n", text_, ShowBytes(format_, *value)));
      return;
    }
    output_.Write(absl::StrCat(first_ ? "\n" : ",\n", "  {\"key\": \"", text_, "\", ",
                               value ? ToJsonMember(format_, "value", *value) : "\"value\": null",
                               "}"));
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

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_STRING_PRINTER_H_
