#include "topology/time_slice.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace eris::topology {
namespace {

// The kernel's struct sched_attr, first version; the C library does not declare it.
struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime_ns = 0;  // for normal threads: their slice
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};
static_assert(sizeof(Attributes) == 48);

bool Get(Attributes& attributes) {
  return syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) == 0;
}

}  // namespace

bool SetTimeSlice(uint64_t ns) {
  Attributes attributes;
  if (!Get(attributes) || attributes.policy != SCHED_OTHER) return false;
  attributes.size = sizeof attributes;
  attributes.runtime_ns = ns;
  return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0;
}

uint64_t TimeSliceNs() {
  Attributes attributes;
  return Get(attributes) ? attributes.runtime_ns : 0;
}

}  // namespace eris::topology
