#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/cli/doctor/machine_checks.h"
#include "clients/cli/text/byte_text.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

// More NumaNodes are not shown one by one.
constexpr size_t kShownMax = 8;

std::string NumaNodes(const std::vector<uint32_t>& ids) {
  return absl::StrCat(ids.size() == 1 ? "NumaNode " : "NumaNodes ", ListText(ids));
}

Finding CheckNodes(const Machine& machine) {
  Finding finding{.check = "numa_nodes"};
  if (machine.numa_nodes.empty()) {
    finding.verdict = Verdict::kUnknown;
    finding.found = "the kernel shows no NumaNodes: the engine takes the machine for one";
    finding.why =
        "without /sys/devices/system/node memory cannot be bound; in a container it may be hidden";
    return finding;
  }
  std::vector<uint32_t> without_memory, unknown;
  std::vector<std::string> shown;
  for (const NumaNodeFacts& node : machine.numa_nodes) {
    if (!node.memory_bytes) {
      unknown.push_back(node.id);
    } else if (*node.memory_bytes == 0) {
      without_memory.push_back(node.id);
    }
    if (shown.size() >= kShownMax) continue;
    shown.push_back(absl::StrCat(
        node.id, ": ", node.memory_bytes ? FormatBytes(*node.memory_bytes) : "unknown memory", ", ",
        node.cpus.size(), " cpus"));
  }
  finding.found =
      absl::StrCat(machine.numa_nodes.size(), " NumaNodes (", absl::StrJoin(shown, "; "),
                   machine.numa_nodes.size() > kShownMax ? "; ..." : "", ")");
  if (!without_memory.empty()) {
    finding.verdict = Verdict::kWarn;
    absl::StrAppend(&finding.found, "; no memory on ", NumaNodes(without_memory));
    finding.change =
        "put memory modules into these sockets, or keep AEUs off them: engine.aeu_cpus";
    finding.why =
        "an AEU there has all of its rows on another NumaNode, and every access crosses a link";
    finding.undo = "remove engine.aeu_cpus from the configuration";
  } else if (!unknown.empty()) {
    finding.verdict = Verdict::kUnknown;
    absl::StrAppend(&finding.found, "; unreadable: meminfo of ", NumaNodes(unknown));
  }
  return finding;
}

Finding CheckFreeMemory(const Machine& machine) {
  Finding finding{.check = "numa_free_memory"};
  std::vector<uint32_t> full;
  bool any_free = false, any_known = false;
  for (const NumaNodeFacts& node : machine.numa_nodes) {
    const uint64_t total = node.memory_bytes.value_or(0);
    if (total == 0 || !node.free_bytes) continue;
    any_known = true;
    if (*node.free_bytes < total / 20) full.push_back(node.id);
    if (*node.free_bytes > total / 4) any_free = true;
  }
  if (!any_known) {
    finding.verdict = Verdict::kUnknown;
    finding.found = "the free memory of no NumaNode can be read";
  } else if (full.empty() || !any_free) {
    finding.found =
        full.empty() ? "every NumaNode has free memory" : "all NumaNodes are equally full";
  } else {
    finding.verdict = Verdict::kWarn;
    finding.found = absl::StrCat(NumaNodes(full), ": less than 5 % is free, others have plenty");
    finding.change = "find what fills it: numastat -m; or engine.memory_spill = true";
    finding.why =
        "ERIS binds memory to its NumaNode: where that is full, writes are refused, or with "
        "memory_spill land far from their AEU";
    finding.undo = "engine.memory_spill = false";
  }
  return finding;
}

Finding CheckDistances(const Machine& machine) {
  Finding finding{.check = "numa_distances"};
  const size_t count = machine.numa_nodes.size();
  if (count < 2) {
    finding.found = "nothing is remote on one NumaNode";
    return finding;
  }
  uint32_t least = std::numeric_limits<uint32_t>::max(), most = 0;
  bool shaped = true, symmetric = true;
  for (size_t i = 0; i < count; ++i) {
    const std::vector<uint32_t>& row = machine.numa_nodes[i].distances;
    if (row.size() != count) {
      finding.verdict = Verdict::kUnknown;
      finding.found =
          absl::StrCat("the distances of NumaNode ", machine.numa_nodes[i].id, " cannot be read");
      return finding;
    }
    for (size_t j = 0; j < count; ++j) {
      if (i == j) {
        shaped = shaped && row[j] == 10;
        continue;
      }
      shaped = shaped && row[j] > 10;
      least = std::min(least, row[j]);
      most = std::max(most, row[j]);
      const std::vector<uint32_t>& other = machine.numa_nodes[j].distances;
      symmetric = symmetric && other.size() == count && other[i] == row[j];
    }
  }
  finding.found =
      absl::StrCat("10 local, ", least, least == most ? "" : absl::StrCat(" to ", most), " remote");
  if (shaped && symmetric) return finding;
  finding.verdict = Verdict::kWarn;
  absl::StrAppend(&finding.found, shaped ? "; not the same in both directions"
                                         : "; local is not 10, or remote is not more");
  finding.change = "update the firmware, or look for ACPI SLIT in its settings";
  finding.why =
      "the engine spills memory to, and takes tasks from, the nearest NumaNode: with wrong "
      "distances that is any";
  finding.undo = "put the old firmware back";
  return finding;
}

Finding CheckAutoNuma(const MachineFiles& files, const Machine& machine) {
  constexpr char kFile[] = "/proc/sys/kernel/numa_balancing";
  Finding finding{.check = "autonuma"};
  const std::optional<uint64_t> mode = files.Number(kFile);
  if (!mode) {
    finding.verdict = Verdict::kUnknown;
    finding.found = absl::StrCat(kFile, " cannot be read: the kernel may have no AutoNUMA");
    return finding;
  }
  finding.found = absl::StrCat(kFile, " is ", *mode);
  if (*mode == 0) return finding;
  if (machine.numa_nodes.size() < 2) {
    absl::StrAppend(&finding.found, ", without effect on one NumaNode");
    return finding;
  }
  finding.verdict = Verdict::kWarn;
  finding.change = "sysctl -w kernel.numa_balancing=0";
  finding.why =
      "it moves pages towards threads whatever that costs. Memarzia et al. (Figure 10) switch it "
      "off: first touch with it took 86 % longer than interleaving without it. ERIS places memory "
      "itself, so only the cost is left";
  finding.undo = absl::StrCat("sysctl -w kernel.numa_balancing=", *mode);
  return finding;
}

Finding CheckZoneReclaim(const MachineFiles& files) {
  constexpr char kFile[] = "/proc/sys/vm/zone_reclaim_mode";
  const std::optional<uint64_t> mode = files.Number(kFile);
  if (!mode) return Unreadable("zone_reclaim", kFile);
  Finding finding{.check = "zone_reclaim", .found = absl::StrCat(kFile, " is ", *mode)};
  if (*mode == 0) return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = "sysctl -w vm.zone_reclaim_mode=0";
  finding.why =
      "the kernel then scans a full NumaNode for pages to drop, while a thread waits, before it "
      "looks at another one";
  finding.undo = absl::StrCat("sysctl -w vm.zone_reclaim_mode=", *mode);
  return finding;
}

}  // namespace

std::vector<Finding> CheckNuma(const MachineFiles& files, const Machine& machine) {
  return {CheckNodes(machine), CheckFreeMemory(machine), CheckDistances(machine),
          CheckAutoNuma(files, machine), CheckZoneReclaim(files)};
}

std::vector<Finding> CheckMachine(const MachineFiles& files, const ProcessLimits& limits) {
  const Machine machine = ReadMachine(files);
  std::vector<Finding> findings;
  for (std::vector<Finding>& part :
       std::vector<std::vector<Finding>>{CheckNuma(files, machine), CheckMemory(files, machine),
                                         CheckLimits(files, machine, limits), CheckCpus(files)}) {
    findings.insert(findings.end(), part.begin(), part.end());
  }
  return findings;
}

}  // namespace eris::cli
