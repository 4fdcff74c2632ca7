#include <algorithm>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clients/cli/doctor/machine_checks.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

constexpr char kLimits[] = "/proc/self/limits";
constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

// The soft limit in kLimits. nullopt: unreadable.
std::optional<uint64_t> SoftLimit(const MachineFiles& files, absl::string_view name) {
  const std::optional<std::string> line = files.Field(kLimits, name);
  if (!line) return std::nullopt;
  const std::vector<std::string> words = absl::StrSplit(*line, ' ', absl::SkipWhitespace());
  uint64_t limit = 0;
  if (words.empty()) return std::nullopt;
  if (words[0] == "unlimited") return kUnlimited;
  if (!absl::SimpleAtoi(words[0], &limit)) return std::nullopt;
  return limit;
}

Finding CheckDescriptors(const MachineFiles& files) {
  constexpr uint64_t kFew = 256, kEnough = 4096;
  const std::optional<uint64_t> most = SoftLimit(files, "Max open files");
  if (!most) return Unreadable("descriptors", kLimits);
  Finding finding{.check = "descriptors"};
  finding.found = *most == kUnlimited ? "no limit" : absl::StrCat("at most ", *most);
  if (*most >= kEnough) return finding;
  finding.verdict = *most < kFew ? Verdict::kBad : Verdict::kWarn;
  finding.change = "ulimit -n 65536, or LimitNOFILE=65536 in the unit";
  finding.why = "each connection takes two; when they run out, no client can connect any more";
  finding.undo = absl::StrCat("ulimit -n ", *most);
  return finding;
}

Finding CheckLockedMemory(const MachineFiles& files) {
  const std::optional<uint64_t> most = SoftLimit(files, "Max locked memory");
  if (!most) return Unreadable("memlock", kLimits);
  Finding finding{.check = "memlock"};
  finding.found = absl::StrCat(*most == kUnlimited ? "no limit" : FormatBytes(*most),
                               "; any will do, because ERIS locks no memory");
  return finding;
}

Finding CheckMemoryLimit(const Machine& machine, const ProcessLimits& limits) {
  constexpr uint64_t kLeast = 256 << 20;
  Finding finding{.check = "memory_limit"};
  finding.found = absl::StrCat(FormatBytes(limits.memory_bytes), " (", limits.memory_source, ")");
  if (limits.memory_bytes < kLeast) {
    finding.verdict = Verdict::kBad;
  } else if (limits.memory_bytes < machine.memory_bytes / 4) {
    finding.verdict = Verdict::kWarn;
    absl::StrAppend(&finding.found, " of the machine's ", FormatBytes(machine.memory_bytes));
  } else {
    return finding;
  }
  finding.change = absl::StartsWith(limits.memory_source, "cgroup")
                       ? "systemctl set-property eris.service MemoryMax=infinity (or docker run "
                         "--memory): whatever set the cgroup's limit"
                       : "ulimit -v unlimited; ulimit -d unlimited";
  finding.why =
      "the engine divides this among data, queries and requests; what does not fit is refused with "
      "RESOURCE_EXHAUSTED";
  finding.undo = absl::StrCat("set the limit to ", limits.memory_bytes, " bytes again");
  return finding;
}

Finding CheckQuota(const ProcessLimits& limits) {
  Finding finding{.check = "cpu_quota"};
  if (limits.cpu_quota <= 0) {
    finding.found = "no quota";
    return finding;
  }
  finding.verdict = Verdict::kWarn;
  finding.found = absl::StrCat(limits.cpu_quota, " processors (", limits.cpu_quota_source, ")");
  finding.change =
      "give whole cpus instead: AllowedCPUs=0-3 and CPUQuota= in the unit, or docker run "
      "--cpuset-cpus";
  finding.why =
      "when the quota of a period is used up, all AEUs stand still until the next one, with "
      "whatever they own";
  finding.undo = absl::StrCat("CPUQuota=", static_cast<int>(limits.cpu_quota * 100), "%");
  return finding;
}

Finding CheckCpuset(const MachineFiles& files, const Machine& machine) {
  constexpr char kStatus[] = "/proc/self/status";
  const auto cpus = ParseList(files.Field(kStatus, "Cpus_allowed_list:").value_or("?"));
  const auto memories = ParseList(files.Field(kStatus, "Mems_allowed_list:").value_or("?"));
  const auto online = files.List("/sys/devices/system/cpu/online");
  if (!cpus || !memories || !online) {
    return Unreadable("cpuset", absl::StrCat(kStatus, " or /sys/devices/system/cpu/online"));
  }
  Finding finding{.check = "cpuset"};
  finding.found = absl::StrCat("cpus ", ListText(*cpus), " of ", online->size(),
                               "; memory of NumaNodes ", ListText(*memories));
  std::vector<uint32_t> without;
  for (const NumaNodeFacts& node : machine.numa_nodes) {
    const auto allowed = [&](uint32_t cpu) {
      return std::find(cpus->begin(), cpus->end(), cpu) != cpus->end();
    };
    const bool ours = std::any_of(node.cpus.begin(), node.cpus.end(), allowed);
    const bool its = std::find(memories->begin(), memories->end(), node.id) != memories->end();
    if (ours && !its) without.push_back(node.id);
  }
  if (without.empty()) return finding;
  finding.verdict = Verdict::kBad;
  absl::StrAppend(&finding.found, "; no memory where there are cpus: NumaNodes ",
                  ListText(without));
  finding.change = absl::StrCat("AllowedMemoryNodes=", ListText(*memories), ",", ListText(without),
                                " in the unit, or docker run --cpuset-mems");
  finding.why = "AEUs on these cpus have all of their rows on other NumaNodes";
  finding.undo = absl::StrCat("AllowedMemoryNodes=", ListText(*memories));
  return finding;
}

}  // namespace

std::vector<Finding> CheckLimits(const MachineFiles& files, const Machine& machine,
                                 const ProcessLimits& limits) {
  return {CheckMemoryLimit(machine, limits), CheckQuota(limits), CheckCpuset(files, machine),
          CheckDescriptors(files), CheckLockedMemory(files)};
}

}  // namespace eris::cli
