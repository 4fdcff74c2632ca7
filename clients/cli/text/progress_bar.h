// A progress bar on stderr if that is a terminal; otherwise silent. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_PROGRESS_BAR_H_
#define ERIS_CLIENTS_CLI_TEXT_PROGRESS_BAR_H_

#include <cstdint>

#include "absl/time/time.h"

namespace eris::cli {

class ProgressBar {
 public:
  // `bytes_total` 0: unknown; then only rows and rate are shown.
  ProgressBar(uint64_t bytes_total, bool enabled);
  // Removes the bar from the terminal.
  ~ProgressBar();

  // Draws at most ten times a second.
  void Show(uint64_t bytes, uint64_t rows);

 private:
  const uint64_t bytes_total_;
  const bool enabled_;
  const absl::Time start_;
  absl::Time drawn_ = absl::InfinitePast();
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_PROGRESS_BAR_H_
