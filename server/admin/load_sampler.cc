#include "server/admin/load_sampler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "server/log/log.h"

namespace eris::server {

LoadSampler::LoadSampler(Engine* engine)
    : engine_(engine), last_(engine->Stats()), last_time_(absl::Now()) {}

void LoadSampler::Sample() { Log(LogLevel::kInfo, Next(absl::Now())); }

std::string LoadSampler::Next(absl::Time now) {
  EngineStats stats = engine_->Stats();
  uint64_t keys = 0;
  uint64_t keys_max = 0;
  uint64_t rows = 0;
  for (size_t i = 0; i < stats.aeus.size() && i < last_.aeus.size(); ++i) {
    const uint64_t aeu_keys = stats.aeus[i].keys - last_.aeus[i].keys;
    keys += aeu_keys;
    keys_max = std::max(keys_max, aeu_keys);
    rows += stats.aeus[i].rows_scanned - last_.aeus[i].rows_scanned;
  }
  uint64_t used_bytes = 0;
  for (const NumaNodeStats& numa_node : stats.numa_nodes) used_bytes += numa_node.used_bytes;
  const double seconds = std::max(1e-3, absl::ToDoubleSeconds(now - last_time_));
  std::string line = absl::StrFormat(
      "%.0f keys/s (busiest AEU %.0f %%), %.0f rows/s scanned, %d requests in flight, %.1f MiB in "
      "use",
      static_cast<double>(keys) / seconds,
      keys == 0 ? 0.0 : 100.0 * static_cast<double>(keys_max) / static_cast<double>(keys),
      static_cast<double>(rows) / seconds, stats.requests_in_flight,
      static_cast<double>(used_bytes) / (1 << 20));
  last_ = std::move(stats);
  last_time_ = now;
  return line;
}

}  // namespace eris::server
