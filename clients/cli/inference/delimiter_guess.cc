#include "clients/cli/inference/delimiter_guess.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "clients/cli/inference/value_types.h"

namespace eris::cli {
namespace {

constexpr std::array<char, 4> kDelimiters = {',', '\t', ';', '|'};
constexpr size_t kShapeRecordsMax = 200;

}  // namespace

std::vector<Record> RecordsOf(absl::string_view text, bool at_end, const DelimitedFormat& format,
                              size_t records_max, std::vector<size_t>* lines, size_t* bad) {
  size_t line = 1;
  std::vector<Record> records;
  std::vector<absl::string_view> fields;
  std::string scratch, reason;
  while (!text.empty() && records.size() < records_max) {
    size_t consumed = 0;
    const SplitResult result = SplitRecord(text, at_end, format, fields, scratch, consumed, reason);
    if (result == SplitResult::kNeedMore) break;
    const absl::string_view record = text.substr(0, consumed);
    const bool blank = record.find_first_not_of("\r\n") == text.npos;
    text.remove_prefix(consumed);
    if (result == SplitResult::kRecord && !blank) {
      records.emplace_back(fields.begin(), fields.end());
      if (lines != nullptr) lines->push_back(line);
    }
    if (bad != nullptr && result == SplitResult::kBad) ++*bad;
    line += static_cast<size_t>(std::count(record.begin(), record.end(), '\n'));
  }
  return records;
}

Shape ShapeOf(const std::vector<Record>& records) {
  std::vector<size_t> counts;
  for (const Record& record : records) {
    if (counts.size() <= record.size()) counts.resize(record.size() + 1);
    ++counts[record.size()];
  }
  Shape shape{.all = records.size()};
  for (size_t fields = 0; fields < counts.size(); ++fields) {
    if (counts[fields] >= shape.records && counts[fields] > 0) {
      shape.fields = fields;
      shape.records = counts[fields];
    }
  }
  return shape;
}

namespace {

// Whether a space divides all lines but the first, which may be a header, into as many fields, of
// which one is a number, or a date, in each. Otherwise spaces divide words, or the day and the time
// of a timestamp.
bool SpacesDivide(const FileSample& sample) {
  std::vector<Record> records =
      RecordsOf(sample.beginning, sample.is_whole, {.delimiter = ' '}, kShapeRecordsMax);
  if (records.size() < 2 || records[0].size() < 2) return false;
  records.erase(records.begin());
  const Shape shape = ShapeOf(records);
  if (shape.fields < 2 || shape.records < shape.all) return false;
  const auto is_timestamp = [](const Record& one) {
    return IsOf(ColumnType::kTimestamp, absl::StrJoin(one, " "));
  };
  if (std::all_of(records.begin(), records.end(), is_timestamp)) return false;
  for (size_t column = 0; column < shape.fields; ++column) {
    const auto is_number = [&](const Record& one) { return IsOfAny(one[column]); };
    if (std::all_of(records.begin(), records.end(), is_number)) return true;
  }
  return false;
}

// Whether commas are in fields, and all those fields are numbers with decimal commas.
bool CommasAreDecimal(const std::vector<Record>& records) {
  bool any = false;
  for (const Record& record : records) {
    for (const std::string& field : record) {
      if (!absl::StrContains(field, ',')) continue;
      if (!IsOf(ColumnType::kFloat64, field, {.decimal_comma = true})) return false;
      any = true;
    }
  }
  return any;
}

}  // namespace

DelimitedFormat FindDelimiter(const FileSample& sample, char escape) {
  DelimitedFormat best;
  Shape best_shape;
  for (const char delimiter : kDelimiters) {
    const DelimitedFormat format{.delimiter = delimiter, .escape = escape};
    const std::vector<Record> records =
        RecordsOf(sample.beginning, sample.is_whole, format, kShapeRecordsMax);
    const Shape shape = ShapeOf(records);
    if (shape.fields < 2) continue;
    const uint64_t here = shape.records * std::max<size_t>(best_shape.all, 1);
    const uint64_t there = best_shape.records * shape.all;
    const bool better =
        shape.fields > best_shape.fields || (best.delimiter == ',' && CommasAreDecimal(records));
    if (here > there || (here == there && better)) {
      best = format;
      best_shape = shape;
    }
  }
  best.escape = escape;
  if (best_shape.fields == 0 && SpacesDivide(sample)) best.delimiter = ' ';
  return best;
}

bool EscapesHelp(const FileSample& sample, DelimitedFormat format) {
  if (!format.quotes || format.escape != '\0') return false;
  if (!absl::StrContains(sample.beginning, "\\\"")) return false;
  size_t bad_without = 0, bad_with = 0;
  RecordsOf(sample.beginning, sample.is_whole, format, ~size_t{0}, nullptr, &bad_without);
  format.escape = '\\';
  RecordsOf(sample.beginning, sample.is_whole, format, ~size_t{0}, nullptr, &bad_with);
  return bad_with < bad_without;
}

}  // namespace eris::cli
