// A run of load: a thread and a target for each generator, and a look at all of them once an
// interval.
#ifndef ERIS_CLIENTS_LOAD_RUN_H_
#define ERIS_CLIENTS_LOAD_RUN_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/load/key_set.h"
#include "clients/load/plan.h"
#include "clients/load/tally.h"
#include "clients/load/target.h"

namespace eris::load {

// One line of the series.
struct Interval {
  bool warm_up = false;
  double from_s = 0;  // since the run began
  double to_s = 0;
  uint64_t requests = 0;  // answered with OK
  uint64_t keys = 0;
  uint64_t wrong = 0;
  uint64_t errors = 0;   // refused and failed
  uint64_t backlog = 0;  // open loop: requests due and not sent, the most there were
  uint64_t latency_ns_p50 = 0;
  uint64_t latency_ns_p99 = 0;
  uint64_t latency_ns_max = 0;

  double seconds() const { return to_s - from_s; }
};

struct RunResult {
  Tally tally;            // behind the warm-up, but for what is wrong or failed: of the whole run
  uint64_t requests = 0;  // sent, but for those with OK during the warm-up
  uint64_t unaccounted = 0;  // requests without an answer or a status
  double seconds = 0;        // measured
  std::vector<double> cpu;   // of each generator: processor time over time
  std::vector<Interval> series;
  int64_t cut_off_begun_unix_ns = 0;  // when the first request that was cut off was sent; or 0

  bool wrong() const { return tally.All().wrong > 0; }
};

// Makes the target of generator `index`, in the generator's thread, before the run begins.
using TargetFactory =
    std::function<absl::StatusOr<std::unique_ptr<Target>>(uint32_t index, AnswerSink& sink)>;

// Blocks until the run is over. `stop` ends it early, set (relaxed) by whomever: by the caller's
// other threads or a signal handler, and by the run itself when a request has failed. `on_interval`
// runs in the calling thread. Errors: those of the factory, and nothing has been sent then; errors
// of requests are in the result.
absl::StatusOr<RunResult> RunLoad(const Plan& plan, const KeySet& keys,
                                  const TargetFactory& factory, std::atomic<bool>& stop,
                                  const std::function<void(const Interval&)>& on_interval);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_RUN_H_
