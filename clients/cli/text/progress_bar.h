// A progress bar on stderr if that is a terminal; otherwise silent. It appears only after two
// seconds, so that brief commands print nothing more. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_PROGRESS_BAR_H_
#define ERIS_CLIENTS_CLI_TEXT_PROGRESS_BAR_H_

#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/time/time.h"

namespace eris::cli {

struct Progress {
  uint64_t done = 0;   // in the unit of the total
  uint64_t total = 0;  // 0: unknown; then only rows and rate are shown
  uint64_t rows = 0;
};

// "[####......]  40 %  4000 rows, 2000 rows/s, 3 s left", without a line end. The time left is an
// estimate: as if all parts took as long as those done in the past `seconds`. Pure.
std::string ProgressText(const Progress& progress, double seconds);

class ProgressBar {
 public:
  // `total`: as Progress::total.
  ProgressBar(uint64_t total, bool enabled);
  // Removes the bar from the terminal.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // Draws at most ten times a second.
  void Show(uint64_t done, uint64_t rows);
  // Removes the bar until the next Show, so that another line can be printed.
  void Clear();

 private:
  const uint64_t total_;
  const bool enabled_;
  const absl::Time start_;
  absl::Time drawn_ = absl::InfinitePast();
  bool shown_ = false;
};

// Whether a bar can be seen: stderr is a terminal.
bool ProgressIsSeen();
// For rows that are written to `file`: only if they go into a file. On the same terminal, or on
// that of a pager behind a pipe, the bar would be in the way.
bool ProgressIsSeenBy(std::FILE* file);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_PROGRESS_BAR_H_
