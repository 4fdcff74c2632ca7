// Options of the balancer, as engines and eris_balancer_set take them.
#ifndef ERIS_CAPI_BALANCER_OPTIONS_H_
#define ERIS_CAPI_BALANCER_OPTIONS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "eris/balancer.h"
#include "eris/c/engine.h"
#include "eris/task_scheduling.h"

namespace eris::capi {

// nullptr: defaults. Errors: InvalidArgument (the engine checks limits).
absl::StatusOr<BalancerOptions> BalancerFrom(const eris_balancer_options* given);
// 0: the default. Errors: InvalidArgument.
absl::StatusOr<TaskScheduling> SchedulingFrom(int32_t number);

}  // namespace eris::capi

#endif  // ERIS_CAPI_BALANCER_OPTIONS_H_
