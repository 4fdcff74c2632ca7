#include "clients/cli/loading/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/loading/unpack.h"

namespace eris::cli {

InputFile::~InputFile() {
  if (fd_ > STDIN_FILENO) close(fd_);
}

absl::Status InputFile::Open(const std::string& path) {
  name_ = path == "-" ? "standard input" : path;
  fd_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat info;
  if (fd_ < 0 || fstat(fd_, &info) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a directory"));
  }
  seekable_ = path != "-" && S_ISREG(info.st_mode);
  if (!seekable_) return absl::OkStatus();
  if (const Packing packing = PackingOf(fd_); packing != Packing::kNone) {
    const absl::StatusOr<int> unpacked = Unpack(fd_, name_, packing);
    if (!unpacked.ok()) return unpacked.status();
    close(fd_);
    fd_ = *unpacked;
    if (fstat(fd_, &info) != 0) return absl::UnavailableError(std::strerror(errno));
  }
  bytes_ = static_cast<uint64_t>(info.st_size);
  return absl::OkStatus();
}

}  // namespace eris::cli
