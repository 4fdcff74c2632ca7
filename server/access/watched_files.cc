#include "server/access/watched_files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/log/log.h"

namespace eris::server {

absl::StatusOr<std::string> ReadFile(absl::string_view what, const std::string& path,
                                     size_t bytes_max) {
  std::FILE* const file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path));
  std::string text;
  char block[16 << 10];
  size_t count = 0;
  while (text.size() <= bytes_max && (count = std::fread(block, 1, sizeof block, file)) > 0) {
    text.append(block, count);
  }
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  std::fclose(file);
  if (failed) return absl::ErrnoToStatus(error, absl::StrCat(what, " ", path));
  if (text.size() <= bytes_max) return text;
  return absl::InvalidArgumentError(
      absl::StrCat(what, " ", path, " has more than ", bytes_max, " bytes"));
}

WatchedFiles::WatchedFiles(std::string what, std::vector<std::string> paths, Load load)
    : what_(std::move(what)), paths_(std::move(paths)), load_(std::move(load)) {}

WatchedFiles::Stamps WatchedFiles::Look() const {
  constexpr int64_t kNanos = 1'000'000'000;
  Stamps stamps;
  for (const std::string& path : paths_) {
    struct stat status = {};
    Stamp& stamp = stamps.emplace_back();
    if (stat(path.c_str(), &status) != 0) {
      stamp.error = errno;
      continue;
    }
    stamp.device = status.st_dev;
    stamp.inode = status.st_ino;
    stamp.size = status.st_size;
    stamp.modified_ns = status.st_mtim.tv_sec * kNanos + status.st_mtim.tv_nsec;
    stamp.changed_ns = status.st_ctim.tv_sec * kNanos + status.st_ctim.tv_nsec;
  }
  return stamps;
}

absl::Status WatchedFiles::LoadFirst() {
  loaded_ = Look();
  return load_();
}

void WatchedFiles::Poll() {
  Stamps now = Look();  // before the load: what changes meanwhile is seen by the next Poll
  if (now == loaded_) {
    refused_.clear();  // the files that were replaced are there again
    return;
  }
  const absl::Status status = load_();
  if (status.ok()) {
    loaded_ = std::move(now);
    refused_.clear();
    reloads_.fetch_add(1, std::memory_order_relaxed);
    Log(LogLevel::kInfo, absl::StrCat(what_, " read again"),
        {{"files", absl::StrJoin(paths_, " ")}});
  } else if (now != refused_) {
    refused_ = std::move(now);
    reported_ = false;
  } else if (!std::exchange(reported_, true)) {
    refusals_.fetch_add(1, std::memory_order_relaxed);
    Log(LogLevel::kWarning, absl::StrCat(what_, " refused, what was read before stays in force"),
        {{"reason", std::string(status.message())}});
  }
}

}  // namespace eris::server
