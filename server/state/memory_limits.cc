#include "server/state/memory_limits.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>

namespace eris::server {
namespace {

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
// Bytes of a message besides its columns, so that batches of round sizes fit round limits.
constexpr uint64_t kNamesBytes = 64 * kKiB;

}  // namespace

ServerConfig WithShares(ServerConfig config, const MemoryPlan& plan) {
  if (config.in_flight_bytes_max == 0) {
    config.in_flight_bytes_max = plan.caller_bytes > 0 ? plan.caller_bytes : 1024 * kMiB;
  }
  const uint64_t quarter = config.in_flight_bytes_max / 4;
  if (config.receive_message_bytes_max == 0) {
    config.receive_message_bytes_max =
        std::clamp(config.in_flight_bytes_max / 8, 2 * kMiB, 40 * kMiB - kNamesBytes) + kNamesBytes;
  }
  config.stream_bytes_max = std::min(config.stream_bytes_max, std::max(quarter, 64 * kKiB));
  return config;
}

ArrivalPlaces PlacesFor(const ServerConfig& config, const MemoryPlan& plan,
                        uint32_t callback_threads) {
  if (plan.receive_bytes == 0) return {};
  const auto places = [&](uint64_t bytes) {
    return static_cast<uint32_t>(
        std::clamp<uint64_t>(bytes / config.receive_message_bytes_max, 2 * callback_threads, 4096));
  };
  return {.reads = places(plan.receive_bytes / 6),
          .writes = places(plan.receive_bytes / 3),
          .control = static_cast<uint32_t>(std::clamp<uint64_t>(
              plan.receive_bytes / 24 / config.receive_message_bytes_max, 2, 16))};
}

size_t UnreadGroupsMax(const MemoryPlan& plan) {
  return std::clamp<uint64_t>(plan.scan_bytes / (16 * kMiB), 2, 8);
}

AllocatorTuning TuningFor(uint64_t process_bytes) {
  // Otherwise messages of half a megabyte would be mapped and unmapped one by one, and page faults
  // would dominate the profile: keeping their memory gains 40-75 % there. 32 MiB is glibc's
  // maximum.
  return {
      .map_threshold_bytes =
          static_cast<int>(std::clamp(process_bytes / 512, 128 * kKiB, 32 * kMiB)),
      .trim_threshold_bytes = static_cast<int>(std::clamp(process_bytes / 64, kMiB, 256 * kMiB)),
      .arenas_max = static_cast<int>(std::clamp<uint64_t>(process_bytes / (64 * kMiB), 2, 1024))};
}

void TuneAllocator(const AllocatorTuning& tuning) {
  mallopt(M_MMAP_THRESHOLD, tuning.map_threshold_bytes);
  mallopt(M_TRIM_THRESHOLD, tuning.trim_threshold_bytes);
  // The library's own limit is eight per cpu.
  if (tuning.arenas_max < 8 * sysconf(_SC_NPROCESSORS_ONLN)) {
    mallopt(M_ARENA_MAX, tuning.arenas_max);
  }
}

}  // namespace eris::server
