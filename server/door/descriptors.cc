#include "server/door/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace eris::server {

uint64_t RaiseDescriptorLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &raised) != 0) return limit.rlim_cur;
  return raised.rlim_cur;
}

uint64_t ConnectionsWithin(uint64_t descriptors, uint64_t used) {
  constexpr uint64_t kPerConnection = 2;
  // For what the process opens later: files of exports, the page's connections, gRPC's own.
  constexpr uint64_t kOthers = 96;
  const uint64_t taken = used + kOthers;
  if (descriptors <= taken + kPerConnection) return 1;
  return (descriptors - taken) / kPerConnection;
}

uint64_t DescriptorsInUse() {
  const int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (lowest < 0) return 0;
  close(lowest);
  return static_cast<uint64_t>(lowest);
}

DescriptorReserve::~DescriptorReserve() {
  while (Release()) {
  }
}

void DescriptorReserve::Refill() {
  while (files_.size() < kReserve) {
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    files_.push_back(file);
  }
}

bool DescriptorReserve::Release() {
  if (files_.empty()) return false;
  close(files_.back());
  files_.pop_back();
  return true;
}

}  // namespace eris::server
