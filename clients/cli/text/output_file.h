// The file that a verb writes: a regular one is there whole or not at all, and two that write it at
// once do not mix. One thread.
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
  // What was not kept is gone, and the file as it was.
  ~OutputFile();

  // From here on signals are caught if there is something to remove (CatchInterrupts).
  // A regular or a new file is written under a temporary name, in the folder to which its links
  // lead; anything else (a pipe, a device, a link to nothing) directly. Blocks as opening a pipe
  // does. Errors: InvalidArgument.
  absl::Status Open(const std::string& path);
  std::FILE* file() const { return file_; }  // null unless Open was ok

  // Closes it and moves it to its place. Once. Errors: FailedPrecondition.
  absl::Status Keep();

 private:
  std::string path_;
  std::string target_;  // where links lead; empty: written directly
  std::string part_;    // beside it; empty: there is none
  std::FILE* file_ = nullptr;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_OUTPUT_FILE_H_
