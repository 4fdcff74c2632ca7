// The load balancer: options, state, pauses, hot ranges.
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "capi/balancer_options.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "eris/c/admin.h"

namespace eris::capi {

absl::StatusOr<BalancerOptions> BalancerFrom(const eris_balancer_options* given) {
  ERIS_ASSIGN_OR_RETURN(const eris_balancer_options from, ReadSized("balancer", given));
  ERIS_RETURN_IF_ERROR(CheckNumber("algorithm", from.algorithm, 0, ERIS_ALGORITHM_SIZE));
  // As a member of a later version: what this library does not know it must not ignore.
  ERIS_RETURN_IF_ERROR(CheckNumber("reserved", from.reserved, 0, 0));
  BalancerOptions to;
  to.enabled = from.disabled == 0;
  if (from.algorithm != 0) to.algorithm = static_cast<BalanceAlgorithm>(from.algorithm);
  if (from.window != 0) to.window = from.window;
  if (from.period_ms != 0) to.period_ms = from.period_ms;
  if (from.max_pause_us != 0) to.max_pause_us = from.max_pause_us;
  if (from.threshold != 0) to.threshold = from.threshold;
  to.max_bytes_per_s = from.max_bytes_per_s;
  return to;
}

absl::StatusOr<TaskScheduling> SchedulingFrom(int32_t number) {
  ERIS_RETURN_IF_ERROR(CheckNumber("task_scheduling", number, 0, 3));
  if (number == 0) return Options().task_scheduling;
  return static_cast<TaskScheduling>(number - 1);
}

}  // namespace eris::capi

struct eris_hot_ranges {
  eris::HotRanges ranges;
};

using eris::capi::Guard;
using eris::capi::Need;

eris_code eris_balancer_read(eris_engine* engine, eris_balancer_status* out, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"out", out}}));
    const eris::BalancerStatus status = engine->engine->Balancer();
    return eris::capi::WriteSized(
        "out",
        eris_balancer_status{.struct_size = 0,
                             .enabled = status.options.enabled ? 1 : 0,
                             .paused = status.paused ? 1 : 0,
                             .cycles = status.cycles,
                             .links = status.transfers[eris::TransferKind::kLink],
                             .copies = status.transfers[eris::TransferKind::kCopy],
                             .leaps = status.transfers[eris::TransferKind::kLeap],
                             .rows_moved = status.rows_moved,
                             .bytes_copied = status.bytes_copied,
                             .stalls = status.stalls,
                             .running = status.running.size()},
        out);
  });
}

eris_code eris_balancer_set(eris_engine* engine, const eris_balancer_options* options,
                            eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}}));
    ERIS_ASSIGN_OR_RETURN(const eris::BalancerOptions its, eris::capi::BalancerFrom(options));
    return engine->engine->SetBalancer(its);
  });
}

eris_code eris_balancer_pause(eris_engine* engine, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}}));
    engine->engine->PauseBalancer();
    return absl::OkStatus();
  });
}

eris_code eris_balancer_resume(eris_engine* engine, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}}));
    engine->engine->ResumeBalancer();
    return absl::OkStatus();
  });
}

eris_code eris_set_task_scheduling(eris_engine* engine, int32_t scheduling, eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}}));
    ERIS_ASSIGN_OR_RETURN(const eris::TaskScheduling its, eris::capi::SchedulingFrom(scheduling));
    return engine->engine->SetTaskScheduling(its);
  });
}

eris_code eris_find_hot_ranges(eris_engine* engine, const char* name, uint32_t ranges_max,
                               eris_hot_ranges** out, eris_error** error) {
  if (out != nullptr) *out = nullptr;
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"engine", engine}, {"name", name}, {"out", out}}));
    auto ranges = std::make_unique<eris_hot_ranges>();
    ERIS_ASSIGN_OR_RETURN(ranges->ranges,
                          engine->engine->FindHotRanges(
                              name, ranges_max == 0 ? eris::kHotRangesDefault : ranges_max));
    *out = ranges.release();
    return absl::OkStatus();
  });
}

size_t eris_hot_ranges_count(const eris_hot_ranges* ranges) {
  return ranges == nullptr ? 0 : ranges->ranges.hottest.size();
}
double eris_hot_ranges_load(const eris_hot_ranges* ranges) {
  return ranges == nullptr ? 0 : ranges->ranges.load;
}

eris_code eris_hot_ranges_get(const eris_hot_ranges* ranges, size_t i, eris_hot_range* out,
                              eris_error** error) {
  return Guard(error, [&]() -> absl::Status {
    ERIS_RETURN_IF_ERROR(Need({{"ranges", ranges}, {"out", out}}));
    ERIS_RETURN_IF_ERROR(eris::capi::CheckIndex(i, ranges->ranges.hottest.size()));
    const eris::HotRange& its = ranges->ranges.hottest[i];
    return eris::capi::WriteSized("out",
                                  eris_hot_range{.struct_size = 0,
                                                 .range = eris::capi::RangeOut(its.range),
                                                 .owner = its.owner.value,
                                                 .load = its.load},
                                  out);
  });
}

void eris_hot_ranges_free(eris_hot_ranges* ranges) { delete ranges; }
