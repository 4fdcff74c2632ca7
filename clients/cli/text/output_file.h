// The file that a verb writes: a regular one appears complete or not at all, and two concurrent
// writers do not mix. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_OUTPUT_FILE_H_
#define ERIS_CLIENTS_CLI_TEXT_OUTPUT_FILE_H_

#include <cstdio>
#include <string>

#include "absl/status/status.h"

namespace eris::cli {

class OutputFile {
 public:
  OutputFile() = default;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Discards what was not kept; the old file is unchanged.
  ~OutputFile();

  // From here on signals are caught if there is something to remove (CatchInterrupts).
  // A regular or new file is written under a temporary name, in the folder to which its links lead;
  // anything else (a pipe, a device, a dangling link) directly. Blocks if opening blocks, as for a
  // pipe. Errors: InvalidArgument.
  absl::Status Open(const std::string& path);
  std::FILE* file() const { return file_; }  // null unless Open was ok

  // Closes it and renames it to its final name. Once. Errors: FailedPrecondition.
  absl::Status Keep();

 private:
  std::string path_;
  std::string target_;  // target of the links; empty: written directly
  std::string part_;    // temporary file in the same folder; empty: none
  std::FILE* file_ = nullptr;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_OUTPUT_FILE_H_
