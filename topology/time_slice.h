// How long the calling thread runs before other threads that wait for its cpu get their turn. Linux
// 6.12 and later; older systems have one slice for all.
#ifndef ERIS_TOPOLOGY_TIME_SLICE_H_
#define ERIS_TOPOLOGY_TIME_SLICE_H_

#include <cstdint>

namespace eris::topology {

// The system's minimum.
inline constexpr uint64_t kTimeSliceNsMin = 100'000;

// Asks for slices of `ns`; the thread's policy and priority do not change. If other threads want
// the cpu, this thread is woken sooner and preempted sooner; its share stays the same. False: the
// system refuses, or the thread has another policy than the normal one.
bool SetTimeSlice(uint64_t ns);
// The slice that has been requested. 0: none, or unknown.
uint64_t TimeSliceNs();

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_TIME_SLICE_H_
