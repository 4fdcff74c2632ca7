#include "clients/cli/text/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/text/interrupt.h"

namespace eris::cli {
namespace {

absl::Status CannotWrite(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot write ", path, ": ", std::strerror(errno)));
}

// The mode that fopen would give a new file.
mode_t ModeOfNewFiles() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

}  // namespace

OutputFile::~OutputFile() {
  if (file_ != nullptr) std::fclose(file_);
  if (!part_.empty()) unlink(part_.c_str());
}

absl::Status OutputFile::Open(const std::string& path) {
  path_ = path;
  struct stat info;
  struct stat link;
  const bool there = stat(path.c_str(), &info) == 0;
  const bool linked = lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  // For /dev/stdout and similar names use the open file, not a replacement.
  const bool opened = absl::StartsWith(path, "/dev/") || absl::StartsWith(path, "/proc/");
  if (opened || (there ? !S_ISREG(info.st_mode) : linked)) {
    file_ = std::fopen(path.c_str(), "we");
    return file_ == nullptr ? CannotWrite(path) : absl::OkStatus();
  }
  target_ = path;
  char real[PATH_MAX];
  if (linked) {
    if (realpath(path.c_str(), real) == nullptr) return CannotWrite(path);
    target_ = real;
  }
  CatchInterrupts();
  std::string part = target_ + ".XXXXXX";
  const int fd = mkstemp(part.data());
  if (fd < 0) return CannotWrite(path);
  part_ = std::move(part);
  if (fchmod(fd, there ? info.st_mode & 07777 : ModeOfNewFiles()) == 0) file_ = fdopen(fd, "w");
  if (file_ != nullptr) return absl::OkStatus();
  absl::Status status = CannotWrite(part_);
  close(fd);
  return status;
}

absl::Status OutputFile::Keep() {
  bool kept = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (kept && !part_.empty()) {
    kept = std::rename(part_.c_str(), target_.c_str()) == 0;
    if (kept) part_.clear();
  }
  if (kept) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot write ", path_, ": ", std::strerror(errno)));
}

}  // namespace eris::cli
