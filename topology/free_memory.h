// How much free memory a NumaNode has, as the kernel reports it. Pure file reading, any thread.
#ifndef ERIS_TOPOLOGY_FREE_MEMORY_H_
#define ERIS_TOPOLOGY_FREE_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "topology/topology.h"

namespace eris::topology {

// Memory available there without killing any process: free pages, and cached file pages that have
// not been used recently. `directory` is where the kernel shows the NumaNodes. nullopt: nothing can
// be read.
std::optional<uint64_t> FreeMemoryBytes(const NumaNode& node,
                                        const std::string& directory = "/sys/devices/system/node");

// The part of the free memory that the kernel keeps for itself. A program that asks for memory
// bound to the NumaNode while less than this is free will be killed sooner or later. On a small
// machine with huge pages it is a twentieth of all memory. Reads a long file: once is enough. 0:
// nothing can be read.
uint64_t KernelReserveBytes(const NumaNode& node, const std::string& file = "/proc/zoneinfo");

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_FREE_MEMORY_H_
