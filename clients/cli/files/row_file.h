// Files of delimited text, or of NDJSON, as columns of an object: the part of `eris import` that
// needs no server.
// Two passes over blocks that stay in the cache: where fields end (delimiter_index.h), then their
// values, straight into buffers of Arrow's layout. Some 1 GB/s of text on one core. One thread at a
// time, but for Interrupt.
#ifndef ERIS_CLIENTS_CLI_FILES_ROW_FILE_H_
#define ERIS_CLIENTS_CLI_FILES_ROW_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "clients/cli/files/delimited.h"
#include "clients/cli/files/file_columns.h"
#include "clients/cli/ndjson/json_records.h"
#include "clients/rows.h"
#include "eris/schema.h"

namespace eris::cli {

class RowFile {
 public:
  // The most text of one batch, where the server takes that much.
  static constexpr uint64_t kBatchTextBytesMax = 8 << 20;

  // `fd` stays the caller's; `name` is for messages.
  RowFile(int fd, std::string name, const RowFileFormat& format, Schema schema);
  RowFile(const RowFile&) = delete;
  RowFile& operator=(const RowFile&) = delete;
  ~RowFile();

  // Settles which field is which column, if need be by the first record, and passes over a header.
  // Errors: InvalidArgument (FindColumns), Unavailable (reading failed).
  absl::Status Open();

  enum class Result {
    kFull,     // rows_max rows, or text_bytes_max bytes of text, are there
    kBadLine,  // on_bad_line has said stop; rows before it are there, the next Read goes on behind
               // it
    kEnd,
  };
  // Appends rows to `rows`, which is fresh, or as an earlier call has left it; where it comes from
  // a batch that was used, Reset it before. An empty field is null in a column that may be;
  // in quotes it is an empty string. Empty lines are passed over, but in files of one field that
  // may be null. Each bad line is told to `on_bad_line`, and passed over where that returns true: a
  // Read lays out room for rows_max rows, which must not be done again for every bad line. Errors:
  // Unavailable, Cancelled (Interrupt; CatchInterrupts).
  using OnBadLine = absl::FunctionRef<bool(const std::string& complaint)>;
  absl::StatusOr<Result> Read(uint64_t rows_max, client::OwnedRows& rows, OnBadLine on_bad_line,
                              uint64_t text_bytes_max = kBatchTextBytesMax);
  // Makes rows empty, and keeps their memory.
  static void Reset(client::OwnedRows& rows) { rows.rows = 0; }
  // A Read that waits for a pipe, and all later ones, end with Cancelled. Any thread.
  void Interrupt();

  uint64_t bytes_read() const { return bytes_; }  // up to the end of the last record
  // Which field of a record the column is; after Open.
  size_t FieldOf(uint32_t column) const;
  // All fields of the line that on_bad_line has just got a complaint about which are no values of
  // their columns. Empty: the line itself is bad. Only on the thread that reads, or when it has
  // ended.
  struct BadValue {
    static constexpr size_t kNone = FileColumns::kNone;
    size_t column;  // of the object; kNone: no column, of a key of NDJSON that the format lacks
    std::string text;
    std::string complaint;
    std::string key{};       // of NDJSON, if there is no column
    bool is_string = false;  // then: the text was in quotes
  };
  const std::vector<BadValue>& bad_values() const { return bad_values_; }
  // From the next record on the column has another type, or the text is null, too. The next Read
  // needs a batch that is new, or Reset.
  void SetType(size_t column, ColumnType type);
  void AddNull(const std::string& text);
  // From the next record on the key of NDJSON is one more column, behind the others.
  void AddColumn(const std::string& key, const ColumnSchema& column);

  // As SplitRecord, of a record of this file. After Open; fields are those of FieldOf.
  SplitResult SplitOne(absl::string_view text, bool at_end, std::vector<absl::string_view>& fields,
                       std::string& scratch, size_t& consumed, std::string& problem);
  // Keys of NDJSON that are no columns, as far as the file has been read, some of them at least.
  const std::set<std::string>& passed_over() const { return passed_over_; }
  // What would help against the complaint that on_bad_line has just got: flags for a new object.
  // Empty unless columns were chosen. Only on the thread that reads.
  std::string hint() const;

 private:
  struct Field;    // what becomes of one field of a record
  struct Cursors;  // where the values of the next row go
  enum class Step { kRow, kBlank, kMore, kBad };

  absl::Status SkipLines();
  absl::Status Fill();
  void LookForUtf8();
  void Index();
  void SkipByteOrderMark();
  SplitResult Split(absl::string_view text, size_t& consumed, std::string& problem);
  void SetFields(const FileColumns& columns);
  void SetField(Field& field) const;
  Step SkipRestOfLine();
  Step FastRecord(Cursors& to, std::string& complaint);
  Step SlowRecord(Cursors& to, std::string& complaint);
  std::string ReadSplit(Cursors& to);
  std::string ReadKeys(Cursors& to);
  void TakeOtherKeys(std::string& problem);
  std::string NoKeyIsAColumn() const;
  std::string Complaint(size_t field, absl::string_view text) const;
  std::string Located(absl::string_view problem) const;  // on the record's line
  void Take(size_t bytes);

  // Immutable after Open, but for SetType, AddNull and AddColumn.
  const int fd_;
  const int interrupt_fd_;  // -1: cannot be interrupted
  const std::string name_;
  RowFileFormat format_;
  Schema schema_;
  std::vector<Field> fields_;
  std::vector<std::string> names_;     // of fields, in the file; empty: unknown
  std::optional<JsonRecords> json_{};  // of NDJSON

  std::vector<char> buffer_;  // the text in [begin_, end_), and a pad behind it
  size_t begin_ = 0;
  size_t end_ = 0;
  bool at_start_ = true;          // of the file: nothing has been looked at
  bool at_end_ = false;           // of the file
  bool text_is_utf8_ = false;     // all of the text, but for a last character
  bool in_bad_line_ = false;      // what comes up to the next line end belongs to one given up
  std::vector<uint32_t> places_;  // of delimiters and line ends in the text, then end_ repeatedly
  size_t next_place_ = 0;         // of the record at begin_
  uint64_t bytes_ = 0;
  uint64_t batch_begin_ = 0;  // bytes_ where the rows of the batch being filled begin
  uint64_t line_ = 1;         // of the record at begin_
  // The field of split_ that the last complaint is about; unset: it is about the whole line.
  std::optional<size_t> bad_field_;
  std::vector<BadValue> bad_values_;
  std::set<std::string> passed_over_;
  std::vector<absl::string_view> split_;
  std::string scratch_;
  std::string padded_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_ROW_FILE_H_
