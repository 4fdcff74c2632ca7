#include "engine/resolve_options.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::engine {
namespace {

absl::Status CheckWithin(absl::string_view name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must lie between ", least, " and ", most, ", got ", value));
}

}  // namespace

absl::StatusOr<ResolvedOptions> ResolveOptions(const Options& options) {
  ERIS_RETURN_IF_ERROR(
      CheckWithin("incoming_buffer_bytes", options.incoming_buffer_bytes, 64 << 10, 1 << 30));
  ERIS_RETURN_IF_ERROR(CheckWithin("outgoing_buffer_bytes", options.outgoing_buffer_bytes, 4 << 10,
                                   options.incoming_buffer_bytes / 2));
  ERIS_RETURN_IF_ERROR(CheckWithin("port_buffers_bytes_max", options.port_buffers_bytes_max,
                                   2 * options.outgoing_buffer_bytes, 1 << 30));
  ERIS_RETURN_IF_ERROR(CheckWithin("session_in_flight_bytes_max",
                                   options.session_in_flight_bytes_max, 1 << 10,
                                   uint64_t{1} << 40));
  ERIS_RETURN_IF_ERROR(CheckWithin("send_wait_ms_max", options.send_wait_ms_max, 1, 600'000));
  ERIS_RETURN_IF_ERROR(CheckWithin("scan_chunks_max", options.scan_chunks_max, 1, 1 << 16));

  absl::StatusOr<topology::Topology> topology =
      options.topology.empty() ? topology::Topology::Discover()
                               : topology::Topology::Synthetic(options.topology);
  if (!topology.ok()) return topology.status();
  ERIS_ASSIGN_OR_RETURN(topology::PlacementPlan plan, topology::PlanPlacement(*topology, options));

  Options resolved = options;
  resolved.aeu_count = static_cast<uint32_t>(plan.aeus.size());
  resolved.incoming_buffer_bytes &= ~size_t{63};
  resolved.outgoing_buffer_bytes &= ~size_t{63};
  if (options.memory_limit_bytes > topology->memory_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat("memory_limit_bytes of ", options.memory_limit_bytes,
                     " is above the machine's ", topology->memory_bytes()));
  }
  if (options.memory_limit_bytes == 0) {
    resolved.memory_limit_bytes = topology->memory_bytes() / 10 * 8;
  }
  return ResolvedOptions{std::move(resolved), *std::move(topology), std::move(plan)};
}

}  // namespace eris::engine
