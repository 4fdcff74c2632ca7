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

}  // namespace eris::topology

#endif  // ERIS_TOPOLOGY_FREE_MEMORY_H_
