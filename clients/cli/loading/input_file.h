// The file that `eris import` reads. One compressed with gzip or zstd is unpacked first, into a
// file without a name: so it can be sampled, and read twice. One thread.
#ifndef ERIS_CLIENTS_CLI_LOADING_INPUT_FILE_H_
#define ERIS_CLIENTS_CLI_LOADING_INPUT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace eris::cli {

class InputFile {
 public:
  InputFile() = default;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile();
  // "-": standard input. Blocks while the file is unpacked. Errors: InvalidArgument (it cannot be
  // opened, a directory, compressed data that are damaged or cut off), ResourceExhausted (no
  // memory, or no room in the folder of temporary files), Unavailable (reading failed).
  absl::Status Open(const std::string& path);
  int fd() const { return fd_; }
  const std::string& name() const { return name_; }
  bool seekable() const { return seekable_; }
  uint64_t bytes() const { return bytes_; }  // 0: unknown

 private:
  int fd_ = -1;
  std::string name_;
  bool seekable_ = false;
  uint64_t bytes_ = 0;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_LOADING_INPUT_FILE_H_
