// Checks BalancerOptions, when an engine opens and later. A pure function.
#ifndef ERIS_ENGINE_CORE_BALANCER_LIMITS_H_
#define ERIS_ENGINE_CORE_BALANCER_LIMITS_H_

#include "absl/status/status.h"
#include "eris/balancer.h"

namespace eris::engine {

// Errors: InvalidArgument, with the option, its value and its limits.
absl::Status CheckBalancerOptions(const BalancerOptions& options);

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_BALANCER_LIMITS_H_
