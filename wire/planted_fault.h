// Faults that can be planted in a test build of this folder (ERIS_WIRE_FAULTS), to show that the
// tests find them. Other builds do not contain them.
#ifndef ERIS_WIRE_PLANTED_FAULT_H_
#define ERIS_WIRE_PLANTED_FAULT_H_

#include <cstdint>

namespace eris::wire {

enum class WireFault : uint8_t {
  kNone = 0,
  kBelieveOffsets = 1,  // offsets of a client's strings are not compared with their bytes
};
#ifdef ERIS_WIRE_FAULTS
inline WireFault planted_wire_fault = WireFault::kNone;
inline bool IsPlanted(WireFault fault) { return planted_wire_fault == fault; }
#else
constexpr bool IsPlanted(WireFault) { return false; }
#endif

}  // namespace eris::wire

#endif  // ERIS_WIRE_PLANTED_FAULT_H_
