#include "clients/cli/text/progress_watch.h"

#include <utility>

#include "absl/time/time.h"
#include "clients/cli/text/progress_bar.h"

namespace eris::cli {

ProgressWatch::ProgressWatch(uint64_t total, Look look) {
  if (!ProgressIsSeen()) return;
  thread_ = std::thread([this, total, look = std::move(look)] { Run(total, look); });
}

ProgressWatch::~ProgressWatch() {
  ended_.Notify();
  if (thread_.joinable()) thread_.join();
}

void ProgressWatch::Run(uint64_t total, const Look& look) {
  ProgressBar bar(total, /*enabled=*/true);
  // The first look comes when the bar may appear.
  absl::Duration wait = absl::Seconds(2);
  while (!ended_.WaitForNotificationWithTimeout(wait)) {
    if (const std::optional<uint64_t> rows = look()) bar.Show(*rows, *rows);
    wait = absl::Milliseconds(500);
  }
}

}  // namespace eris::cli
