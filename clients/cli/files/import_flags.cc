#include "clients/cli/files/import_flags.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace eris::cli {

bool IsTblPath(absl::string_view path) {
  return absl::EndsWith(path, ".tbl") || absl::StrContains(path, ".tbl.");
}

bool ImportFlags::IsTbl() const { return format.empty() ? IsTblPath(path) : format == "tbl"; }

absl::StatusOr<DelimitedFormat> ImportFlags::Delimited() const {
  DelimitedFormat delimited = IsTbl() ? DelimitedFormat{'|', false, true} : DelimitedFormat{};
  if (delimiter == "\\t" || delimiter == "tab") {
    delimited.delimiter = '\t';
  } else if (delimiter.size() == 1 && delimiter != "\"" && delimiter != "\n") {
    delimited.delimiter = delimiter[0];
  } else if (!delimiter.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("--delimiter '", delimiter, "' is not one character (or tab)"));
  }
  return delimited;
}

void SayExpectIsIdle(const ImportFlags& flags) {
  if (flags.expect.empty()) return;
  std::fprintf(stderr, "eris: --expect %s does nothing: %s exists, and keeps its bounds\n",
               flags.expect.c_str(), flags.object.c_str());
}

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
  bytes_ = seekable_ ? static_cast<uint64_t>(info.st_size) : 0;
  return absl::OkStatus();
}

}  // namespace eris::cli
