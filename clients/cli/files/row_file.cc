#include "clients/cli/files/row_file.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/delimiter_index.h"
#include "clients/cli/files/field_text.h"
#include "clients/cli/files/import_hint.h"
#include "clients/cli/files/row_cursors.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/interrupt.h"
#include "eris/calendar_text.h"
#include "text/cut_text.h"

namespace eris::cli {
namespace {

// With its places it stays in a core's second cache.
constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kShownBytesMax = 40;

}  // namespace

RowFile::RowFile(int fd, std::string name, const RowFileFormat& format, Schema schema)
    : fd_(fd),
      interrupt_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      name_(std::move(name)),
      format_(format),
      schema_(std::move(schema)) {}
RowFile::~RowFile() {
  if (interrupt_fd_ >= 0) close(interrupt_fd_);
}

void RowFile::Interrupt() {
  const uint64_t one = 1;
  if (interrupt_fd_ >= 0) (void)!write(interrupt_fd_, &one, sizeof(one));
}

// Which some programs write first, also where there is no header. Not of .tbl: there it is what a
// first string begins with, which has no quotes around it.
void RowFile::SkipByteOrderMark() {
  constexpr absl::string_view kMark = "\xef\xbb\xbf";
  const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
  if (!at_start_ || !(format_.delimited.quotes || format_.json) ||
      (absl::StartsWith(kMark, text) && text != kMark && !at_end_))
    return;
  at_start_ = false;
  if (absl::StartsWith(text, kMark)) Take(kMark.size());
}

absl::Status RowFile::Fill() {
  if (absl::Status status = AwaitReadable(fd_, interrupt_fd_); !status.ok()) return status;
  // What is left is the beginning of one record.
  const size_t left = end_ - begin_;
  if (buffer_.size() < left + kReadBytes + kPadBytes) {
    buffer_.resize(left + left / 2 + kReadBytes + kPadBytes);
  }
  std::memmove(buffer_.data(), buffer_.data() + begin_, left);
  begin_ = 0;
  end_ = left;
  ssize_t got;
  do {
    got = read(fd_, buffer_.data() + left, kReadBytes);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return absl::UnavailableError(absl::StrCat("cannot read: ", std::strerror(errno)));
  if (got == 0) at_end_ = true;
  end_ += static_cast<size_t>(got);
  SkipByteOrderMark();
  std::memset(buffer_.data() + end_, 0, kPadBytes);  // no delimiter
  LookForUtf8();
  Index();
  return absl::OkStatus();
}

// Fields end at delimiters, quotes and line ends, which are ASCII: so in UTF-8 each is UTF-8 too,
// and need not be looked at by itself. A last character that is not whole yet belongs to no whole
// record, which ends with a line end.
void RowFile::LookForUtf8() {
  constexpr size_t kTailMax = 3;
  size_t end = end_;
  while (!at_end_ && end > begin_ && end_ - end < kTailMax &&
         (static_cast<unsigned char>(buffer_[end - 1]) & 0xc0) == 0x80) {
    --end;
  }
  if (!at_end_ && end > begin_ && static_cast<unsigned char>(buffer_[end - 1]) >= 0xc0) --end;
  const bool ascii_delimiter =
      (static_cast<unsigned char>(format_.delimited.delimiter) & 0x80) == 0;
  text_is_utf8_ = ascii_delimiter && IsUtf8({buffer_.data() + begin_, end - begin_});
}

void RowFile::Index() {
  // Ends of the text, which are no delimiters, stop a record that is not whole.
  const size_t stops = fields_.size() + 2;
  if (places_.size() < end_ + 8 + stops) places_.resize(end_ + 8 + stops);
  const size_t count = IndexDelimiters(buffer_.data(), begin_, end_, format_.delimited.delimiter,
                                       format_.delimited.quotes, places_.data());
  std::fill_n(places_.begin() + static_cast<ptrdiff_t>(count), stops, static_cast<uint32_t>(end_));
  next_place_ = 0;
}

void RowFile::Take(size_t bytes) {
  begin_ += bytes;
  bytes_ += bytes;
}

void RowFile::SetFields(const FileColumns& columns) {
  for (const FileColumns::Field& from : columns.fields) {
    Field& field = fields_.emplace_back();
    names_.push_back(from.name);
    field.column = from.column;
    if (from.column == Field::kNone) continue;
    field.key = std::count(schema_.key.begin(), schema_.key.end(), from.column) > 0;
    field.exact = from.column < format_.guessed.size() && format_.guessed[from.column];
    SetField(field);
  }
}

// By the type of its column.
void RowFile::SetField(Field& field) const {
  const ColumnSchema& column = schema_.columns[field.column];
  field.type = column.type;
  field.scale = column.scale;
  field.nullable = column.nullable;
  field.nulls = format_.nulls_in_strings || !IsByteString(column.type);
  field.forms = format_.forms.Change(column.type);
  field.width = ColumnValueBytes(column.type);
}

void RowFile::SetType(size_t column, ColumnType type) {
  schema_.columns[column].type = type;
  for (Field& field : fields_) {
    if (field.column == column) SetField(field);
  }
}

void RowFile::AddNull(const std::string& text) { format_.nulls.push_back(text); }

void RowFile::AddColumn(const std::string& key, const ColumnSchema& column) {
  Field& field = fields_.emplace_back();
  field.column = schema_.columns.size();
  field.exact = true;
  schema_.columns.push_back(column);
  SetField(field);
  names_.push_back(key);
  json_->AddKey(key);
}

// One record, or the first line of one that is too long.
SplitResult RowFile::Split(absl::string_view text, size_t& consumed, std::string& problem) {
  const SplitResult result = text.empty()
                                 ? SplitResult::kNeedMore
                                 : SplitOne(text, at_end_, split_, scratch_, consumed, problem);
  if (result != SplitResult::kNeedMore || text.size() <= kRecordBytesMax) return result;
  problem = absl::StrCat("longer than ", kRecordBytesMax, " bytes",
                         format_.json ? "" : ": is a quote not closed?");
  consumed = std::min(text.find('\n'), text.size() - 1) + 1;
  return SplitResult::kBad;
}

SplitResult RowFile::SplitOne(absl::string_view text, bool at_end,
                              std::vector<absl::string_view>& fields, std::string& scratch,
                              size_t& consumed, std::string& problem) {
  if (!json_) {
    return SplitRecord(text, at_end, format_.delimited, fields, scratch, consumed, problem);
  }
  const size_t newline = text.find('\n');
  if (newline == text.npos && !at_end) return SplitResult::kNeedMore;
  consumed = newline == text.npos ? text.size() : newline + 1;
  problem = json_->Read(text.substr(0, newline), fields, scratch);
  return problem.empty() ? SplitResult::kRecord : SplitResult::kBad;
}

absl::Status RowFile::SkipLines() {
  for (uint64_t left = format_.skip_lines; left > 0;) {
    const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
    const size_t newline = text.find('\n');
    if (newline != text.npos) {
      Take(newline + 1);
      ++line_;
      --left;
    } else if (at_end_) {
      return absl::InvalidArgumentError(absl::StrCat(
          name_, " has ", line_ - 1, " lines, of which --skip passes over ", format_.skip_lines));
    } else {
      Take(text.size());
      if (absl::Status status = Fill(); !status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

absl::Status RowFile::Open() {
  if (absl::Status status = SkipLines(); !status.ok()) return status;
  size_t passed = 0;  // bytes behind begin_ without a record: empty lines, and bad ones
  bool may_be_header = true;
  size_t consumed = 0;
  // Without a header and a choice nothing is to be known of the first record.
  for (bool look = !format_.json && (format_.choice || format_.header != false); look;) {
    const absl::string_view text(buffer_.data() + begin_ + passed, end_ - begin_ - passed);
    std::string problem;
    split_.clear();
    const SplitResult result = Split(text, consumed, problem);
    if (result == SplitResult::kNeedMore) {
      look = !at_end_;
      if (!look) break;
      if (absl::Status status = Fill(); !status.ok()) return status;
    } else if (result == SplitResult::kBad) {
      if (format_.header == true && may_be_header) {
        return absl::InvalidArgumentError(absl::StrCat(name_, " line 1: ", problem));
      }
      look = format_.choice.has_value() && consumed < text.size();
      may_be_header = false;
      passed += consumed;
      split_.clear();
    } else {
      look = text.substr(0, consumed).find_first_not_of("\r\n") == text.npos;
      if (look) passed += consumed;
    }
  }
  const absl::StatusOr<FileColumns> columns =
      FindColumns(name_, format_, schema_, split_, may_be_header);
  if (!columns.ok()) return columns.status();
  SetFields(*columns);
  if (format_.json) json_.emplace(names_);
  if (columns->header) {
    const absl::string_view header(buffer_.data() + begin_, passed + consumed);
    line_ += static_cast<uint64_t>(std::count(header.begin(), header.end(), '\n'));
    Take(header.size());
  }
  if (!buffer_.empty()) Index();  // for as many fields as are known now
  return absl::OkStatus();
}

size_t RowFile::FieldOf(uint32_t column) const {
  size_t field = 0;
  while (field + 1 < fields_.size() && fields_[field].column != column) ++field;
  return field;
}

RowFile::Step RowFile::FastRecord(Cursors& to, std::string& complaint) {
  const char* const text = buffer_.data();
  const uint32_t* place = &places_[next_place_];
  const char delimiter = format_.delimited.delimiter;
  const size_t last = fields_.size() - 1;
  size_t start = begin_;
  for (size_t i = 0; i < last; ++i) {
    const size_t end = *place++;
    if (text[end] != delimiter ||
        !to.Store<true>(fields_[i], to.cursors[i], text + start, end - start)) {
      to.Undo();
      return SlowRecord(to, complaint);
    }
    start = end + 1;
  }
  size_t end = *place++;
  size_t next = end + 1;
  bool plain = text[end] == '\n';
  if (plain) {
    if (end > start && text[end - 1] == '\r') --end;
    // Empty lines, and a field that is only the trailing delimiter's.
    plain = end > start || (last > 0 && !format_.delimited.trailing_delimiter);
  } else if (text[end] == delimiter && format_.delimited.trailing_delimiter &&
             text[end + 1] == '\n') {
    plain = true;
    ++place;
    ++next;
  }
  if (!plain || !to.Store<true>(fields_[last], to.cursors[last], text + start, end - start)) {
    to.Undo();
    return SlowRecord(to, complaint);
  }
  next_place_ = static_cast<size_t>(place - places_.data());
  Take(next - begin_);
  ++line_;
  ++to.row;
  return Step::kRow;
}

RowFile::Step RowFile::SkipRestOfLine() {
  const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
  const size_t newline = text.find('\n');
  if (newline == text.npos) {
    Take(text.size());
    return Step::kMore;
  }
  in_bad_line_ = false;
  ++line_;
  Take(newline + 1);
  while (places_[next_place_] < begin_) ++next_place_;
  return Step::kBlank;
}

// Quotes, empty lines, bad lines, those that are not whole yet, and all of NDJSON.
RowFile::Step RowFile::SlowRecord(Cursors& to, std::string& complaint) {
  const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
  size_t consumed = 0;
  std::string problem;
  const SplitResult result = Split(text, consumed, problem);
  if (result == SplitResult::kNeedMore) return Step::kMore;
  const absl::string_view record = text.substr(0, consumed);
  // The rest of a line that was too long is still to come.
  in_bad_line_ = result == SplitResult::kBad && consumed == text.size() && !at_end_ &&
                 record.find('\n') == text.npos;
  const bool empty =
      result == SplitResult::kRecord && record.find_first_not_of("\r\n") == text.npos;
  const bool blank =
      json_ ? split_.empty() : empty && !(fields_.size() == 1 && fields_[0].nullable);
  bad_field_.reset();
  bad_values_.clear();
  if (result == SplitResult::kRecord && !blank) {
    problem = json_ ? ReadKeys(to) : ReadSplit(to);
  }
  if (!problem.empty()) {
    to.Undo();
    complaint = Located(problem);
  }
  const bool one_line = json_ && record.back() == '\n';  // counting takes a while
  line_ += one_line ? 1 : static_cast<uint64_t>(std::count(record.begin(), record.end(), '\n'));
  Take(consumed);
  while (places_[next_place_] < begin_) ++next_place_;
  if (!problem.empty()) return Step::kBad;
  if (blank) return Step::kBlank;
  ++to.row;
  return Step::kRow;
}

// Stores the fields of split_; returns what is wrong with the first that is bad. The others are
// looked at nevertheless, for bad_values().
std::string RowFile::ReadSplit(Cursors& to) {
  if (split_.size() != fields_.size()) {
    return absl::StrCat(split_.size(), " fields, expected ", fields_.size(),
                        DelimiterHint(split_, format_.delimited.delimiter));
  }
  std::string problem;
  for (size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i];
    if (field.column == Field::kNone) continue;
    const absl::string_view one = split_[i];
    const bool is_string = IsByteString(field.type);
    to.in_quotes = one.data() >= scratch_.data() && one.data() <= scratch_.data() + scratch_.size();
    // NDJSON has quotes around all strings, also those that the user calls null.
    if (json_ && !one.empty()) to.in_quotes = false;
    const bool may_be = !json_ || one.data() != nullptr || field.nullable;
    absl::string_view readable = is_string ? one : absl::StripAsciiWhitespace(one);
    if (!is_string && readable.size() <= kNumberBytesMax) {
      padded_.assign(readable.data(), readable.size());
      padded_.append(kPadBytes, '\0');
      readable = absl::string_view(padded_).substr(0, readable.size());
    }
    const bool stored = may_be && (is_string || readable.size() <= kNumberBytesMax) &&
                        to.Store<false>(field, to.cursors[i], readable.data(), readable.size());
    to.in_quotes = false;
    if (stored) continue;
    std::string complaint = Complaint(i, one);
    bad_values_.push_back({field.column, std::string(one), Located(complaint)});
    if (bad_field_) continue;
    bad_field_ = i;
    problem = std::move(complaint);
  }
  return problem;
}

// ReadSplit of NDJSON.
std::string RowFile::ReadKeys(Cursors& to) {
  if (!format_.only_keys) {
    std::string problem = NoKeyIsAColumn();
    if (!problem.empty()) return problem;
  }
  std::string problem = ReadSplit(to);
  TakeOtherKeys(problem);
  return problem;
}

// A line that would be a row of nulls because all of its keys are others: what is wrong with it.
std::string RowFile::NoKeyIsAColumn() const {
  const std::vector<absl::string_view> keys = json_->KeysOfNone();
  if (keys.empty()) return "";
  std::string name = names_[0], hint;
  for (size_t i = 0; i < names_.size() && hint.empty(); ++i) {
    hint = CaseHint(keys, names_[i]);
    if (!hint.empty()) name = names_[i];
  }
  return absl::StrCat("none of its keys is a column, as '", name, "' is", hint);
}

// What NDJSON has besides its columns.
void RowFile::TakeOtherKeys(std::string& problem) {
  constexpr size_t kKeysMax = 100;
  for (const JsonRecords::Other& other : json_->others()) {
    if (!format_.only_keys) {
      if (passed_over_.size() < kKeysMax) passed_over_.insert(other.key);
      continue;
    }
    const std::string complaint = absl::StrCat("key '", text::CutText(other.key, kShownBytesMax),
                                               "' is no column, as no line of the sample has it");
    bad_values_.push_back({.column = BadValue::kNone,
                           .text = other.text,
                           .complaint = Located(complaint),
                           .key = other.key,
                           .is_string = other.kind == JsonKind::kString});
    if (problem.empty()) problem = complaint + ": give --schema with all columns";
  }
}

std::string RowFile::Located(absl::string_view problem) const {
  return absl::StrCat(name_, " line ", line_, ": ", problem);
}

std::string RowFile::Complaint(size_t field, absl::string_view text) const {
  const ColumnSchema& column = schema_.columns[fields_[field].column];
  const std::string what = ColumnRangeText(column, fields_[field].key, format_.string_bytes_max);
  const std::string where = absl::StrCat(
      "column ", field + 1, " (", names_[field].empty() ? column.name : names_[field], ") is ");
  if (text.empty()) return absl::StrCat(where, "empty, and may not be null; expected a ", what);
  if (column.type == ColumnType::kString && !IsUtf8(text)) {
    return absl::StrCat(where, "'", ShowBytes(ByteFormat::kText, text.substr(0, kShownBytesMax)),
                        text.size() > kShownBytesMax ? "..." : "",
                        "', which is not UTF-8, and a string is text: a column of type bytes takes "
                        "any bytes");
  }
  const std::string shown = absl::StrCat("'", text::CutText(text, kShownBytesMax),
                                         text.size() > kShownBytesMax ? "..." : "", "', ");
  if (fields_[field].exact && LosesDigits(column.type, text)) {
    return absl::StrCat(where, shown, "of which a number does not keep all digits: --types '",
                        column.name, "=string' does");
  }
  int64_t micros = 0;
  if (!format_.choice && column.type == ColumnType::kDate && ParseTimestamp(text, micros)) {
    return absl::StrCat(where, shown, "no ", what, "; --types '", column.name,
                        "=timestamp' keeps the time");
  }
  const bool is_date = column.type == ColumnType::kDate && (text.size() < 5 || text[4] != '-');
  const bool has_comma = !IsTimeType(column.type) && absl::StrContains(text, ',');
  return absl::StrCat(where, shown, "no ", what,
                      is_date && format_.forms.date.empty() ? "; --date-format names another form"
                      : has_comma && !format_.forms.decimal_comma ? "; --decimal-comma takes 1,5"
                                                                  : "");
}

std::string RowFile::hint() const {
  if (!format_.choice || !bad_field_) return "";
  const size_t column = fields_[*bad_field_].column;
  if (IsByteString(schema_.columns[column].type)) return "";  // a table would refuse it, too
  if (column < schema_.key.size()) {
    const std::string hint = KeyHint(KeyTypesOf(schema_), column == 1, split_[*bad_field_]);
    if (!hint.empty()) return hint;
  }
  return TableHint(names_, split_, FieldOf(0));
}

absl::StatusOr<RowFile::Result> RowFile::Read(uint64_t rows_max, client::OwnedRows& rows,
                                              OnBadLine on_bad_line, uint64_t text_bytes_max) {
  std::string complaint;
  Cursors to(fields_, schema_.columns.size(), rows_max, format_, text_is_utf8_, rows);
  if (to.row == 0) batch_begin_ = bytes_;
  absl::StatusOr<Result> result = Result::kFull;
  while (to.row < rows_max && bytes_ - batch_begin_ < text_bytes_max) {
    const Step step = places_.empty() ? Step::kMore
                      : in_bad_line_  ? SkipRestOfLine()
                      : json_         ? SlowRecord(to, complaint)
                                      : FastRecord(to, complaint);
    if (step == Step::kBad) {
      if (on_bad_line(complaint)) continue;
      result = Result::kBadLine;
      break;
    }
    if (step != Step::kMore) continue;
    if (at_end_) {
      result = Result::kEnd;
      break;
    }
    if (absl::Status status = Fill(); !status.ok()) {
      result = std::move(status);
      break;
    }
  }
  to.Finish(fields_, rows);
  return result;
}

}  // namespace eris::cli
