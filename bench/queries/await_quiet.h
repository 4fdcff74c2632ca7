// Waits until an engine has nothing of any query.
#ifndef ERIS_BENCH_QUERIES_AWAIT_QUIET_H_
#define ERIS_BENCH_QUERIES_AWAIT_QUIET_H_

#include <cstdint>

#include "absl/time/clock.h"
#include "bench/must.h"
#include "bench/routing/machine.h"
#include "eris/engine.h"

namespace eris::bench {

// Until AEUs have freed all that they had of queries. Ends the program after 30 s.
inline void AwaitQuiet(Engine& engine) {
  constexpr uint64_t kWaitNs = 30'000'000'000;
  const uint64_t begin_ns = NowNs();
  for (;;) {
    const EngineStats stats = engine.Stats();
    if (stats.scans_open == 0 && stats.scan_chunks_in_use == 0 && stats.requests_in_flight == 0) {
      return;
    }
    if (NowNs() - begin_ns > kWaitNs) Die("a query is still in the engine after 30 s");
    absl::SleepFor(absl::Microseconds(20));
  }
}

}  // namespace eris::bench

#endif  // ERIS_BENCH_QUERIES_AWAIT_QUIET_H_
