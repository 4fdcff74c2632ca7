#include "engine/objects/boundaries.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "storage/table/kernels/exact_number.h"

namespace eris::engine {
namespace {

// Real dates are close together among all possible dates: even pieces of all would put them on one
// AEU. The same holds for timestamps.
constexpr auto kFirstDay = static_cast<int32_t>(absl::CivilDay(1900, 1, 1) - kDateEpoch);
constexpr auto kDayBehind = static_cast<int32_t>(absl::CivilDay(2100, 1, 1) - kDateEpoch);
constexpr KeyRange kDatesExpected = DateRange(kFirstDay, kDayBehind);
constexpr KeyRange kTimestampsExpected =
    Int64Range(TimestampOfDay(kFirstDay), TimestampOfDay(kDayBehind));

// The words for values of the first key column: for an index as in key_encoding.h, for a table at
// the top of the word.
struct Words {
  const ColumnSchema& column;
  bool at_top;

  bool narrow() const { return at_top && ColumnValueBytes(column.type) == sizeof(int32_t); }
  ColumnType type() const { return narrow() ? ColumnType::kUint64 : column.type; }
  uint64_t lowest() const { return LowestKey(type()); }
  uint64_t highest() const { return HighestKey(type()); }
  // The expected keys if the creator has set none.
  KeyRange expected() const {
    if (column.type == ColumnType::kTimestamp) return kTimestampsExpected;
    if (column.type != ColumnType::kDate) return {};
    if (!narrow()) return kDatesExpected;
    return {kDatesExpected.lo << kNarrowShift, *kDatesExpected.hi << kNarrowShift};
  }
  // A word as text for messages.
  std::string Text(uint64_t word) const {
    if (column.type == ColumnType::kDecimal) {
      return storage::DecimalText(Int64FromKey(word), column.scale);
    }
    const uint64_t encoded = narrow() ? word >> kNarrowShift : word;
    return KeyText(NearestKeyType(column.type), NearestKey(column.type, encoded));
  }

  static constexpr int kNarrowShift = 32;
};

absl::StatusOr<std::vector<uint64_t>> FromSplitPoints(const std::vector<uint64_t>& points,
                                                      const Words& words) {
  if (points.size() >= kPartitionsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("at most ", kPartitionsMax - 1, " split points, got ", points.size()));
  }
  std::vector<uint64_t> starts{0};
  for (const uint64_t point : points) {
    const uint64_t before = std::max(starts.back(), words.lowest());
    if (point <= before || point > words.highest()) {
      return absl::InvalidArgumentError(
          absl::StrCat("split points must be above ", words.Text(words.lowest()), ", up to ",
                       words.Text(words.highest()), " and strictly ascending: ", words.Text(point),
                       " comes after ", words.Text(before)));
    }
    starts.push_back(point);
  }
  return starts;
}

absl::StatusOr<std::vector<uint64_t>> EvenPieces(const KeyRange& expected, const Words& words,
                                                 uint32_t aeus) {
  if (expected.Empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the expected range [", words.Text(expected.lo),
                                                   ", ", words.Text(*expected.hi),
                                                   ") holds no key"));
  }
  __extension__ using Wide = unsigned __int128;
  // Values that no key of the type can have are not part of the range.
  const Wide highest = Wide{words.highest()} + 1;
  const Wide end = expected.hi ? std::min(Wide{*expected.hi}, highest) : highest;
  const uint64_t lo = std::max(expected.lo, words.lowest());
  if (end <= lo) {
    return absl::InvalidArgumentError(absl::StrCat("the expected range begins at ",
                                                   words.Text(expected.lo), ", which is no ",
                                                   KeyTypeRange(words.column.type)));
  }
  const Wide width = end - lo;
  const uint32_t pieces = width < aeus ? static_cast<uint32_t>(width) : aeus;
  std::vector<uint64_t> starts{0};
  for (uint32_t i = 1; i < pieces; ++i) {
    starts.push_back(static_cast<uint64_t>(lo + width * i / pieces));
  }
  return starts;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> InitialStarts(const CreateOptions& options, uint32_t aeus) {
  const bool bounds = options.expected != KeyRange{} || !options.split_points.empty();
  if (options.kind == ObjectKind::kHeapTable) {
    if (bounds) {
      return absl::InvalidArgumentError("a heap table has no key: it takes no bounds");
    }
    std::vector<uint64_t> starts(aeus);
    std::iota(starts.begin(), starts.end(), 0);
    return starts;
  }
  if (options.expected.lo_second != 0 || options.expected.hi_second != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the expected range is one of first parts: its second parts are ",
        options.expected.lo_second, " and ", options.expected.hi_second, ", must be 0"));
  }
  const Words words{options.schema.columns[options.schema.key[0]],
                    options.kind == ObjectKind::kTable};
  if (!options.split_points.empty()) return FromSplitPoints(options.split_points, words);
  return EvenPieces(bounds ? options.expected : words.expected(), words, aeus);
}

}  // namespace eris::engine
