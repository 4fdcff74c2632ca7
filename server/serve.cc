#include "server/serve.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "eris/engine.h"
#include "eris/process_limits.h"
#include "server/server_process.h"
#include "server/state/memory_limits.h"

namespace eris::server {
namespace {

// gRPC gets at most as many threads as the processor quota allows to run in parallel.
void LimitCallbackThreads(const ProcessLimits& limits, ServerConfig& config) {
  if (config.callback_threads > 0 || config.engine.network_cores > 0) return;
  cpu_set_t set;
  if (limits.cpu_quota <= 0 || sched_getaffinity(0, sizeof set, &set) != 0) return;
  const double cpus = std::min<double>(std::ceil(limits.cpu_quota), CPU_COUNT(&set));
  config.callback_threads = static_cast<uint32_t>(std::clamp(cpus, 1.0, 16.0));
}

}  // namespace

int Serve(const ServerConfig& config) {
  const ProcessLimits limits = ReadProcessLimits();
  uint64_t process_bytes = limits.memory_bytes;
  if (config.engine.process_memory_bytes > 0) {
    process_bytes = std::min(process_bytes, config.engine.process_memory_bytes);
  }
  TuneAllocator(TuningFor(process_bytes));
  ServerConfig limited = config;
  LimitCallbackThreads(limits, limited);
  return RunServerProcess(limited, [](const Options& options) { return Engine::Open(options); });
}

}  // namespace eris::server
