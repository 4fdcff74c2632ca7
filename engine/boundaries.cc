#include "engine/boundaries.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"

namespace eris::engine {
namespace {

// Real dates lie close together among all that there are: even pieces of all would put them on one
// AEU.
constexpr KeyRange kDatesExpected =
    DateRange(static_cast<int32_t>(absl::CivilDay(1900, 1, 1) - kDateEpoch),
              static_cast<int32_t>(absl::CivilDay(2100, 1, 1) - kDateEpoch));

}  // namespace

absl::StatusOr<std::vector<uint64_t>> InitialStarts(const CreateOptions& options, uint32_t aeus) {
  std::vector<uint64_t> starts{0};
  const KeyType type = options.key_type.first;
  if (options.expected.lo_second != 0 || options.expected.hi_second != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the expected range is one of first parts: its second parts are ",
        options.expected.lo_second, " and ", options.expected.hi_second, ", must be 0"));
  }
  if (!options.split_points.empty()) {
    if (options.split_points.size() >= kPartitionsMax) {
      return absl::InvalidArgumentError(absl::StrCat(
          "at most ", kPartitionsMax - 1, " split points, got ", options.split_points.size()));
    }
    for (const uint64_t point : options.split_points) {
      const uint64_t before = std::max(starts.back(), LowestKey(type));
      if (point <= before || point > HighestKey(type)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "split points must be above ", KeyText(type, LowestKey(type)), ", up to ",
            KeyText(type, HighestKey(type)), " and strictly ascending: ", KeyText(type, point),
            " comes after ", KeyText(type, before)));
      }
      starts.push_back(point);
    }
    return starts;
  }
  const bool any_date = type == KeyType::kDate && options.expected == KeyRange{};
  const KeyRange& expected = any_date ? kDatesExpected : options.expected;
  if (expected.Empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the expected range [",
                                                   KeyText(type, expected.lo), ", ",
                                                   KeyText(type, *expected.hi), ") holds no key"));
  }
  __extension__ using Wide = unsigned __int128;
  // What no key of the type can be is no part of the range.
  const Wide end = expected.hi ? std::min(Wide{*expected.hi}, Wide{HighestKey(type)} + 1)
                               : Wide{HighestKey(type)} + 1;
  const uint64_t lo = std::max(expected.lo, LowestKey(type));
  if (end <= lo) {
    return absl::InvalidArgumentError(absl::StrCat("the expected range begins at ",
                                                   KeyText(type, expected.lo), ", which is no ",
                                                   KeyTypeRange(type)));
  }
  const Wide width = end - lo;
  const uint32_t pieces = width < aeus ? static_cast<uint32_t>(width) : aeus;
  for (uint32_t i = 1; i < pieces; ++i) {
    starts.push_back(static_cast<uint64_t>(lo + width * i / pieces));
  }
  return starts;
}

absl::StatusOr<std::vector<uint64_t>> InitialTableStarts(const TableSchema& schema,
                                                         const TableOptions& options,
                                                         uint32_t aeus) {
  const bool bounds = options.expected != KeyRange{} || !options.split_points.empty();
  if (!schema.clustered()) {
    if (bounds) {
      return absl::InvalidArgumentError("a heap table has no key: it takes no bounds");
    }
    std::vector<uint64_t> starts(aeus);
    std::iota(starts.begin(), starts.end(), 0);
    return starts;
  }
  CreateOptions words{.expected = options.expected, .split_points = options.split_points};
  if (!bounds && schema.columns[schema.key[0]].type == ColumnType::kDate) {
    words.expected = {kDatesExpected.lo << 32, *kDatesExpected.hi << 32};
  }
  return InitialStarts(words, aeus);
}

}  // namespace eris::engine
