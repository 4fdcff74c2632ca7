#include "clients/cli/loading/key_sample.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/ndjson/json_line.h"

namespace eris::cli {
namespace {

// Room for the rest of one line and one more complete line of nearly any table, and the most that
// is given to those of longer lines.
constexpr size_t kWindowBytes = 2048;
constexpr size_t kWindowBytesMax = 64 << 10;
// Looked at before, to find out how long windows must be.
constexpr size_t kProbesMax = 1000;
constexpr size_t kPadBytes = kJsonPadBytes;

// The last kPadBytes of the buffer stay free.
absl::StatusOr<absl::string_view> ReadAt(int fd, uint64_t offset, std::string& buffer) {
  ssize_t got;
  do {
    got = pread(fd, buffer.data(), buffer.size() - kPadBytes, static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
  return absl::string_view(buffer).substr(0, got);
}

// `sample`: sorted.
bool SplitsEvenly(const std::vector<uint64_t>& sample, const std::vector<uint64_t>& points,
                  size_t partitions) {
  constexpr double kShareMax = 1.1;
  constexpr double kShareMin = 0.5;
  if (points.size() + 1 != partitions || sample.size() < 100 * partitions) return false;
  const double share = static_cast<double>(sample.size()) / static_cast<double>(partitions);
  auto begin = sample.begin();
  for (size_t i = 0; i <= points.size(); ++i) {
    const auto end =
        i < points.size() ? std::lower_bound(begin, sample.end(), points[i]) : sample.end();
    const auto keys = static_cast<double>(end - begin);
    if (keys > kShareMax * share || keys < kShareMin * share) return false;
    begin = end;
  }
  return true;
}

// Takes a record; false: it is not whole.
using TakeFunction = absl::FunctionRef<bool(absl::string_view text, bool at_end, size_t& consumed)>;

// Takes one record of each of `places` windows at even distances, where the window has a whole one.
// Returns how many have.
absl::StatusOr<size_t> TakeAtPlaces(int fd, uint64_t file_bytes, size_t places, size_t window_bytes,
                                    TakeFunction take) {
  std::string buffer(window_bytes + kPadBytes, '\0');
  size_t whole = 0;
  for (size_t i = 0; i < places; ++i) {
    const auto offset = static_cast<uint64_t>(static_cast<double>(file_bytes) *
                                              static_cast<double>(i) / static_cast<double>(places));
    const absl::StatusOr<absl::string_view> window = ReadAt(fd, offset, buffer);
    if (!window.ok()) return window.status();
    absl::string_view text = *window;
    if (offset > 0) {
      const size_t newline = text.find('\n');
      if (newline == absl::string_view::npos) continue;
      text.remove_prefix(newline + 1);
    }
    size_t consumed = 0;
    if (!text.empty() && take(text, offset + window->size() == file_bytes, consumed)) ++whole;
  }
  return whole;
}

}  // namespace

absl::StatusOr<std::vector<uint64_t>> SampleKeys(int fd, uint64_t file_bytes, SplitFunction split,
                                                 size_t key_field, size_t records_max,
                                                 const ColumnSchema& column,
                                                 const FieldForms& forms) {
  std::vector<uint64_t> keys;
  std::vector<absl::string_view> fields;
  std::string scratch, reason;
  auto take = [&](absl::string_view text, bool at_end, size_t& consumed) {
    uint64_t key = 0;
    const SplitResult result = split(text, at_end, fields, scratch, consumed, reason);
    if (result == SplitResult::kRecord && key_field < fields.size()) {
      const absl::string_view field = fields[key_field];
      const PlainField plain(forms, column.type, field);
      if (ParseWord(column, forms.Change(column.type) ? plain.text() : field, key)) {
        keys.push_back(key);
      }
    }
    return result != SplitResult::kNeedMore;
  };
  // A small file is read completely: a few records at even distances would not represent it.
  if (file_bytes <= kWindowBytes * 1024) {
    std::string buffer(file_bytes + kPadBytes, '\0');
    const absl::StatusOr<absl::string_view> text = ReadAt(fd, 0, buffer);
    if (!text.ok()) return text.status();
    size_t consumed = 0;
    for (absl::string_view rest = *text; !rest.empty(); rest.remove_prefix(consumed)) {
      take(rest, true, consumed);
    }
    return keys;
  }
  // Windows that are too short for most lines would sample the short ones alone, or none.
  size_t window_bytes = kWindowBytes;
  const size_t probes = std::min(records_max, kProbesMax);
  for (; window_bytes < kWindowBytesMax; window_bytes *= 2) {
    const absl::StatusOr<size_t> whole = TakeAtPlaces(fd, file_bytes, probes, window_bytes, take);
    if (!whole.ok()) return whole.status();
    if (2 * *whole >= probes) break;
  }
  keys.clear();
  // Fewer of longer ones, so that no more is read; but not fewer than were looked at.
  const size_t places = std::max(records_max * kWindowBytes / window_bytes, probes);
  keys.reserve(places);
  const absl::StatusOr<size_t> whole = TakeAtPlaces(fd, file_bytes, places, window_bytes, take);
  if (!whole.ok()) return whole.status();
  return keys;
}

absl::StatusOr<std::vector<uint64_t>> SampleKeys(int fd, uint64_t file_bytes,
                                                 const DelimitedFormat& format, size_t key_field,
                                                 size_t records_max, const ColumnSchema& column,
                                                 const FieldForms& forms) {
  const auto split = [&](absl::string_view text, bool at_end,
                         std::vector<absl::string_view>& fields, std::string& scratch,
                         size_t& consumed, std::string& problem) {
    return SplitRecord(text, at_end, format, fields, scratch, consumed, problem);
  };
  return SampleKeys(fd, file_bytes, split, key_field, records_max, column, forms);
}

std::vector<uint64_t> SplitPoints(std::vector<uint64_t> sample, size_t partitions,
                                  const std::vector<std::vector<uint64_t>>& others) {
  std::sort(sample.begin(), sample.end());
  sample.erase(std::unique(sample.begin(), sample.end()), sample.end());
  for (const std::vector<uint64_t>& points : others) {
    if (SplitsEvenly(sample, points, partitions)) return points;
  }
  std::vector<uint64_t> points;
  for (size_t i = 1; i < partitions && !sample.empty(); ++i) {
    const uint64_t point = sample[sample.size() * i / partitions];
    // A bound at the first key would leave the first partition empty.
    if (point > (points.empty() ? sample.front() : points.back())) points.push_back(point);
  }
  return points;
}

}  // namespace eris::cli
