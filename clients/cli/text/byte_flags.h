// The text form of columns of strings and bytes. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_BYTE_FLAGS_H_
#define ERIS_CLIENTS_CLI_TEXT_BYTE_FLAGS_H_

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/flags.h"
#include "eris/types.h"

namespace eris::cli {

struct ByteFlags {
  bool hex = false;  // at most one of these three
  bool base64 = false;
  bool raw = false;  // get: one value, unchanged

  // --hex and --base64; --raw only for get.
  void AddTo(Flags& verb, bool with_raw) {
    const Flag digits = verb.Add("--hex", hex, "Strings and bytes as hexadecimal digits");
    const Flag base = verb.Add("--base64", base64, "Strings and bytes as base64").Excludes(digits);
    if (!with_raw) return;
    verb.Add("--raw", raw, "The string of one key as it is, nothing else")
        .Excludes(digits)
        .Excludes(base);
  }
  ByteFormat format() const {
    return hex ? ByteFormat::kHex : base64 ? ByteFormat::kBase64 : ByteFormat::kText;
  }
  // Errors: InvalidArgument if one is given for an object without strings.
  absl::Status Check(const ObjectInfo& object) const {
    const auto& columns = object.schema.columns;
    const bool strings = std::any_of(columns.begin(), columns.end(), [](const ColumnSchema& one) {
      return IsByteString(one.type);
    });
    if (strings || !(hex || base64 || raw)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", object.name,
        "\" has no column of strings or bytes; --hex, --base64 and --raw are for those"));
  }
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_BYTE_FLAGS_H_
