#include "engine/objects/boundaries.h"

#include <algorithm>
#include <numeric>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "eris/key_encoding.h"
#include "eris/key_text.h"
#include "storage/table/exact_number.h"

namespace eris::engine {
namespace {

// Real dates lie close together among all that there are: even pieces of all would put them on one
// AEU.
constexpr KeyRange kDatesExpected =
    DateRange(static_cast<int32_t>(absl::CivilDay(1900, 1, 1) - kDateEpoch),
              static_cast<int32_t>(absl::CivilDay(2100, 1, 1) - kDateEpoch));

// What a message calls a bound.
using BoundText = absl::FunctionRef<std::string(uint64_t)>;

absl::StatusOr<std::vector<uint64_t>> Starts(const CreateOptions& options, uint32_t aeus,
                                             BoundText text) {
  std::vector<uint64_t> starts{0};
  const ColumnType type = options.key_type.first;
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
        return absl::InvalidArgumentError(
            absl::StrCat("split points must be above ", text(LowestKey(type)), ", up to ",
                         text(HighestKey(type)), " and strictly ascending: ", text(point),
                         " comes after ", text(before)));
      }
      starts.push_back(point);
    }
    return starts;
  }
  const bool any_date = type == ColumnType::kDate && options.expected == KeyRange{};
  const KeyRange& expected = any_date ? kDatesExpected : options.expected;
  if (expected.Empty()) {
    return absl::InvalidArgumentError(absl::StrCat("the expected range [", text(expected.lo), ", ",
                                                   text(*expected.hi), ") holds no key"));
  }
  __extension__ using Wide = unsigned __int128;
  // What no key of the type can be is no part of the range.
  const Wide end = expected.hi ? std::min(Wide{*expected.hi}, Wide{HighestKey(type)} + 1)
                               : Wide{HighestKey(type)} + 1;
  const uint64_t lo = std::max(expected.lo, LowestKey(type));
  if (end <= lo) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the expected range begins at ", text(expected.lo), ", which is no ", KeyTypeRange(type)));
  }
  const Wide width = end - lo;
  const uint32_t pieces = width < aeus ? static_cast<uint32_t>(width) : aeus;
  for (uint32_t i = 1; i < pieces; ++i) {
    starts.push_back(static_cast<uint64_t>(lo + width * i / pieces));
  }
  return starts;
}

// Heads of keys, in the values of the first key column.
std::string HeadText(const ColumnSchema& column, uint64_t head) {
  constexpr int kNarrowShift = 32;  // narrow values stand at the top of the word
  switch (column.type) {
    case ColumnType::kInt32:
      return absl::StrCat(DateFromKey(head >> kNarrowShift));
    case ColumnType::kDate:
      return DateText(DateFromKey(head >> kNarrowShift));
    case ColumnType::kInt64:
      return absl::StrCat(Int64FromKey(head));
    case ColumnType::kDecimal:
      return storage::DecimalText(Int64FromKey(head), column.scale);
    case ColumnType::kFloat64:
      return KeyText(ColumnType::kFloat64, head);
    default:
      return absl::StrCat(head);
  }
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> InitialStarts(const CreateOptions& options, uint32_t aeus) {
  return Starts(options, aeus, [&](uint64_t key) { return KeyText(options.key_type.first, key); });
}

absl::StatusOr<std::vector<uint64_t>> InitialTableStarts(const Schema& schema,
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
  const ColumnSchema& first = schema.columns[schema.key[0]];
  if (first.type == ColumnType::kFloat64) words.key_type = ColumnType::kFloat64;  // no NaN
  if (!bounds && first.type == ColumnType::kDate) {
    words.expected = {kDatesExpected.lo << 32, *kDatesExpected.hi << 32};
  }
  return Starts(words, aeus, [&](uint64_t head) { return HeadText(first, head); });
}

}  // namespace eris::engine
