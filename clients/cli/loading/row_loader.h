// Sends the rows of a file in one stream. One thread, and one that reads.
#ifndef ERIS_CLIENTS_CLI_FILES_ROW_LOADER_H_
#define ERIS_CLIENTS_CLI_FILES_ROW_LOADER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "clients/cli/files/row_file.h"
#include "clients/eris_client.h"

namespace eris::cli {

// What becomes of lines that are bad.
class BadLines {
 public:
  // `skip`: they are passed over; the first ones are shown on stderr.
  explicit BadLines(bool skip) : skip_(skip) {}

  // What is said of one; whether to go on behind it.
  bool Add(const std::string& complaint);
  // Says on stderr how many more there were.
  void End() const;

  uint64_t skipped() const { return skipped_; }
  // InvalidArgument: a bad line that is not skipped.
  const absl::Status& status() const { return status_; }

 private:
  const bool skip_;
  uint64_t skipped_ = 0;
  absl::Status status_;
};

struct LoadOptions {
  // The limits of one batch.
  uint64_t rows_max = 32768;
  uint64_t text_bytes_max = RowFile::kBatchTextBytesMax;
  uint32_t in_flight = 8;
  bool skip_bad_lines = false;
  bool hints = false;  // a complaint says which flags would help
  bool progress = true;
  uint64_t file_bytes = 0;  // 0: unknown
};
struct LoadedRows {
  uint64_t rows = 0;  // acknowledged
  uint64_t replaced = 0;
  uint64_t skipped = 0;
  uint64_t bytes = 0;  // of text
};

// Sends the rows of an opened file in one stream; a thread of its own reads them. `loaded` is set
// in any case. Errors: InvalidArgument (a bad line, all rows before which have been sent); those of
// the stream; Cancelled (CatchInterrupts).
absl::Status LoadRows(client::Client& client, const ObjectInfo& object, const LoadOptions& options,
                      RowFile& file, LoadedRows& loaded);

// Reads them all, and sends nothing. Errors: as above.
absl::Status ReadRows(const LoadOptions& options, RowFile& file, LoadedRows& read);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_FILES_ROW_LOADER_H_
