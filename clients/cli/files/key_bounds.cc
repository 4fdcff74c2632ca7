#include "clients/cli/files/key_bounds.h"

#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/schema_text.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "text/expression_text.h"

namespace eris::cli {
namespace {

constexpr int kNarrowShift = 32;

bool IsNarrow(ObjectKind kind, const ColumnSchema& column) {
  return kind == ObjectKind::kTable && ColumnValueBytes(column.type) == sizeof(uint32_t);
}

// The colon between two bounds: timestamps have further ones.
size_t SeparatorOf(absl::string_view text, const ColumnSchema& column) {
  uint64_t word = 0;
  const auto divides = [&](size_t colon) {
    const absl::string_view hi = text.substr(colon + 1);
    return ParseWord(column, text.substr(0, colon), word) &&
           (hi.empty() || ParseWord(column, hi, word));
  };
  size_t colon = text.find(':');
  while (colon != text.npos && !divides(colon)) colon = text.find(':', colon + 1);
  return colon;
}

absl::StatusOr<KeyRange> ParseRange(absl::string_view text, const ColumnSchema& column) {
  const size_t colon = SeparatorOf(text, column);
  KeyRange range;
  uint64_t hi = 0;
  if (colon == text.npos || !ParseWord(column, text.substr(0, colon), range.lo) ||
      (colon + 1 < text.size() && !ParseWord(column, text.substr(colon + 1), hi))) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no range; expected LO:HI (HI not included) or LO:, each a ",
                     ColumnRangeText(column, /*key=*/true)));
  }
  if (colon + 1 < text.size()) range.hi = hi;
  if (!range.Empty()) return range;
  return absl::InvalidArgumentError(absl::StrCat("the expected range [", WordText(column, range.lo),
                                                 ", ", WordText(column, hi), ") holds no key"));
}

}  // namespace

bool ParseWord(const ColumnSchema& column, absl::string_view text, uint64_t& word) {
  char cell[8];
  if (!ParseCell(column, text, cell)) return false;
  return VisitColumnType(column.type, [&]<class T>(ColumnTraits<T>) {
    if constexpr (std::is_arithmetic_v<T>) {
      T value;
      std::memcpy(&value, cell, sizeof(value));
      if constexpr (std::is_floating_point_v<T>) {
        if (IsNan(value)) return false;
      }
      word = EncodeKey(value);
    }
    return true;
  });
}

absl::StatusOr<uint64_t> WordFromText(const ColumnSchema& column, absl::string_view text) {
  uint64_t word = 0;
  if (ParseWord(column, text, word)) return word;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no ", ColumnRangeText(column, /*key=*/true)));
}

std::string WordText(const ColumnSchema& column, uint64_t word) {
  if (column.type != ColumnType::kDecimal) {
    return KeyText(NearestKeyType(column.type), NearestKey(column.type, word));
  }
  std::string text;
  text::AppendDecimal(Int64FromKey(word), column.scale, &text);
  return text;
}

uint64_t CutOf(ObjectKind kind, const ColumnSchema& column, uint64_t word) {
  return IsNarrow(kind, column) ? word << kNarrowShift : word;
}
uint64_t WordOfCut(ObjectKind kind, const ColumnSchema& column, uint64_t cut) {
  return IsNarrow(kind, column) ? cut >> kNarrowShift : cut;
}

absl::Status SetBounds(absl::string_view expect, absl::string_view split, CreateOptions& options) {
  if (expect.empty() && split.empty()) return absl::OkStatus();
  if (!options.schema.has_key()) {
    return absl::InvalidArgumentError("bounds are of a table's key: give --key");
  }
  const ColumnSchema& column = options.schema.columns[options.schema.key[0]];
  if (!expect.empty()) {
    const absl::StatusOr<KeyRange> range = ParseRange(expect, column);
    if (!range.ok()) return range.status();
    options.expected.lo = CutOf(options.kind, column, range->lo);
    if (range->hi) options.expected.hi = CutOf(options.kind, column, *range->hi);
    return absl::OkStatus();
  }
  for (const absl::string_view part : absl::StrSplit(split, ',')) {
    const absl::StatusOr<uint64_t> word = WordFromText(column, absl::StripAsciiWhitespace(part));
    if (!word.ok()) return word.status();
    options.split_points.push_back(CutOf(options.kind, column, *word));
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyBound> ParseBound(absl::string_view text, const Schema& schema) {
  const std::vector<absl::string_view> parts = absl::StrSplit(text, kKeyPartSeparator);
  if (parts.size() > schema.key.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' has ", parts.size(), " parts, the key has ", KeyForm(schema),
                     schema.key.size() > 1 ? ", or the first alone" : ""));
  }
  KeyBound bound;
  for (size_t i = 0; i < parts.size(); ++i) {
    const absl::StatusOr<uint64_t> word = WordFromText(schema.columns[schema.key[i]], parts[i]);
    if (!word.ok()) return word.status();
    (i == 0 ? bound.first : bound.second) = *word;
  }
  return bound;
}

std::string BoundText(const Schema& schema, const KeyBound& bound) {
  std::string text = WordText(schema.columns[schema.key[0]], bound.first);
  if (schema.key.size() == 1) return text;
  absl::StrAppend(&text, std::string(1, kKeyPartSeparator),
                  WordText(schema.columns[schema.key[1]], bound.second));
  return text;
}

}  // namespace eris::cli
