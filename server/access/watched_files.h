// Files that are read again when they change: at start, and then by Poll, once a second on the
// server's timer. A bad file changes nothing: what was read before stays in force, and the problem
// is logged and counted once.
#ifndef ERIS_SERVER_ACCESS_WATCHED_FILES_H_
#define ERIS_SERVER_ACCESS_WATCHED_FILES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::server {

// Errors: NotFound, PermissionDenied and the like (it cannot be read); InvalidArgument (longer than
// `bytes_max`). Messages begin with `what`.
absl::StatusOr<std::string> ReadFile(absl::string_view what, const std::string& path,
                                     size_t bytes_max);

class WatchedFiles {
 public:
  // Reads the files and, if they are good, takes them over.
  using Load = std::function<absl::Status()>;

  // `what`: for the log, such as "tokens file".
  WatchedFiles(std::string what, std::vector<std::string> paths, Load load);
  WatchedFiles(const WatchedFiles&) = delete;
  WatchedFiles& operator=(const WatchedFiles&) = delete;

  // For the start of the server. Errors: those of `load`.
  absl::Status LoadFirst();
  // Loads again if a file is another one, or has changed. Files that belong together are replaced
  // one after another, so a bad state is reported only if the next Poll finds it, too. One thread
  // at a time; blocks for as long as the files take to read.
  void Poll();

  // Any thread. Times that changed files were taken over, and that they were refused.
  uint64_t reloads() const { return reloads_.load(std::memory_order_relaxed); }
  uint64_t refusals() const { return refusals_.load(std::memory_order_relaxed); }

 private:
  // What changes if a file is written or replaced.
  struct Stamp {
    int error = 0;  // it cannot be looked at
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t size = 0;
    int64_t modified_ns = 0;
    int64_t changed_ns = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  using Stamps = std::vector<Stamp>;
  Stamps Look() const;

  // Immutable after construction.
  const std::string what_;
  const std::vector<std::string> paths_;
  const Load load_;

  // Owned by the thread that polls.
  Stamps loaded_;
  Stamps refused_;  // a bad state, which the last Poll found; empty: none
  bool reported_ = false;

  // Shared: written by Poll. Relaxed: numbers to show, they publish no data.
  std::atomic<uint64_t> reloads_{0};
  std::atomic<uint64_t> refusals_{0};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_ACCESS_WATCHED_FILES_H_
