#include "clients/cli/range_flags.h"

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/text/parse.h"
#include "eris/key_text.h"

namespace eris::cli {
namespace {

// Leaves `out` unchanged if the option was not given.
template <class T>
absl::Status Read(absl::string_view option, const std::string& text, absl::StatusOr<T> read,
                  T& out) {
  if (text.empty()) return absl::OkStatus();
  if (!read.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(option, ": ", read.status().message()));
  }
  out = *read;
  return absl::OkStatus();
}

}  // namespace

void RangeFlags::AddTo(Flags& verb) {
  verb.Add("--from", from,
           "First key; default: from the lowest. Of two-part keys FIRST/SECOND, or FIRST")
      .Check(CheckNotEmpty);
  verb.Add("--to", to, "First key behind the range; default: to the end").Check(CheckNotEmpty);
  verb.Add("--min-value", min_value, "Only rows whose value is not below it").Check(CheckNotEmpty);
  verb.Add("--max-value", max_value, "Only rows whose value is not above it").Check(CheckNotEmpty);
}

absl::StatusOr<KeyRange> RangeFlags::Keys(const Schema& schema) const {
  KeyBound lo, hi;
  absl::Status status = Read("--from", from, ParseBound(from, schema), lo);
  if (status.ok()) status = Read("--to", to, ParseBound(to, schema), hi);
  if (!status.ok()) return status;
  KeyRange range{.lo = lo.first, .hi = std::nullopt, .lo_second = lo.second};
  if (to.empty()) return range;
  range.hi = hi.first;
  range.hi_second = hi.second;
  if (hi < lo) {
    return absl::InvalidArgumentError(
        absl::StrCat("inverted range: --to ", to, " is below --from ", from));
  }
  return range;
}

absl::StatusOr<std::optional<ValueRange>> RangeFlags::Values() const {
  if (min_value.empty() && max_value.empty()) return std::optional<ValueRange>();
  ValueRange values;
  const auto number = [](const std::string& text) {
    return KeyFromText(ColumnType::kUint64, text);
  };
  absl::Status status = Read("--min-value", min_value, number(min_value), values.lo);
  if (status.ok()) status = Read("--max-value", max_value, number(max_value), values.last);
  if (!status.ok()) return status;
  if (values.Inverted()) {
    return absl::InvalidArgumentError(absl::StrCat("inverted range: --max-value ", max_value,
                                                   " is below --min-value ", min_value));
  }
  return std::optional<ValueRange>(values);
}

}  // namespace eris::cli
