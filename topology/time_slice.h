// How long the calling thread runs before others that wait for its cpu get their turn. Linux 6.12
// and later; older systems have one slice for all.
#ifndef ERIS_TOPOLOGY_TIME_SLICE_H_
#define ERIS_TOPOLOGY_TIME_SLICE_H_

#include <cstdint>

namespace eris::topology {

// The system's least one.
inline constexpr uint64_t kTimeSliceNsMin = 100'000;

// Asks for slices of `ns`; the thread's policy and priority stay as they are. It is woken sooner
// and put aside sooner where others want the cpu; its share stays the same. False: the system
// refuses, or the thread has another policy than the usual one.
bool SetTimeSlice(uint64_t ns);
// What has been asked for. 0: nothing, or the system does not say.
uint64_t TimeSliceNs();

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_TIME_SLICE_H_
