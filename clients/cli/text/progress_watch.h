// The progress bar of a call that blocks: a thread asks every half second how far it is.
#ifndef ERIS_CLIENTS_CLI_TEXT_PROGRESS_WATCH_H_
#define ERIS_CLIENTS_CLI_TEXT_PROGRESS_WATCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "absl/synchronization/notification.h"

namespace eris::cli {

class ProgressWatch {
 public:
  // How many rows are done; unset: it cannot be told now.
  using Look = std::function<std::optional<uint64_t>()>;

  // `total`: of rows; 0: unknown. `look` runs in a thread of the watch, and must be short: the end
  // of the watch waits for it. Without a terminal there is no thread, and `look` never runs.
  ProgressWatch(uint64_t total, Look look);
  // Removes the bar.
  ~ProgressWatch();
  ProgressWatch(const ProgressWatch&) = delete;
  ProgressWatch& operator=(const ProgressWatch&) = delete;

 private:
  void Run(uint64_t total, const Look& look);

  absl::Notification ended_;
  std::thread thread_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_PROGRESS_WATCH_H_
