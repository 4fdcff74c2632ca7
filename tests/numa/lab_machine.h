// What the harness (tests/numa/guest.py) says about the machine that it emulates, for tests that
// compare it with what they find. Outside the guest there is nothing to compare: Get() is empty.
#ifndef ERIS_TESTS_NUMA_LAB_MACHINE_H_
#define ERIS_TESTS_NUMA_LAB_MACHINE_H_

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace eris::numa_lab {

struct LabMachine {
  std::vector<uint32_t> cpus;                    // by the system's NumaNode number; 0: none
  std::vector<uint32_t> memory_mib;              // likewise
  std::vector<uint32_t> huge_pages;              // likewise, of 2 MiB, reserved
  std::vector<std::vector<uint32_t>> distances;  // rows

  static std::optional<LabMachine> Get();
};

inline std::vector<uint32_t> ParseList(const std::string& text) {
  std::vector<uint32_t> values;
  std::istringstream stream(text);
  for (std::string value; std::getline(stream, value, ',');) {
    values.push_back(static_cast<uint32_t>(std::stoul(value)));
  }
  return values;
}

inline std::optional<LabMachine> LabMachine::Get() {
  const char* cpus = std::getenv("NUMA_LAB_CPUS");
  const char* memory = std::getenv("NUMA_LAB_MEMORY_MIB");
  const char* huge_pages = std::getenv("NUMA_LAB_HUGE_PAGES");
  const char* distances = std::getenv("NUMA_LAB_DISTANCES");
  if (cpus == nullptr || memory == nullptr || huge_pages == nullptr || distances == nullptr) {
    return std::nullopt;
  }
  LabMachine machine{.cpus = ParseList(cpus),
                     .memory_mib = ParseList(memory),
                     .huge_pages = ParseList(huge_pages),
                     .distances = {}};
  std::istringstream rows(distances);
  for (std::string row; std::getline(rows, row, '/');) machine.distances.push_back(ParseList(row));
  return machine;
}

}  // namespace eris::numa_lab

#endif  // ERIS_TESTS_NUMA_LAB_MACHINE_H_
