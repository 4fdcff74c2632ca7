// Records of delimited text: CSV as RFC 4180 has it, and TPC-H's .tbl ('|' behind every field).
// A pure function; any thread.
#ifndef ERIS_CLIENTS_CLI_FILES_DELIMITED_H_
#define ERIS_CLIENTS_CLI_FILES_DELIMITED_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace eris::cli {

struct DelimitedFormat {
  char delimiter = ',';
  // "a ""quoted"" field, with delimiters and line ends": quotes at its beginning and its end. In
  // other fields they are text.
  bool quotes = true;
  bool trailing_delimiter = false;  // a delimiter before the line end starts no further field
  // In quotes: a quote behind it is text, and so is a second one of it. 0: there is none.
  char escape = '\0';
};

// A longer record is refused: most likely a quote that nobody closed.
inline constexpr size_t kRecordBytesMax = 4 << 20;

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

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_DELIMITED_H_
