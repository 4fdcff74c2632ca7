// How much memory a NumaNode has left, as the kernel tells it. Pure file reading, any thread.
#ifndef ERIS_TOPOLOGY_FREE_MEMORY_H_
#define ERIS_TOPOLOGY_FREE_MEMORY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "topology/topology.h"

namespace eris::topology {

// What can be had there without killing anybody: free pages, and cached file pages that nobody has
// used of late. `directory` is where the kernel shows the NumaNodes. nullopt: nothing can be read.
std::optional<uint64_t> FreeMemoryBytes(const NumaNode& node,
                                        const std::string& directory = "/sys/devices/system/node");

// What the kernel keeps of it for itself: a program that asks for memory bound to the NumaNode
// while less than that is free is ended, sooner or later. On a small machine with huge pages it is
// a twentieth of all memory. Reads a long file: once is enough. 0: nothing can be read.
uint64_t KernelReserveBytes(const NumaNode& node, const std::string& file = "/proc/zoneinfo");

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_FREE_MEMORY_H_
