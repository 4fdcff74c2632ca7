// Sends the rows of a file in one stream. One thread, plus one that reads the file.
#ifndef ERIS_CLIENTS_CLI_LOADING_ROW_LOADER_H_
#define ERIS_CLIENTS_CLI_LOADING_ROW_LOADER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "clients/cli/files/row_file.h"
#include "clients/eris_client.h"

namespace eris::cli {

// Handles bad lines.
class BadLines {
 public:
  // `skip`: they are skipped; the first ones are shown on stderr.
  explicit BadLines(bool skip) : skip_(skip) {}

  // Reports one; returns whether to continue after it.
  bool Add(const std::string& complaint);
  // Prints on stderr how many more there were.
  void End() const;

  uint64_t skipped() const { return skipped_; }
  // InvalidArgument: a bad line that was not skipped.
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
  bool hints = false;  // complaints suggest helpful flags
  bool progress = true;
  uint64_t file_bytes = 0;  // 0: unknown
};
struct LoadedRows {
  uint64_t rows = 0;  // acknowledged rows
  uint64_t replaced = 0;
  uint64_t skipped = 0;
  uint64_t bytes = 0;  // bytes of text
};

// Sends the rows of an opened file in one stream; a separate thread reads them. `loaded` is set in
// any case. Errors: InvalidArgument (a bad line; all rows before it have been sent); those of the
// stream; Cancelled (CatchInterrupts).
absl::Status LoadRows(client::Client& client, const ObjectInfo& object, const LoadOptions& options,
                      RowFile& file, LoadedRows& loaded);

// Reads all rows, and sends nothing. Errors: as above.
absl::Status ReadRows(const LoadOptions& options, RowFile& file, LoadedRows& read);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_ROW_LOADER_H_
