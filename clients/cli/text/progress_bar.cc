#include "clients/cli/text/progress_bar.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"

namespace eris::cli {
namespace {

constexpr absl::Duration kUnseenAtFirst = absl::Seconds(2);
constexpr absl::Duration kBetweenDrawings = absl::Milliseconds(100);
constexpr int kWidth = 20;

// "8 s", "3 min 20 s", "2 h 05 min".
std::string TimeText(double seconds) {
  constexpr double kMost = 1000 * 3600.0;  // estimates beyond that say nothing
  if (!(seconds < kMost)) return "";
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d min %02d s", whole / 60, whole % 60);
  return absl::StrFormat("%d h %02d min", whole / 3600, whole % 3600 / 60);
}

// A line that is longer than the terminal is wide could not be overwritten.
std::string Fitting(std::string line) {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1) {
    line.resize(std::min<size_t>(line.size(), size.ws_col - 1));
  }
  return line;
}

}  // namespace

std::string ProgressText(const Progress& progress, double seconds) {
  const double rate = static_cast<double>(progress.rows) / std::max(1e-3, seconds);
  const std::string rows = absl::StrFormat("%d rows, %.0f rows/s", progress.rows, rate);
  if (progress.total == 0) return rows;
  const double part =
      std::min(1.0, static_cast<double>(progress.done) / static_cast<double>(progress.total));
  const int filled = static_cast<int>(part * kWidth);
  std::string line = absl::StrFormat("[%s%s] %3.0f %%  %s", std::string(filled, '#'),
                                     std::string(kWidth - filled, '.'), part * 100, rows);
  const std::string left = part > 0 ? TimeText(seconds * (1 - part) / part) : "";
  if (!left.empty()) absl::StrAppend(&line, ", ", left, " left");
  return line;
}

bool ProgressIsSeen() { return isatty(STDERR_FILENO) == 1; }

bool ProgressIsSeenBy(std::FILE* file) {
  struct stat info {};
  return ProgressIsSeen() && fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
}

ProgressBar::ProgressBar(uint64_t total, bool enabled)
    : total_(total), enabled_(enabled && ProgressIsSeen()), start_(absl::Now()) {}

ProgressBar::~ProgressBar() { Clear(); }

void ProgressBar::Clear() {
  // Carriage return, erase to the end of the line.
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void ProgressBar::Show(uint64_t done, uint64_t rows) {
  if (!enabled_) return;
  const absl::Time now = absl::Now();
  if (now - start_ < kUnseenAtFirst || now - drawn_ < kBetweenDrawings) return;
  drawn_ = now;
  shown_ = true;
  const std::string line = ProgressText({done, total_, rows}, absl::ToDoubleSeconds(now - start_));
  std::fprintf(stderr, "\r%s\033[K", Fitting(line).c_str());
  std::fflush(stderr);
}

}  // namespace eris::cli
