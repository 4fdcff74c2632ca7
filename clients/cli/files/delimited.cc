#include "clients/cli/files/delimited.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace eris::cli {
namespace {

// The usual record has no quote: one pass over one line.
void SplitPlain(absl::string_view line, const DelimitedFormat& format,
                std::vector<absl::string_view>& fields) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (format.trailing_delimiter && !line.empty() && line.back() == format.delimiter) {
    line.remove_suffix(1);
  }
  for (;;) {
    const void* found =
        line.empty() ? nullptr : std::memchr(line.data(), format.delimiter, line.size());
    if (found == nullptr) break;
    const size_t length = static_cast<const char*>(found) - line.data();
    fields.push_back(line.substr(0, length));
    line.remove_prefix(length + 1);
  }
  fields.push_back(line);
}

// Takes one quoted field whose opening quote is text[at]. Returns the place behind the closing
// quote; npos when there is none.
size_t TakeQuoted(absl::string_view text, size_t at, char escape, std::string& scratch,
                  std::vector<absl::string_view>& fields) {
  const size_t start = scratch.size();
  const char stops[] = {'"', escape};
  for (++at;;) {
    // One character is found by vectors, two are not.
    const size_t stop = escape == '\0'
                            ? text.find('"', at)
                            : text.find_first_of(absl::string_view(stops, sizeof(stops)), at);
    if (stop == absl::string_view::npos) return stop;
    scratch.append(text.data() + at, stop - at);
    const bool has_next = stop + 1 < text.size();
    if (text[stop] != '"') {
      if (!has_next) return absl::string_view::npos;
      // Before anything else it is text, as in C:\temp.
      if (text[stop + 1] != '"' && text[stop + 1] != escape) scratch += escape;
      scratch += text[stop + 1];
    } else if (has_next && text[stop + 1] == '"') {
      scratch += '"';
    } else {
      fields.push_back(absl::string_view(scratch).substr(start));
      return stop + 1;
    }
    at = stop + 2;
  }
}

}  // namespace

SplitResult SplitRecord(absl::string_view text, bool at_end, const DelimitedFormat& format,
                        std::vector<absl::string_view>& fields, std::string& scratch,
                        size_t& consumed, std::string& reason) {
  fields.clear();
  const size_t newline = text.find('\n');
  if (newline == absl::string_view::npos && !at_end) return SplitResult::kNeedMore;
  const absl::string_view line = text.substr(0, newline);
  consumed = std::min(line.size() + 1, text.size());
  if (!format.quotes || line.find('"') == absl::string_view::npos) {
    SplitPlain(line, format, fields);
    return SplitResult::kRecord;
  }
  scratch.clear();
  scratch.reserve(text.size());  // fields point into it: it must not move
  const char stops[] = {format.delimiter, '\n', '\0'};
  for (size_t at = 0;;) {
    if (at < text.size() && text[at] == '"') {
      at = TakeQuoted(text, at, format.escape, scratch, fields);
      if (at == absl::string_view::npos) {
        if (!at_end) return SplitResult::kNeedMore;
        reason = "a quote is not closed";
        return SplitResult::kBad;
      }
      // Whether the quote was doubled shows in the next byte only.
      if (at == text.size() && !at_end) return SplitResult::kNeedMore;
    } else {
      // In a field that does not begin with a quote, quotes are text.
      const size_t stop = std::min(text.find_first_of(stops, at), text.size());
      if (stop == text.size() && !at_end) return SplitResult::kNeedMore;
      absl::string_view field = text.substr(at, stop - at);
      if ((stop == text.size() || text[stop] == '\n') && !field.empty() && field.back() == '\r') {
        field.remove_suffix(1);
      }
      fields.push_back(field);
      at = stop;
    }
    if (at < text.size() && text[at] == format.delimiter) {
      ++at;
      continue;
    }
    if (at < text.size() && text[at] == '\r') ++at;
    if (at == text.size() && !at_end) return SplitResult::kNeedMore;
    if (at < text.size() && text[at] != '\n') {
      reason = absl::StrCat("text behind the closing quote of field ", fields.size());
      return SplitResult::kBad;
    }
    consumed = std::min(at + 1, text.size());
    return SplitResult::kRecord;
  }
}

}  // namespace eris::cli
