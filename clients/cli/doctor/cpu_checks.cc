#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "clients/cli/doctor/machine_checks.h"

namespace eris::cli {
namespace {

constexpr char kCpus[] = "/sys/devices/system/cpu";

Finding CheckGovernor(const MachineFiles& files) {
  Finding finding{.check = "governor"};
  std::map<std::string, size_t> governors;
  for (const uint32_t cpu : files.Numbered(kCpus, "cpu")) {
    const auto governor = files.Text(absl::StrCat(kCpus, "/cpu", cpu, "/cpufreq/scaling_governor"));
    if (governor) ++governors[*governor];
  }
  if (governors.empty()) {
    finding.verdict = Verdict::kUnknown;
    finding.found = "no cpufreq in /sys: firmware or a hypervisor sets the clock";
    return finding;
  }
  std::string before;
  for (const auto& [governor, cpus] : governors) {
    absl::StrAppend(&finding.found, finding.found.empty() ? "" : ", ", governor, " on ", cpus,
                    " cpus");
    if (governor != "performance") before = governor;
  }
  if (before.empty()) return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = "echo performance | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor";
  finding.why =
      "an AEU that wakes for a lookup begins at a low clock, so latency is worst when there is "
      "little to do";
  finding.undo =
      absl::StrCat("echo ", before, " | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor");
  return finding;
}

// AEUs take cores; what matters is whether another program may run on their other thread.
Finding CheckHardwareThreads(const MachineFiles& files) {
  const auto cpus = ParseList(files.Field("/proc/self/status", "Cpus_allowed_list:").value_or("?"));
  if (!cpus) return Unreadable("smt", "/proc/self/status");
  Finding finding{.check = "smt"};
  std::vector<uint32_t> shared;
  size_t known = 0, most = 1;
  for (const uint32_t cpu : *cpus) {
    const auto siblings =
        files.List(absl::StrCat(kCpus, "/cpu", cpu, "/topology/thread_siblings_list"));
    if (!siblings || siblings->empty()) continue;
    ++known;
    most = std::max(most, siblings->size());
    const bool ours = std::all_of(siblings->begin(), siblings->end(), [&](uint32_t sibling) {
      return std::find(cpus->begin(), cpus->end(), sibling) != cpus->end();
    });
    if (!ours) shared.push_back(cpu);
  }
  if (known == 0) {
    finding.verdict = Verdict::kUnknown;
    finding.found = "the kernel shows no hardware threads";
    return finding;
  }
  finding.found = most == 1 ? "one hardware thread per core"
                            : absl::StrCat(most,
                                           " hardware threads per core; the engine places one AEU "
                                           "per core, the others are left for clients");
  if (shared.empty()) return finding;
  finding.verdict = Verdict::kWarn;
  finding.found = absl::StrCat("cpus ", ListText(shared),
                               " share a core with cpus that this process may not use");
  finding.change = "give whole cores: AllowedCPUs= with all of thread_siblings_list";
  finding.why =
      "the program on the other thread takes half of an AEU's core and of its caches, and neither "
      "the engine nor the balancer sees it";
  finding.undo = absl::StrCat("AllowedCPUs=", ListText(*cpus));
  return finding;
}

}  // namespace

std::vector<Finding> CheckCpus(const MachineFiles& files) {
  return {CheckGovernor(files), CheckHardwareThreads(files)};
}

}  // namespace eris::cli
