#include "clients/cli/files/delimited.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/interrupt.h"

namespace eris::cli {
namespace {

constexpr size_t kReadBytes = 256 << 10;

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
size_t TakeQuoted(absl::string_view text, size_t at, std::string& scratch,
                  std::vector<absl::string_view>& fields) {
  const size_t start = scratch.size();
  for (++at;;) {
    const size_t quote = text.find('"', at);
    if (quote == absl::string_view::npos) return quote;
    scratch.append(text.data() + at, quote - at);
    if (quote + 1 >= text.size() || text[quote + 1] != '"') {
      fields.push_back(absl::string_view(scratch).substr(start));
      return quote + 1;
    }
    scratch += '"';
    at = quote + 2;
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
  const char stops[] = {format.delimiter, '\n', '"', '\0'};
  for (size_t at = 0;;) {
    if (at < text.size() && text[at] == '"') {
      at = TakeQuoted(text, at, scratch, fields);
      if (at == absl::string_view::npos) {
        if (!at_end) return SplitResult::kNeedMore;
        reason = "a quote is not closed";
        return SplitResult::kBad;
      }
      // Whether the quote was doubled shows in the next byte only.
      if (at == text.size() && !at_end) return SplitResult::kNeedMore;
    } else {
      const size_t stop = std::min(text.find_first_of(stops, at), text.size());
      if (stop < text.size() && text[stop] == '"') {
        reason = absl::StrCat("a quote inside field ", fields.size() + 1,
                              ", which has none at its start");
        return SplitResult::kBad;
      }
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

DelimitedReader::DelimitedReader(int fd, const DelimitedFormat& format)
    : fd_(fd), format_(format) {}

absl::Status DelimitedReader::Fill() {
  if (absl::Status status = AwaitReadable(fd_); !status.ok()) return status;
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t old_size = buffer_.size();
  buffer_.resize(old_size + kReadBytes);
  ssize_t got;
  do {
    got = read(fd_, buffer_.data() + old_size, kReadBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(old_size + std::max<ssize_t>(got, 0));
  if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
  if (got == 0) at_end_ = true;
  return absl::OkStatus();
}

absl::StatusOr<DelimitedReader::Result> DelimitedReader::Next(
    std::vector<absl::string_view>& fields, std::string& reason) {
  for (;;) {
    const absl::string_view text = absl::string_view(buffer_).substr(begin_);
    if (text.empty() && at_end_) return Result::kEnd;
    if (in_bad_line_ && !text.empty()) {
      const size_t newline = text.find('\n');
      in_bad_line_ = newline == text.npos;
      if (!in_bad_line_) ++next_line_;
      Take(in_bad_line_ ? text.size() : newline + 1);
      continue;
    }
    // The byte order mark that some programs write.
    constexpr absl::string_view kMark = "\xef\xbb\xbf";
    if (bytes_ == 0 && absl::StartsWith(text, kMark)) {
      Take(kMark.size());
      continue;
    }
    size_t consumed = 0;
    SplitResult result =
        text.empty() ? SplitResult::kNeedMore
                     : SplitRecord(text, at_end_, format_, fields, scratch_, consumed, reason);
    if (result == SplitResult::kNeedMore) {
      if (text.size() <= kRecordBytesMax) {
        const absl::Status status = Fill();
        if (!status.ok()) return status;
        continue;
      }
      // Give up its first line (or what there is of it) and go on behind.
      reason = absl::StrCat("longer than ", kRecordBytesMax, " bytes: is a quote not closed?");
      in_bad_line_ = text.find('\n') == text.npos;
      consumed = std::min(text.find('\n'), text.size() - 1) + 1;
      result = SplitResult::kBad;
    }
    const absl::string_view record = text.substr(0, consumed);
    line_ = next_line_;
    next_line_ += std::count(record.begin(), record.end(), '\n');
    Take(consumed);
    if (result == SplitResult::kBad) return Result::kBad;
    if (record.find_first_not_of("\r\n") == record.npos) continue;
    return Result::kRecord;
  }
}

}  // namespace eris::cli
