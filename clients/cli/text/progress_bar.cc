#include "clients/cli/text/progress_bar.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace eris::cli {

ProgressBar::ProgressBar(uint64_t bytes_total, bool enabled)
    : bytes_total_(bytes_total),
      enabled_(enabled && isatty(STDERR_FILENO) == 1),
      start_(absl::Now()) {}

ProgressBar::~ProgressBar() {
  // Carriage return, erase to the end of the line.
  if (enabled_ && drawn_ != absl::InfinitePast()) std::fputs("\r\033[K", stderr);
}

void ProgressBar::Show(uint64_t bytes, uint64_t rows) {
  if (!enabled_) return;
  const absl::Time now = absl::Now();
  if (now - drawn_ < absl::Milliseconds(100)) return;
  drawn_ = now;
  const double rate =
      static_cast<double>(rows) / std::max(1e-3, absl::ToDoubleSeconds(now - start_));
  std::string line = "\r";
  if (bytes_total_ > 0) {
    constexpr int kWidth = 30;
    const double done =
        std::min(1.0, static_cast<double>(bytes) / static_cast<double>(bytes_total_));
    const int filled = static_cast<int>(done * kWidth);
    line += absl::StrFormat("[%s%s] %3.0f %%  ", std::string(filled, '#'),
                            std::string(kWidth - filled, '.'), done * 100);
  }
  line += absl::StrFormat("%d rows, %.0f rows/s\033[K", rows, rate);
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

}  // namespace eris::cli
