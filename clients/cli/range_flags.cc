#include "clients/cli/range_flags.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "clients/cli/parse.h"

namespace eris::cli {
namespace {

// Leaves `key` as it is where the option was not given. Values are read as u64 keys are.
absl::Status Read(absl::string_view option, const std::string& text, KeyType type, uint64_t& key) {
  if (text.empty()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> read = ParseKey(text, type);
  if (!read.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", read.status().message()));
  }
  key = *read;
  return absl::OkStatus();
}

}  // namespace

void RangeFlags::AddTo(CLI::App& verb) {
  verb.add_option("--from", from, "First key; default: from the lowest");
  verb.add_option("--to", to, "First key behind the range; default: to the end");
  verb.add_option("--min-value", min_value, "Only rows whose value is not below it");
  verb.add_option("--max-value", max_value, "Only rows whose value is not above it");
}

absl::StatusOr<KeyRange> RangeFlags::Keys(KeyType type) const {
  KeyRange range;
  if (absl::Status status = Read("--from", from, type, range.lo); !status.ok()) return status;
  if (to.empty()) return range;
  uint64_t hi = 0;
  if (absl::Status status = Read("--to", to, type, hi); !status.ok()) return status;
  range.hi = hi;
  return range;
}

absl::StatusOr<std::optional<ValueRange>> RangeFlags::Values() const {
  if (min_value.empty() && max_value.empty()) return std::optional<ValueRange>();
  ValueRange values;
  if (absl::Status status = Read("--min-value", min_value, KeyType::kUint64, values.lo);
      !status.ok())
    return status;
  if (absl::Status status = Read("--max-value", max_value, KeyType::kUint64, values.last);
      !status.ok()) {
    return status;
  }
  return std::optional<ValueRange>(values);
}

}  // namespace eris::cli
