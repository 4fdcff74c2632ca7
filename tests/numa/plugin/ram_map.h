// From what qemu calls the address of a piece of guest memory to the NumaNode that it belongs to.
//
// qemu_plugin_hwaddr_phys_addr of qemu 7.2 answers
//     block->offset + offset in the block + block->mr->addr
// (plugins/api.c). That is the guest's address where all memory is one block. With a memory backend
// per NumaNode each backend is a block of its own: block->offset is where it begins in qemu's own
// numbering of all blocks, which are placed one behind the other in the order of their creation
// (find_ram_offset, softmmu/physmem.c), and mr->addr is where it begins in the machine's memory
// (numa_init_memory_backend, hw/core/numa.c). Both are the sum of the backends before it, so that
// sum is in the answer twice, and the hole below 4 GiB is not in it at all:
//
//     NumaNode n:  [2 * begin(n), 2 * begin(n) + size(n)),  begin(n) = size(0) + ... + size(n - 1)
//
// These ranges never overlap. Nothing of it is promised by the plugin interface: a guest reads a
// page that it knows on each NumaNode before it counts (ReadFrom in access_marks.h).
#ifndef ERIS_TESTS_NUMA_PLUGIN_RAM_MAP_H_
#define ERIS_TESTS_NUMA_PLUGIN_RAM_MAP_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace eris::numa_lab {

class RamMap {
 public:
  // A byte of the guest's memory. `flat`: as if the NumaNodes lay one behind the other.
  struct Place {
    int numa_node = -1;  // -1: no NumaNode's memory (ROM, a device)
    uint64_t flat = 0;
  };

  explicit RamMap(const std::vector<uint64_t>& numa_node_bytes) {
    uint64_t begin = 0;
    for (const uint64_t bytes : numa_node_bytes) {
      ranges_.push_back({2 * begin, 2 * begin + bytes, begin});
      begin += bytes;
    }
  }

  Place Find(uint64_t address) const {
    for (size_t i = 0; i < ranges_.size(); ++i) {
      const Range& range = ranges_[i];
      if (address < range.begin || address >= range.end) continue;
      return {static_cast<int>(i), address - range.begin + range.flat};
    }
    return {};
  }

  size_t numa_nodes() const { return ranges_.size(); }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t flat;
  };
  std::vector<Range> ranges_;
};

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_PLUGIN_RAM_MAP_H_
