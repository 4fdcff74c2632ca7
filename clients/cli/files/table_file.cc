#include "clients/cli/files/table_file.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/files/delimiter_index.h"
#include "clients/cli/files/field_text.h"
#include "clients/cli/files/import_hint.h"
#include "clients/cli/files/schema_text.h"
#include "clients/cli/text/interrupt.h"
#include "clients/cut_text.h"

namespace eris::cli {
namespace {

// With its places it stays in a core's second cache.
constexpr size_t kReadBytes = 256 << 10;
constexpr size_t kPadBytes = kIndexPadBytes + 8;
constexpr size_t kShownBytesMax = 40;
// What a short string is copied in at once.
constexpr size_t kCopyBytes = 32;
static_assert(kCopyBytes <= kPadBytes);

}  // namespace

struct TableFile::Field {
  static constexpr size_t kNone = ~size_t{0};
  size_t column = kNone;                  // of the table; kNone: passed over
  ColumnType type = ColumnType::kInt128;  // of no column: passed over
  uint8_t scale = 0;
  bool nullable = false;
  bool key = false;
};

// Of one field each; a field that is passed over has none.
struct TableFile::Cursors {
  struct Cursor {
    char* values = nullptr;  // of fixed width: of row 0
    uint32_t* offsets = nullptr;
    uint8_t* validity = nullptr;
    ColumnBuffers* buffers = nullptr;
    size_t bytes = 0;  // of strings: up to the next row's
    size_t room = 0;   // of strings: bytes there are
  };

  Cursors(const std::vector<Field>& fields, const Schema& schema, uint64_t rows_max,
          client::OwnedRows& rows)
      : row(rows.rows), cursors(fields.size()) {
    rows.columns.resize(schema.columns.size());
    for (size_t i = 0; i < fields.size(); ++i) {
      const Field& field = fields[i];
      if (field.column == Field::kNone) continue;
      Cursor& cursor = cursors[i];
      cursor.buffers = &rows.columns[field.column];
      ColumnBuffers& buffers = *cursor.buffers;
      if (field.nullable) {
        // All set where no row was null before: Finish leaves it out then.
        if (buffers.validity.empty() && row > 0) buffers.validity.assign((row + 7) / 8, '\xff');
        buffers.validity.resize((rows_max + 7) / 8);
        cursor.validity = reinterpret_cast<uint8_t*>(buffers.validity.data());
      }
      if (field.type == ColumnType::kString) {
        buffers.offsets.resize((rows_max + 1) * sizeof(uint32_t));
        cursor.offsets = reinterpret_cast<uint32_t*>(buffers.offsets.data());
        if (row == 0) cursor.offsets[0] = 0;
        cursor.bytes = cursor.offsets[row];
        cursor.room = buffers.values.size();
        cursor.values = buffers.values.data();
      } else {
        buffers.values.resize(rows_max * ColumnValueBytes(field.type));
        cursor.values = buffers.values.data();
      }
    }
  }

  // Makes the columns as long as their rows.
  void Finish(const std::vector<Field>& fields, client::OwnedRows& rows) {
    rows.rows = row;
    for (size_t i = 0; i < fields.size(); ++i) {
      const Field& field = fields[i];
      if (field.column == Field::kNone) continue;
      ColumnBuffers& buffers = *cursors[i].buffers;
      if (field.type == ColumnType::kString) {
        buffers.values.resize(cursors[i].bytes);
        buffers.offsets.resize((row + 1) * sizeof(uint32_t));
      } else {
        buffers.values.resize(row * ColumnValueBytes(field.type));
      }
      if (!field.nullable) continue;
      uint64_t present = 0;
      for (uint64_t at = 0; at < row; ++at) present += cursors[i].validity[at >> 3] >> (at & 7) & 1;
      buffers.validity.resize(present == row ? 0 : (row + 7) / 8);
    }
  }

  // Grows a string column.
  static void MakeRoom(Cursor& cursor, size_t bytes) {
    std::string& values = cursor.buffers->values;
    values.resize(cursor.bytes + bytes + std::max<size_t>(cursor.bytes / 2, 64 << 10));
    cursor.values = values.data();
    cursor.room = values.size();
  }

  // Stores a field of row `row`; false: it is no value of the column. kPadded: kPadBytes readable
  // bytes follow the text.
  template <bool kPadded>
  bool Store(const Field& field, Cursor& cursor, const char* text, size_t length) {
    if (field.nullable) {
      const auto bit = static_cast<uint8_t>(1 << (row & 7));
      uint8_t& byte = cursor.validity[row >> 3];
      byte = static_cast<uint8_t>(length > 0 ? byte | bit : byte & ~bit);
      if (length == 0) return StoreNothing(field, cursor);
    }
    switch (field.type) {
      case ColumnType::kInt32:
        return ParseField({text, length}, reinterpret_cast<int32_t*>(cursor.values)[row]);
      case ColumnType::kInt64:
        return ParseField({text, length}, reinterpret_cast<int64_t*>(cursor.values)[row]);
      case ColumnType::kUint64:
        return ParseField({text, length}, reinterpret_cast<uint64_t*>(cursor.values)[row]);
      case ColumnType::kFloat64: {
        double& number = reinterpret_cast<double*>(cursor.values)[row];
        return ParseField({text, length}, number) && !(field.key && std::isnan(number));
      }
      case ColumnType::kDate:
        return ParseDateField({text, length}, reinterpret_cast<int32_t*>(cursor.values)[row]);
      case ColumnType::kDecimal:
        return ParseDecimalField({text, length}, field.scale,
                                 reinterpret_cast<int64_t*>(cursor.values)[row]);
      case ColumnType::kString:
        return StoreString<kPadded>(cursor, text, length);
      default:
        return true;
    }
  }
  template <bool kPadded>
  bool StoreString(Cursor& cursor, const char* text, size_t length) {
    if (length > kTableStringBytesMax) return false;
    if (cursor.room - cursor.bytes < length + kCopyBytes) MakeRoom(cursor, length + kCopyBytes);
    if (kPadded && length <= kCopyBytes) {
      std::memcpy(cursor.values + cursor.bytes, text, kCopyBytes);
    } else {
      std::memcpy(cursor.values + cursor.bytes, text, length);
    }
    cursor.bytes += length;
    cursor.offsets[row + 1] = static_cast<uint32_t>(cursor.bytes);
    return true;
  }
  bool StoreNothing(const Field& field, Cursor& cursor) {
    if (field.type == ColumnType::kString) {
      cursor.offsets[row + 1] = static_cast<uint32_t>(cursor.bytes);
    } else {
      const size_t width = ColumnValueBytes(field.type);
      std::memset(cursor.values + row * width, 0, width);
    }
    return true;
  }

  // Takes back what has been stored of row `row`.
  void Undo() {
    for (Cursor& cursor : cursors) {
      if (cursor.offsets != nullptr) cursor.bytes = cursor.offsets[row];
    }
  }

  uint64_t row;  // the next one
  std::vector<Cursor> cursors;
};

TableFile::TableFile(int fd, std::string name, const TableFileFormat& format, Schema schema)
    : fd_(fd),
      interrupt_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      name_(std::move(name)),
      format_(format),
      schema_(std::move(schema)) {
  fields_.resize(schema_.columns.size());
  for (size_t i = 0; i < fields_.size(); ++i) {
    const ColumnSchema& column = schema_.columns[i];
    fields_[i] = {i, column.type, column.scale, column.nullable};
  }
  for (const uint32_t column : schema_.key) fields_[column].key = true;
}
TableFile::~TableFile() {
  if (interrupt_fd_ >= 0) close(interrupt_fd_);
}

void TableFile::Interrupt() {
  const uint64_t one = 1;
  if (interrupt_fd_ >= 0) (void)!write(interrupt_fd_, &one, sizeof(one));
}

// Which some programs write first, also where there is no header. Not of .tbl: there it is what a
// first string begins with, which has no quotes around it.
void TableFile::SkipByteOrderMark() {
  constexpr absl::string_view kMark = "\xef\xbb\xbf";
  const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
  if (!at_start_ || !format_.delimited.quotes ||
      (absl::StartsWith(kMark, text) && text != kMark && !at_end_))
    return;
  at_start_ = false;
  if (absl::StartsWith(text, kMark)) Take(kMark.size());
}

absl::Status TableFile::Fill() {
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
  // Ends of the text, which are no delimiters, stop a record that is not whole.
  const size_t stops = fields_.size() + 2;
  if (places_.size() < end_ + 8 + stops) places_.resize(end_ + 8 + stops);
  const size_t count = IndexDelimiters(buffer_.data(), 0, end_, format_.delimited.delimiter,
                                       format_.delimited.quotes, places_.data());
  std::fill_n(places_.begin() + static_cast<ptrdiff_t>(count), stops, static_cast<uint32_t>(end_));
  next_place_ = 0;
  return absl::OkStatus();
}

void TableFile::Take(size_t bytes) {
  begin_ += bytes;
  bytes_ += bytes;
}

absl::Status TableFile::Open() {
  if (format_.header == false) return absl::OkStatus();
  const bool certain = format_.header.has_value();
  std::string reason;
  for (;;) {
    const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
    size_t consumed = 0;
    SplitResult result = SplitResult::kNeedMore;
    if (!text.empty() || at_end_) {
      result = SplitRecord(text, at_end_, format_.delimited, split_, scratch_, consumed, reason);
    }
    if (result == SplitResult::kNeedMore) {
      if (text.size() > kRecordBytesMax) {
        return absl::InvalidArgumentError(
            absl::StrCat(name_, ": the header has more than ", kRecordBytesMax, " bytes"));
      }
      if (absl::Status status = Fill(); !status.ok()) return status;
      continue;
    }
    if (result == SplitResult::kBad) {
      if (!certain) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat(name_, " line 1: ", reason));
    }
    std::vector<Field> fields(split_.size());
    std::vector<bool> named(schema_.columns.size());
    for (size_t i = 0; i < split_.size(); ++i) {
      const absl::string_view name = split_[i];
      for (size_t column = 0; column < schema_.columns.size(); ++column) {
        if (schema_.columns[column].name != name) continue;
        if (named[column]) {
          return absl::InvalidArgumentError(
              absl::StrCat(name_, ": the header names column '", name, "' twice"));
        }
        named[column] = true;
        fields[i] = fields_[column];
      }
    }
    const auto first = std::find(named.begin(), named.end(), true);
    const auto missing = std::find(named.begin(), named.end(), false);
    // A first line that has every name, but in other letters, is no row.
    const auto in_other_letters = [&](const ColumnSchema& column) {
      return !CaseHint(split_, column.name).empty();
    };
    if (!certain && first == named.end() &&
        !std::all_of(schema_.columns.begin(), schema_.columns.end(), in_other_letters)) {
      return absl::OkStatus();
    }
    if (missing != named.end()) {
      // To read it as a row would give fields to columns that they are not of.
      const auto name = [&](const auto& at) { return schema_.columns[at - named.begin()].name; };
      return absl::InvalidArgumentError(absl::StrCat(
          name_, ": the header has no column '", name(missing), "' of the table",
          CaseHint(split_, name(missing)), DelimiterHint(split_, format_.delimited.delimiter),
          certain || first == named.end() ? ""
                                          : absl::StrCat("; if the first line, with '", name(first),
                                                         "' in it, is a row, say --no-header")));
    }
    fields_ = std::move(fields);
    const absl::string_view record = text.substr(0, consumed);
    line_ += static_cast<uint64_t>(std::count(record.begin(), record.end(), '\n'));
    Take(consumed);
    // The places again, for as many fields as there are now.
    return Fill();
  }
}

size_t TableFile::FieldOf(uint32_t column) const {
  size_t field = 0;
  while (field + 1 < fields_.size() && fields_[field].column != column) ++field;
  return field;
}

TableFile::Step TableFile::FastRecord(Cursors& to, std::string& complaint) {
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

TableFile::Step TableFile::SkipRestOfLine() {
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

// Quotes, empty lines, bad lines, and those that are not whole yet.
TableFile::Step TableFile::SlowRecord(Cursors& to, std::string& complaint) {
  const absl::string_view text(buffer_.data() + begin_, end_ - begin_);
  size_t consumed = 0;
  std::string problem;
  SplitResult result = text.empty() ? SplitResult::kNeedMore
                                    : SplitRecord(text, at_end_, format_.delimited, split_,
                                                  scratch_, consumed, problem);
  if (result == SplitResult::kNeedMore) {
    if (text.size() <= kRecordBytesMax) return Step::kMore;
    // Give up its first line (or what there is of it) and go on behind.
    problem = absl::StrCat("longer than ", kRecordBytesMax, " bytes: is a quote not closed?");
    in_bad_line_ = text.find('\n') == text.npos;
    consumed = std::min(text.find('\n'), text.size() - 1) + 1;
    result = SplitResult::kBad;
  }
  const bool empty = result == SplitResult::kRecord &&
                     text.substr(0, consumed).find_first_not_of("\r\n") == text.npos;
  const bool blank = empty && !(fields_.size() == 1 && fields_[0].nullable);
  if (result == SplitResult::kRecord && !blank) {
    if (split_.size() != fields_.size()) {
      problem = absl::StrCat(split_.size(), " fields, expected ", fields_.size(),
                             DelimiterHint(split_, format_.delimited.delimiter));
    }
    for (size_t i = 0; i < fields_.size() && problem.empty(); ++i) {
      const Field& field = fields_[i];
      if (field.column == Field::kNone) continue;
      const absl::string_view one = split_[i];
      const bool is_string = field.type == ColumnType::kString;
      if (one.empty() && is_string && field.nullable && one.data() >= scratch_.data() &&
          one.data() <= scratch_.data() + scratch_.size()) {
        // In quotes: an empty string.
        to.cursors[i].validity[to.row >> 3] |= static_cast<uint8_t>(1 << (to.row & 7));
        to.StoreNothing(field, to.cursors[i]);
        continue;
      }
      absl::string_view readable = one;
      if (!is_string && one.size() <= kNumberBytesMax) {
        padded_.assign(one.data(), one.size());
        padded_.append(kPadBytes, '\0');
        readable = absl::string_view(padded_).substr(0, one.size());
      }
      if ((!is_string && one.size() > kNumberBytesMax) ||
          !to.Store<false>(field, to.cursors[i], readable.data(), readable.size())) {
        problem = Complaint(i, one, ColumnRangeText(schema_.columns[field.column]));
      }
    }
  }
  if (!problem.empty()) {
    to.Undo();
    complaint = absl::StrCat(name_, " line ", line_, ": ", problem);
  }
  const absl::string_view record = text.substr(0, consumed);
  line_ += static_cast<uint64_t>(std::count(record.begin(), record.end(), '\n'));
  Take(consumed);
  while (places_[next_place_] < begin_) ++next_place_;
  if (!problem.empty()) return Step::kBad;
  if (blank) return Step::kBlank;
  ++to.row;
  return Step::kRow;
}

std::string TableFile::Complaint(size_t field, absl::string_view text,
                                 absl::string_view what) const {
  const std::string& name = schema_.columns[fields_[field].column].name;
  if (text.empty()) {
    return absl::StrCat("column ", field + 1, " (", name,
                        ") is empty, and may not be null; "
                        "expected a ",
                        what);
  }
  const bool is_nan = fields_[field].key && fields_[field].type == ColumnType::kFloat64;
  return absl::StrCat("column ", field + 1, " (", name, ") is '",
                      client::CutText(text, kShownBytesMax),
                      text.size() > kShownBytesMax ? "..." : "", "', no ", what,
                      is_nan ? "; a key is not NaN" : "");
}

absl::StatusOr<TableFile::Result> TableFile::Read(uint64_t rows_max, client::OwnedRows& rows,
                                                  OnBadLine on_bad_line, uint64_t text_bytes_max) {
  std::string complaint;
  Cursors to(fields_, schema_, rows_max, rows);
  if (to.row == 0) batch_begin_ = bytes_;
  absl::StatusOr<Result> result = Result::kFull;
  while (to.row < rows_max && bytes_ - batch_begin_ < text_bytes_max) {
    const Step step = places_.empty() ? Step::kMore
                      : in_bad_line_  ? SkipRestOfLine()
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
