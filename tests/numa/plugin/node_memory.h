// Memory on one NumaNode, by the kernel's own calls, and where the kernel says that a page lies.
// For programs in the guest that tell the access counter what they know.
#ifndef ERIS_TESTS_NUMA_PLUGIN_NODE_MEMORY_H_
#define ERIS_TESTS_NUMA_PLUGIN_NODE_MEMORY_H_

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "tests/numa/access_marks.h"

namespace eris::numa_lab {

// The NumaNodes that have memory, by number; as the kernel lists them, e.g. "0-1,3".
inline std::vector<uint32_t> NumaNodesWithMemory() {
  std::vector<uint32_t> nodes;
  std::ifstream file("/sys/devices/system/node/has_memory");
  uint32_t first = 0;
  char separator = ',';
  while (separator == ',' && file >> first) {
    uint32_t last = first;
    if (file.peek() == '-') file.ignore() >> last;
    for (uint32_t node = first; node <= last; ++node) nodes.push_back(node);
    if (!file.get(separator)) break;
  }
  return nodes;
}

// The NumaNode that holds the page of `address`; negative: an errno, e.g. of a page never touched.
inline int NumaNodeOf(const void* address) {
  const long page_bytes = sysconf(_SC_PAGESIZE);
  auto* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) &
                                       ~static_cast<uintptr_t>(page_bytes - 1));
  int status = -1;
  if (syscall(SYS_move_pages, 0, 1L, &page, nullptr, &status, 0) != 0) return -1;
  return status;
}

// `bytes` of touched pages that `numa_node` alone may hold; nullptr when the kernel refuses. Stays
// until the program ends.
inline std::byte* TouchedOn(uint32_t numa_node, size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const unsigned long mask = 1UL << numa_node;
  // The kernel wants one bit more than the mask has.
  if (syscall(SYS_mbind, memory, bytes, MPOL_BIND, &mask, 8 * sizeof mask + 1, 0) != 0) {
    return nullptr;
  }
  auto* bytes_of = static_cast<std::byte*>(memory);
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (size_t at = 0; at < bytes; at += page_bytes) bytes_of[at] = std::byte{1};
  return bytes_of;
}

// Reads a page of every NumaNode for the counter to check. Empty, or what went wrong.
inline std::string ReadKnownPages() {
  for (const uint32_t node : NumaNodesWithMemory()) {
    const std::byte* page = TouchedOn(node, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    const std::string name = "NumaNode " + std::to_string(node);
    if (page == nullptr) return name + ": the kernel gives no page there";
    if (const int there = NumaNodeOf(page); there != static_cast<int>(node)) {
      return name + ": a page bound there lies on " + std::to_string(there);
    }
    ReadFrom(node, page);
  }
  return "";
}

// Where the program's code and data stand, for those who look at single places.
inline void PrintMaps() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) std::printf("map\t%s\n", line.c_str());
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_NODE_MEMORY_H_
