#include "engine/options/balancer_limits.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace eris::engine {
namespace {

template <class Number>
absl::Status CheckWithin(absl::string_view name, Number value,
                         const BalancerLimits<Number>& limits) {
  if (limits.Hold(value)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("balancer.", name, " must lie between ",
                                                 limits.min, " and ", limits.max, ", got ", value));
}

}  // namespace

absl::Status CheckBalancerOptions(const BalancerOptions& options) {
  switch (options.algorithm) {
    case BalanceAlgorithm::kOneShot:
    case BalanceAlgorithm::kMovingAverage:
    case BalanceAlgorithm::kSize:
      break;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("balancer.algorithm ", static_cast<int>(options.algorithm),
                       " is none of 1 (one-shot), 2 (moving average), 3 (size)"));
  }
  ERIS_RETURN_IF_ERROR(CheckWithin("window", options.window, kBalancerWindow));
  ERIS_RETURN_IF_ERROR(CheckWithin("threshold", options.threshold, kBalancerThreshold));
  ERIS_RETURN_IF_ERROR(CheckWithin("period_ms", options.period_ms, kBalancerPeriodMs));
  return CheckWithin("max_pause_us", options.max_pause_us, kBalancerMaxPauseUs);
}

}  // namespace eris::engine
