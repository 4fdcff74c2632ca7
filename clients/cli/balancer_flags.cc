#include "clients/cli/balancer_flags.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "clients/cli/text/parse.h"

namespace eris::cli {
namespace {

absl::Status Read(absl::string_view option, const std::optional<std::string>& text,
                  std::optional<uint32_t>& out) {
  if (!text) return absl::OkStatus();
  uint64_t number = 0;
  constexpr uint64_t kMax = std::numeric_limits<uint32_t>::max();
  if (!ParseU64(*text, number) || number > kMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(option, " is '", *text, "', must be a number from 0 to ", kMax));
  }
  out = static_cast<uint32_t>(number);
  return absl::OkStatus();
}

template <class Number>
std::string Between(const BalancerLimits<Number>& limits) {
  return absl::StrCat(limits.min, " to ", limits.max);
}

}  // namespace

void BalancerFlags::AddTo(Flags& verb) {
  const auto add = [&](const char* name, auto& field, const std::string& meaning) {
    return verb.Add(std::string("--") + name, field, meaning).Group("Options");
  };
  add("enabled", enabled, "true or false: whether ranges are moved by the load they have");
  add("algorithm", algorithm, "one_shot, moving_average (of --window neighbours), or size")
      .Check(OneOf({"one_shot", "moving_average", "size"}));
  add("window", window,
      "Of moving_average: neighbours on either side, " + Between(kBalancerWindow));
  add("threshold", threshold,
      "Deviation of the loads, in units of their mean, from which on ranges move: " +
          Between(kBalancerThreshold));
  add("period-ms", period_ms, "How often loads are looked at, " + Between(kBalancerPeriodMs));
  add("max-pause-us", max_pause_us,
      "CPU time of one AEU turn that a transfer may take, " + Between(kBalancerMaxPauseUs));
  add("max-bytes-per-s", max_bytes_per_s,
      "Of copies and of what follows leaps, e.g. 100MiB; 0: as fast as it goes");
}

absl::StatusOr<client::BalancerChange> BalancerFlags::Change() const {
  client::BalancerChange change{.enabled = enabled, .threshold = threshold};
  if (algorithm == "one_shot") change.algorithm = BalanceAlgorithm::kOneShot;
  if (algorithm == "moving_average") change.algorithm = BalanceAlgorithm::kMovingAverage;
  if (algorithm == "size") change.algorithm = BalanceAlgorithm::kSize;
  absl::Status status = Read("--window", window, change.window);
  status.Update(Read("--period-ms", period_ms, change.period_ms));
  status.Update(Read("--max-pause-us", max_pause_us, change.max_pause_us));
  if (!status.ok()) return status;
  if (max_bytes_per_s) {
    const absl::StatusOr<uint64_t> bytes = ParseBytes(*max_bytes_per_s);
    if (!bytes.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--max-bytes-per-s: ", bytes.status().message()));
    }
    change.max_bytes_per_s = *bytes;
  }
  return change;
}

std::string AlgorithmName(BalanceAlgorithm algorithm) {
  switch (algorithm) {
    case BalanceAlgorithm::kOneShot:
      return "one_shot";
    case BalanceAlgorithm::kMovingAverage:
      return "moving_average";
    case BalanceAlgorithm::kSize:
      return "size";
  }
  return absl::StrCat("algorithm ", static_cast<int>(algorithm));
}

}  // namespace eris::cli
