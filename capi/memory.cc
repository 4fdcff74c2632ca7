// Accounts of an engine's memory, and where the kernel has it.
#include <algorithm>
#include <memory>

#include "base/status_macros.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "eris/c/admin.h"

struct eris_memory {
  eris::MemoryStats stats;
};

namespace eris::capi {
namespace {

// An element of an array whose elements may be longer than this library's.
eris_placement* ElementOf(eris_placement* places, size_t i, size_t struct_size) {
  return reinterpret_cast<eris_placement*>(reinterpret_cast<unsigned char*>(places) +
                                           i * struct_size);
}

absl::Status WritePlaces(const MemoryVerification& found, eris_placement* places, size_t capacity,
                         size_t struct_size) {
  for (size_t i = 0; i < std::min(capacity, found.numa_nodes.size()); ++i) {
    const NumaNodePlacement& its = found.numa_nodes[i];
    eris_placement* const out = ElementOf(places, i, struct_size);
    out->struct_size = struct_size;
    ERIS_RETURN_IF_ERROR(WriteSized("places",
                                    eris_placement{.struct_size = 0,
                                                   .id = its.id.value,
                                                   .bound = its.bound ? 1 : 0,
                                                   .pages_asked = its.pages_asked,
                                                   .pages_local = its.pages_local,
                                                   .pages_elsewhere = its.pages_elsewhere,
                                                   .pages_absent = its.pages_absent,
                                                   .resident_bytes = its.resident_bytes},
                                    out));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace eris::capi

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_memory_read(eris_engine* engine, eris_memory** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    auto memory = std::make_unique<eris_memory>();
    memory->stats = engine->engine->Memory();
    *out = memory.release();
    return absl::OkStatus();
  });
}

eris_code eris_memory_total(const eris_memory* memory, eris_memory_totals* out,
                            eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"memory", memory}, {"out", out}}));
    const eris::MemoryStats& its = memory->stats;
    return eris::capi::WriteSized(
        "out",
        eris_memory_totals{.struct_size = 0,
                           .numa_node_count = its.numa_nodes.size(),
                           .object_count = its.objects.size(),
                           .process_bytes = its.plan.process_bytes,
                           .process_source = its.plan.process_source.c_str(),
                           .data_bytes = its.plan.data_bytes,
                           .query_bytes = its.plan.query_bytes,
                           .scan_bytes = its.plan.scan_bytes,
                           .port_bytes = its.plan.port_bytes,
                           .caller_bytes = its.plan.caller_bytes,
                           .reserve_bytes = its.plan.reserve_bytes,
                           .limit_bytes = its.limit_bytes,
                           .reserved_bytes = its.reserved_bytes,
                           .heap_bytes = its.heap_bytes,
                           .superblock_bytes = its.superblock_bytes},
        out);
  });
}

eris_code eris_memory_numa_node(const eris_memory* memory, size_t i, eris_numa_node_memory* out,
                                eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"memory", memory}, {"out", out}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, memory->stats.numa_nodes.size()));
    const eris::NumaNodeMemory& its = memory->stats.numa_nodes[i];
    return eris::capi::WriteSized(
        "out",
        eris_numa_node_memory{.struct_size = 0,
                              .id = its.id.value,
                              .bound = its.bound ? 1 : 0,
                              .reserved_bytes = its.reserved_bytes,
                              .in_use_bytes = its.in_use_bytes,
                              .buffers_bytes = its.buffers_bytes,
                              .kept_bytes = its.kept_bytes,
                              .ready_bytes = its.ready_bytes,
                              .reserved_huge_bytes = its.reserved_huge_bytes,
                              .mapped_bytes = its.mapped_bytes},
        out);
  });
}

eris_code eris_memory_object(const eris_memory* memory, size_t i, eris_object_memory* out,
                             eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"memory", memory}, {"out", out}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, memory->stats.objects.size()));
    const eris::ObjectMemory& its = memory->stats.objects[i];
    return eris::capi::WriteSized("out",
                                  eris_object_memory{.struct_size = 0,
                                                     .object = its.object.c_str(),
                                                     .id = its.id.value,
                                                     .numa_node = its.numa_node.value,
                                                     .committed_bytes = its.committed_bytes,
                                                     .used_bytes = its.used_bytes,
                                                     .cached_bytes = its.cached_bytes,
                                                     .spare_bytes = its.spare_bytes,
                                                     .header_bytes = its.header_bytes,
                                                     .extent_bytes = its.extent_bytes,
                                                     .spilled_bytes = its.spilled_bytes},
                                  out);
  });
}

void eris_memory_free(eris_memory* memory) { delete memory; }

eris_code eris_memory_verify(eris_engine* engine, uint64_t pages_max, int64_t timeout_us,
                             eris_placement* places, size_t capacity, size_t* count,
                             eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"count", count}}));
    *count = 0;
    size_t struct_size = sizeof(eris_placement);
    if (capacity > 0) {
      ERIS_RETURN_IF_ERROR(Need({{"places", places}}));
      struct_size = places->struct_size;
      ERIS_RETURN_IF_ERROR(eris::capi::CheckStructSize("places", struct_size));
    }
    ERIS_ASSIGN_OR_RETURN(const absl::Time deadline, eris::capi::DeadlineOf(timeout_us));
    eris::VerifyMemoryOptions options;
    if (pages_max != 0) options.pages_max = pages_max;
    ERIS_ASSIGN_OR_RETURN(const eris::MemoryVerification found,
                          engine->engine->VerifyMemory(options, deadline));
    *count = found.numa_nodes.size();
    return eris::capi::WritePlaces(found, places, capacity, struct_size);
  });
}
