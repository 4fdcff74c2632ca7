// Statistics of an engine.
#include <memory>

#include "base/status_macros.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "eris/c/admin.h"

struct eris_stats {
  eris::EngineStats stats;
};

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_stats_read(eris_engine* engine, eris_stats** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    auto stats = std::make_unique<eris_stats>();
    stats->stats = engine->engine->Stats();
    *out = stats.release();
    return absl::OkStatus();
  });
}

eris_code eris_stats_engine(const eris_stats* stats, eris_engine_stats* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"stats", stats}, {"out", out}}));
    const eris::EngineStats& its = stats->stats;
    return eris::capi::WriteSized(
        "out",
        eris_engine_stats{.struct_size = 0,
                          .aeu_count = its.aeus.size(),
                          .numa_node_count = its.numa_nodes.size(),
                          .memory_limit_bytes = its.memory_limit_bytes,
                          .scans_open = its.scans_open,
                          .scan_chunks_in_use = its.scan_chunks_in_use,
                          .requests_in_flight = its.requests_in_flight,
                          .sessions_sent = its.sessions_routing.sent,
                          .sessions_refused = its.sessions_routing.refused,
                          .sessions_wakes = its.sessions_routing.wakes},
        out);
  });
}

eris_code eris_stats_aeu(const eris_stats* stats, size_t i, eris_aeu_stats* out,
                         eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"stats", stats}, {"out", out}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, stats->stats.aeus.size()));
    const eris::AeuStats& its = stats->stats.aeus[i];
    return eris::capi::WriteSized("out",
                                  eris_aeu_stats{.struct_size = 0,
                                                 .id = its.id.value,
                                                 .numa_node = its.numa_node.value,
                                                 .cpu = its.cpu,
                                                 .turns = its.turns,
                                                 .parks = its.parks,
                                                 .busy_ns = its.busy_ns,
                                                 .commands = its.commands,
                                                 .keys = its.keys,
                                                 .rows_scanned = its.rows_scanned,
                                                 .sent = its.routing.sent,
                                                 .delivered = its.routing.delivered,
                                                 .answered = its.routing.answered,
                                                 .forwarded = its.routing.forwarded,
                                                 .redirected = its.routing.redirected,
                                                 .refused = its.routing.refused,
                                                 .wakes = its.routing.wakes,
                                                 .writer_waits = its.routing.writer_waits,
                                                 .bytes_brought_home = its.bytes_brought_home,
                                                 .bytes_remapped = its.bytes_remapped,
                                                 .homecomings = its.homecomings,
                                                 .homecomings_refused = its.homecomings_refused,
                                                 .memory_bytes = its.memory_bytes,
                                                 .rows = its.rows},
                                  out);
  });
}

eris_code eris_stats_numa_node(const eris_stats* stats, size_t i, eris_numa_node_stats* out,
                               eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"stats", stats}, {"out", out}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, stats->stats.numa_nodes.size()));
    const eris::NumaNodeStats& its = stats->stats.numa_nodes[i];
    return eris::capi::WriteSized(
        "out",
        eris_numa_node_stats{.struct_size = 0,
                             .id = its.id.value,
                             .bound = its.bound ? 1 : 0,
                             .reserved_bytes = its.reserved_bytes,
                             .used_bytes = its.used_bytes,
                             .keys_sent_to = its.keys_sent_to.data(),
                             .keys_sent_to_count = its.keys_sent_to.size()},
        out);
  });
}

void eris_stats_free(eris_stats* stats) { delete stats; }
