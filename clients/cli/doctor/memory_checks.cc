#include "absl/strings/str_cat.h"
#include "clients/cli/doctor/machine_checks.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

constexpr char kHuge[] = "/sys/kernel/mm/transparent_hugepage/";
constexpr uint64_t kSuperblockBytes = 2 << 20;

std::string Echo(const std::string& value, const std::string& file) {
  return absl::StrCat("echo ", value, " > ", file);
}

Finding CheckHugePages(const MachineFiles& files) {
  const std::string file = absl::StrCat(kHuge, "enabled");
  const std::optional<std::string> mode = files.Chosen(file);
  if (!mode) return Unreadable("huge_pages", file);
  Finding finding{.check = "huge_pages", .found = absl::StrCat(file, " is ", *mode)};
  if (*mode == "madvise") return finding;
  const uint64_t reserved = files.Number("/proc/sys/vm/nr_hugepages").value_or(0);
  if (*mode == "never" && reserved > 0) {
    absl::StrAppend(&finding.found, ", but ", reserved, " huge pages are reserved");
    return finding;
  }
  finding.verdict = Verdict::kWarn;
  finding.change = Echo("madvise", file);
  finding.undo = Echo(*mode, file);
  finding.why =
      *mode == "never"
          ? "the engine asks for huge pages and gets none, so each lookup misses the TLB more "
            "often; with madvise only programs that ask have them"
          : "every program gets them, also allocators that waste or split them. Memarzia et al. "
            "(Figure 10) switch them off for that; docs/study.md measured no gain from that here. "
            "With madvise the engine has them, and others keep small pages";
  return finding;
}

Finding CheckDefrag(const MachineFiles& files) {
  const std::string file = absl::StrCat(kHuge, "defrag");
  const std::optional<std::string> mode = files.Chosen(file);
  if (!mode) return Unreadable("huge_page_defrag", file);
  Finding finding{.check = "huge_page_defrag", .found = absl::StrCat(file, " is ", *mode)};
  if (*mode != "always") return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = Echo("madvise", file);
  finding.why =
      "any page fault may wait until the kernel has compacted memory: seconds, at worst, for "
      "threads that have not asked for huge pages";
  finding.undo = Echo(*mode, file);
  return finding;
}

Finding CheckMapCount(const MachineFiles& files, const Machine& machine) {
  constexpr char kFile[] = "/proc/sys/vm/max_map_count";
  const std::optional<uint64_t> most = files.Number(kFile);
  if (!most) return Unreadable("max_map_count", kFile);
  Finding finding{.check = "max_map_count", .found = absl::StrCat(kFile, " is ", *most)};
  // A moved superblock takes two mappings, and the engine uses half of them for that.
  const uint64_t wanted = machine.memory_bytes / kSuperblockBytes * 4 + 4096;
  if (*most >= wanted || machine.memory_bytes == 0) return finding;
  finding.verdict = Verdict::kWarn;
  absl::StrAppend(&finding.found, ", for ", FormatBytes(machine.memory_bytes), " of memory");
  finding.change = absl::StrCat("sysctl -w vm.max_map_count=", wanted);
  finding.why =
      "after a leap memory follows by pages only while a quarter of this limit, in superblocks, "
      "has moved; the rest is copied, which is slower";
  finding.undo = absl::StrCat("sysctl -w vm.max_map_count=", *most);
  return finding;
}

Finding CheckOvercommit(const MachineFiles& files) {
  constexpr char kFile[] = "/proc/sys/vm/overcommit_memory";
  const std::optional<uint64_t> mode = files.Number(kFile);
  if (!mode) return Unreadable("overcommit", kFile);
  Finding finding{.check = "overcommit", .found = absl::StrCat(kFile, " is ", *mode)};
  if (*mode != 2) return finding;
  finding.verdict = Verdict::kWarn;
  finding.change = "sysctl -w vm.overcommit_memory=0";
  finding.why =
      "the engine reserves more addresses than it uses, which the kernel then counts as memory; "
      "and memory that follows a leap is copied instead of moved";
  finding.undo = "sysctl -w vm.overcommit_memory=2";
  return finding;
}

Finding CheckSwap(const MachineFiles& files) {
  const std::optional<uint64_t> swap = files.FieldBytes("/proc/meminfo", "SwapTotal:");
  if (!swap) return Unreadable("swap", "/proc/meminfo");
  Finding finding{.check = "swap"};
  if (*swap == 0) {
    finding.found = "there is no swap";
    return finding;
  }
  constexpr uint64_t kSwappinessMax = 10;
  const std::optional<uint64_t> swappiness = files.Number("/proc/sys/vm/swappiness");
  finding.found = absl::StrCat(FormatBytes(*swap), " of swap, vm.swappiness is ",
                               swappiness ? absl::StrCat(*swappiness) : "unknown");
  if (!swappiness) {
    finding.verdict = Verdict::kUnknown;
  } else if (*swappiness > kSwappinessMax) {
    finding.verdict = Verdict::kWarn;
    finding.change = "sysctl -w vm.swappiness=1";
    finding.why =
        "the data is in memory only: an AEU whose rows are swapped out waits for a disk, and with "
        "it everything that it owns";
    finding.undo = absl::StrCat("sysctl -w vm.swappiness=", *swappiness);
  }
  return finding;
}

}  // namespace

std::vector<Finding> CheckMemory(const MachineFiles& files, const Machine& machine) {
  return {CheckHugePages(files), CheckDefrag(files), CheckMapCount(files, machine),
          CheckOvercommit(files), CheckSwap(files)};
}

}  // namespace eris::cli
