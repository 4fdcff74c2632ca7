// What the balancer's benchmarks report about it. Any thread.
#ifndef ERIS_BENCH_BALANCER_BALANCER_JSON_H_
#define ERIS_BENCH_BALANCER_BALANCER_JSON_H_

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "bench/routing/machine.h"
#include "eris/balancer.h"

namespace eris::bench {

// Sets "off", "one_shot" or "ma(k)" in options; ends the program for anything else.
inline void SetAlgorithm(const std::string& name, BalancerOptions& options) {
  options.enabled = name != "off";
  if (name == "off") return;
  if (name == "one_shot") {
    options.algorithm = BalanceAlgorithm::kOneShot;
  } else if (name.starts_with("ma(") && name.ends_with(")")) {
    options.algorithm = BalanceAlgorithm::kMovingAverage;
    options.window = static_cast<uint32_t>(std::strtoul(name.c_str() + 3, nullptr, 10));
  } else {
    Die("no algorithm " + name + ": off, one_shot, ma(k)");
  }
}

// Times in seconds since `begin`.
inline nlohmann::json JsonOf(const TransferRecord& transfer, absl::Time begin) {
  return {{"object", transfer.object},
          {"kind", std::string(TraitsOf(transfer.kind).name)},
          {"from", transfer.from.value},
          {"to", transfer.to.value},
          {"done", transfer.outcome == TransferOutcome::kDone},
          {"reason", transfer.reason},
          {"rows", transfer.rows},
          {"bytes", transfer.bytes},
          {"chunks", transfer.chunks},
          {"begin_s", absl::ToDoubleSeconds(transfer.started - begin)},
          {"seconds", static_cast<double>(transfer.duration_us) / 1e6},
          {"longest_pause_us", std::max(transfer.longest_pause_us, transfer.home_longest_pause_us)},
          {"home_seconds", static_cast<double>(transfer.home_us) / 1e6},
          {"home_bytes", transfer.home_bytes},
          {"home_bytes_remapped", transfer.home_bytes_remapped},
          {"longest_pause_wall_us", transfer.longest_pause_wall_us}};
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_BALANCER_BALANCER_JSON_H_
