#include "clients/cli/text/interrupt.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace eris::cli {
namespace {

// Written by the handler. relaxed: it ends loops, and publishes no data.
std::atomic<bool> signalled = false;
// Readable once a signal has arrived. -1: signals are not caught. Written before the handler is
// installed, and before other threads that read it begin.
int signal_fd = -1;

void OnSignal(int number) {
  if (signalled.exchange(true, std::memory_order_relaxed)) {
    // Delivered when the handler returns.
    std::signal(number, SIG_DFL);
    std::raise(number);
    return;
  }
  const int error = errno;
  const uint64_t one = 1;
  (void)!write(signal_fd, &one, sizeof one);
  errno = error;
}

}  // namespace

void CatchInterrupts() {
  if (signal_fd >= 0) return;
  signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signal_fd < 0) return;  // then signals end the program, as by default
  for (const int number : {SIGINT, SIGTERM}) {
    struct sigaction action = {};
    if (sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = OnSignal;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

absl::Status CheckInterrupted() {
  if (!signalled.load(std::memory_order_relaxed)) return absl::OkStatus();
  return absl::CancelledError("interrupted");
}

absl::Status AwaitReadable(int fd, int other_fd) {
  pollfd waits[] = {{fd, POLLIN, 0}, {other_fd, POLLIN, 0}, {signal_fd, POLLIN, 0}};
  while (poll(waits, 3, -1) < 0) {  // ignores -1
    if (errno != EINTR && errno != EAGAIN) {
      return absl::UnavailableError(absl::StrCat("cannot wait: ", std::strerror(errno)));
    }
  }
  if (waits[2].revents != 0) return absl::CancelledError("interrupted");
  if (waits[1].revents != 0) return absl::CancelledError("reading was interrupted");
  return absl::OkStatus();
}

}  // namespace eris::cli
