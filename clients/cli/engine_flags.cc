#include "clients/cli/engine_flags.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "clients/cli/parse.h"

namespace eris::cli {
namespace {

constexpr char kGroup[] = "Engine";

template <class Size>
absl::Status ApplyBytes(const std::optional<std::string>& text, absl::string_view flag,
                        Size& bytes) {
  if (!text) return absl::OkStatus();
  const absl::StatusOr<uint64_t> parsed = ParseBytes(*text);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(flag, ": ", parsed.status().message()));
  }
  bytes = *parsed;
  return absl::OkStatus();
}

}  // namespace

void EngineFlags::AddTo(CLI::App& app) {
  app.add_option("--topology", topology,
                 "hwloc synthetic description instead of the machine, e.g. 'numa:4 core:2 pu:1'")
      ->group(kGroup);
  app.add_option("--aeus", aeus, "Number of AEUs; 0: one per core")->group(kGroup);
  app.add_option("--placement", placement,
                 "dense fills a NumaNode before the next, sparse goes round, none does not pin")
      ->check(CLI::IsMember({"dense", "sparse", "none"}))
      ->group(kGroup);
  app.add_option("--network-cores", network_cores, "Cores without an AEU, for network threads")
      ->group(kGroup);
  // By function: a flag bound to an optional is set even when it is not given.
  app.add_flag_function(
         "--hardware-threads,!--no-hardware-threads",
         [this](int64_t count) { hardware_threads = count > 0; },
         "One AEU per hardware thread instead of per core")
      ->group(kGroup);
  app.add_option("--aeu-cpus", aeu_cpus,
                 "cpu numbers, one AEU each, e.g. 0,2,4; overrides the above")
      ->group(kGroup);
  app.add_option("--memory-limit", memory_limit,
                 "What data may take, e.g. 4GiB; default: 80 % of the memory of the process")
      ->group(kGroup);
  app.add_option("--memory-placement", memory_placement,
                 "local; for experiments interleaved, or one_numa_node: --memory-numa-node")
      ->check(CLI::IsMember({"local", "interleaved", "one_numa_node"}))
      ->group(kGroup);
  app.add_option("--memory-numa-node", memory_numa_node, "Where all memory lies then")
      ->group(kGroup);
  app.add_flag_function(
         "--memory-spill,!--no-memory-spill", [this](int64_t count) { memory_spill = count > 0; },
         "When a NumaNode is full, take the nearest that is not, instead of refusing")
      ->group(kGroup);
  app.add_option("--huge-pages", huge_pages,
                 "auto; or reserved, shared (memory files), advised (anonymous memory), none")
      ->check(CLI::IsMember({"auto", "reserved", "shared", "advised", "none"}))
      ->group(kGroup);
  app.add_option("--superblock", superblock, "Size of the pieces memory comes in, 2MiB to 32MiB")
      ->group(kGroup);
  app.add_option("--memory-decay-ms", memory_decay_ms,
                 "What has been freed goes back to the system after this long")
      ->group(kGroup);
  app.add_option("--memory-kept", memory_kept, "Beyond this, per NumaNode, at once; e.g. 64MiB")
      ->group(kGroup);
  app.add_option("--memory-ready", memory_ready, "Made ready ahead, per NumaNode; e.g. 32MiB")
      ->group(kGroup);
  app.add_option("--incoming-buffer", incoming_buffer,
                 "Size of an AEU's incoming buffer, e.g. 1MiB")
      ->group(kGroup);
  app.add_option("--outgoing-buffer", outgoing_buffer, "Size of an outgoing buffer, e.g. 64KiB")
      ->group(kGroup);
}

absl::Status EngineFlags::ApplyMemory(Options& options) const {
  if (memory_placement == "local") options.memory_placement = MemoryPlacement::kLocal;
  if (memory_placement == "interleaved") options.memory_placement = MemoryPlacement::kInterleaved;
  if (memory_placement == "one_numa_node") options.memory_placement = MemoryPlacement::kOneNumaNode;
  if (memory_numa_node) options.memory_numa_node = *memory_numa_node;
  if (memory_spill) options.memory_spill = *memory_spill;
  if (huge_pages == "auto") options.huge_pages = HugePages::kAuto;
  if (huge_pages == "reserved") options.huge_pages = HugePages::kReserved;
  if (huge_pages == "shared") options.huge_pages = HugePages::kShared;
  if (huge_pages == "advised") options.huge_pages = HugePages::kAdvised;
  if (huge_pages == "none") options.huge_pages = HugePages::kNone;
  if (memory_decay_ms) options.memory_decay_ms = *memory_decay_ms;
  absl::Status status = ApplyBytes(memory_limit, "--memory-limit", options.memory_limit_bytes);
  status.Update(ApplyBytes(superblock, "--superblock", options.superblock_bytes));
  status.Update(ApplyBytes(memory_kept, "--memory-kept", options.memory_kept_bytes_max));
  status.Update(ApplyBytes(memory_ready, "--memory-ready", options.memory_ready_bytes_max));
  return status;
}

absl::Status EngineFlags::Apply(Options& options) const {
  if (topology) options.topology = *topology;
  if (aeus) options.aeu_count = *aeus;
  if (placement == "dense") options.placement = Placement::kDense;
  if (placement == "sparse") options.placement = Placement::kSparse;
  if (placement == "none") options.placement = Placement::kNone;
  if (network_cores) options.network_cores = *network_cores;
  if (hardware_threads) options.aeu_per_hardware_thread = *hardware_threads;
  if (aeu_cpus) {
    const absl::StatusOr<std::vector<uint64_t>> cpus = ParseKeyList(*aeu_cpus);
    if (!cpus.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("--aeu-cpus: ", cpus.status().message()));
    }
    options.aeu_cpus.clear();
    for (const uint64_t cpu : *cpus) {
      if (cpu > std::numeric_limits<uint32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat("--aeu-cpus: ", cpu, " is no cpu number"));
      }
      options.aeu_cpus.push_back(static_cast<uint32_t>(cpu));
    }
  }
  absl::Status status = ApplyMemory(options);
  status.Update(ApplyBytes(incoming_buffer, "--incoming-buffer", options.incoming_buffer_bytes));
  status.Update(ApplyBytes(outgoing_buffer, "--outgoing-buffer", options.outgoing_buffer_bytes));
  return status;
}

}  // namespace eris::cli
