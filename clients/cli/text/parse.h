// Text of the command line and of files as numbers and ranges. Pure functions; any thread.
// Errors: InvalidArgument, naming the text and what was expected.
#ifndef ERIS_CLIENTS_CLI_TEXT_PARSE_H_
#define ERIS_CLIENTS_CLI_TEXT_PARSE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/text/object_key.h"
#include "eris/types.h"

namespace eris::cli {

// Decimal digits alone, 0 to 2^64-1: no sign, no blank, no point.
bool ParseU64(absl::string_view text, uint64_t& value);
absl::StatusOr<uint64_t> ParseValue(absl::string_view text);

// Keys are read as text of their types (object_key.h) and come out encoded. "7=42" or "7 42" (any
// run of blanks), "7/2024-01-01=42".
absl::StatusOr<std::pair<ObjectKey, uint64_t>> ParseKeyValue(absl::string_view text,
                                                             const KeyTypes& types = {});

// A number to add, modulo 2^64: -2^63 to 2^64-1.
absl::StatusOr<uint64_t> ParseDelta(absl::string_view text);

// One key of a write. `expected` is 0 but for kCompareAndSet.
struct KeyWrite {
  ObjectKey key;
  uint64_t value = 0;
  uint64_t expected = 0;
};
// As ParseKeyValue. kAdd: the value is a delta. kCompareAndSet: "7=41:42" or "7 41 42", the
// expected value before the new one.
absl::StatusOr<KeyWrite> ParseWrite(WriteMode mode, absl::string_view text,
                                    const KeyTypes& types = {});

// "index" or "hash"; and back, of any other kind its number.
absl::StatusOr<ObjectKind> ParseKind(absl::string_view text);
std::string KindName(ObjectKind kind);
// "u64" or "bytes".
std::string ValueTypeName(ColumnType type);

// Of two-part keys the two below read first parts.
// "LO:HI", [LO, HI); "LO:" goes to the end of the key space.
absl::StatusOr<KeyRange> ParseRange(absl::string_view text, ColumnType type = ColumnType::kUint64);

// "10,20,30"
absl::StatusOr<std::vector<uint64_t>> ParseKeyList(absl::string_view text,
                                                   ColumnType type = ColumnType::kUint64);

// For Flag::Check: what is wrong with the text, or nothing.
std::string CheckNotEmpty(const std::string& text);
std::string CheckName(const std::string& text);  // names are UTF-8
std::string CheckU64(const std::string& text);

// "4GiB", "512 MiB", "64KiB", "4096".
absl::StatusOr<uint64_t> ParseBytes(absl::string_view text);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_PARSE_H_
