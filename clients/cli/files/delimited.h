// Records of delimited text: CSV as RFC 4180 has it, and TPC-H's .tbl ('|' behind every field).
// SplitRecord is a pure function; DelimitedReader feeds it from a file. One thread.
#ifndef ERIS_CLIENTS_CLI_FILES_DELIMITED_H_
#define ERIS_CLIENTS_CLI_FILES_DELIMITED_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::cli {

struct DelimitedFormat {
  char delimiter = ',';
  bool quotes = true;               // "a ""quoted"" field, with delimiters and line ends"
  bool trailing_delimiter = false;  // a delimiter before the line end starts no further field
};

// A longer record is refused: most likely a quote that nobody closed.
inline constexpr size_t kRecordBytesMax = 1 << 20;

enum class SplitResult {
  kRecord,    // `fields` is set
  kNeedMore,  // the record goes on behind `text`
  kBad,       // `reason` is set
};

// Splits the record at the start of `text`. `fields` point into `text`, or into `scratch` where
// quotes were taken off. `consumed`: bytes up to and with the record's line end; of a bad record,
// its first line only. `at_end`: nothing follows `text`. An empty line is a record of one empty
// field.
SplitResult SplitRecord(absl::string_view text, bool at_end, const DelimitedFormat& format,
                        std::vector<absl::string_view>& fields, std::string& scratch,
                        size_t& consumed, std::string& reason);

class DelimitedReader {
 public:
  // `fd` stays the caller's.
  DelimitedReader(int fd, const DelimitedFormat& format);

  enum class Result { kRecord, kBad, kEnd };
  // The next record that is no empty line. `fields` (until the next call) and `reason` as in
  // SplitRecord. Errors: Unavailable (reading failed), Cancelled (CatchInterrupts).
  absl::StatusOr<Result> Next(std::vector<absl::string_view>& fields, std::string& reason);

  uint64_t line() const { return line_; }         // of the last record's start, from 1
  uint64_t bytes_read() const { return bytes_; }  // up to the end of the last record

 private:
  absl::Status Fill();
  void Take(size_t bytes) {
    begin_ += bytes;
    bytes_ += bytes;
  }

  const int fd_;
  const DelimitedFormat format_;
  std::string buffer_;
  size_t begin_ = 0;  // what is left of buffer_
  bool at_end_ = false;
  bool in_bad_line_ = false;  // what comes up to the next line end belongs to one given up
  uint64_t bytes_ = 0;
  uint64_t line_ = 0;
  uint64_t next_line_ = 1;
  std::string scratch_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_DELIMITED_H_
