// hwloc XML of machines that synthetic strings cannot describe: NumaNodes without memory or without
// cpus, and a distance matrix.
#ifndef ERIS_TESTS_UNIT_TOPOLOGY_ODD_MACHINE_XML_H_
#define ERIS_TESTS_UNIT_TOPOLOGY_ODD_MACHINE_XML_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace eris::topology {

struct XmlNumaNode {
  uint32_t cores;  // one hardware thread each
  uint64_t memory_bytes;
};

// One package per NumaNode with cores; those without stand beside the packages. At most 64 cpus.
// `distances` is empty or row-major.
inline std::string MachineXml(const std::vector<XmlNumaNode>& numa_nodes,
                              const std::vector<uint32_t>& distances = {}) {
  uint32_t gp_index = 1;
  const auto next_index = [&] { return absl::StrCat(" gp_index=\"", ++gp_index, "\""); };
  const auto sets = [](uint64_t cpus, uint64_t numa_node_set) {
    return absl::StrFormat(
        " cpuset=\"0x%x\" complete_cpuset=\"0x%x\" nodeset=\"0x%x\" complete_nodeset=\"0x%x\"",
        cpus, cpus, numa_node_set, numa_node_set);
  };
  std::string packages;
  std::string memory_only;
  uint32_t cpu = 0;
  uint64_t all_cpus = 0;
  for (size_t i = 0; i < numa_nodes.size(); ++i) {
    const uint64_t own_cpus = ((uint64_t{1} << numa_nodes[i].cores) - 1) << cpu;
    all_cpus |= own_cpus;
    const std::string numa_node = absl::StrCat(
        "<object type=\"NUMANode\" os_index=\"", i, "\"", sets(own_cpus, uint64_t{1} << i),
        next_index(), " local_memory=\"", numa_nodes[i].memory_bytes, "\"/>\n");
    if (numa_nodes[i].cores == 0) {
      memory_only += numa_node;
      continue;
    }
    absl::StrAppend(&packages, "<object type=\"Package\" os_index=\"", i, "\"",
                    sets(own_cpus, uint64_t{1} << i), " gp_index=\"", ++gp_index, "\">\n",
                    numa_node);
    for (uint32_t core = 0; core < numa_nodes[i].cores; ++core, ++cpu) {
      const std::string core_sets = sets(uint64_t{1} << cpu, uint64_t{1} << i);
      absl::StrAppend(&packages, "<object type=\"Core\" os_index=\"", cpu, "\"", core_sets,
                      next_index(), "><object type=\"PU\" os_index=\"", cpu, "\"", core_sets,
                      next_index(), "/></object>\n");
    }
    absl::StrAppend(&packages, "</object>\n");
  }
  const uint64_t all_numa_nodes = (uint64_t{1} << numa_nodes.size()) - 1;
  std::string xml = absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
      "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\"",
      sets(all_cpus, all_numa_nodes),
      absl::StrFormat(" allowed_cpuset=\"0x%x\" allowed_nodeset=\"0x%x\"", all_cpus,
                      all_numa_nodes),
      " gp_index=\"1\">\n", memory_only, packages, "</object>\n");
  if (!distances.empty()) {
    std::string indexes;
    std::string values;
    for (size_t i = 0; i < numa_nodes.size(); ++i) absl::StrAppend(&indexes, i, " ");
    for (const uint32_t distance : distances) absl::StrAppend(&values, distance, " ");
    absl::StrAppend(&xml, "<distances2 type=\"NUMANode\" nbobjs=\"", numa_nodes.size(),
                    "\" kind=\"5\" name=\"NUMALatency\" indexing=\"os\">\n<indexes length=\"",
                    indexes.size(), "\">", indexes, "</indexes>\n<u64values length=\"",
                    values.size(), "\">", values, "</u64values>\n</distances2>\n");
  }
  return xml + "</topology>\n";
}

}  // namespace eris::topology

#endif  // ERIS_TESTS_UNIT_TOPOLOGY_ODD_MACHINE_XML_H_
