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
  app.add_option("--incoming-buffer", incoming_buffer,
                 "Size of an AEU's incoming buffer, e.g. 1MiB")
      ->group(kGroup);
  app.add_option("--outgoing-buffer", outgoing_buffer, "Size of an outgoing buffer, e.g. 64KiB")
      ->group(kGroup);
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
  absl::Status status = ApplyBytes(memory_limit, "--memory-limit", options.memory_limit_bytes);
  if (status.ok()) {
    status = ApplyBytes(incoming_buffer, "--incoming-buffer", options.incoming_buffer_bytes);
  }
  if (status.ok()) {
    status = ApplyBytes(outgoing_buffer, "--outgoing-buffer", options.outgoing_buffer_bytes);
  }
  return status;
}

}  // namespace eris::cli
