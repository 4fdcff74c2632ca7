// A load run: a thread and a target for each generator, and a sample of all of them once per
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
  uint64_t backlog = 0;  // open loop: the maximum number of requests due but not sent
  uint64_t latency_ns_p50 = 0;
  uint64_t latency_ns_p99 = 0;
  uint64_t latency_ns_max = 0;

  double seconds() const { return to_s - from_s; }
};

struct RunResult {
  Tally tally;               // after the warm-up; wrong and failed counts are for the whole run
  uint64_t requests = 0;     // sent, except those with OK during the warm-up
  uint64_t unaccounted = 0;  // requests without an answer or a status
  double seconds = 0;        // measured
  std::vector<double> cpu;   // for each generator: processor time divided by time
  std::vector<Interval> series;
  int64_t cut_off_begun_unix_ns = 0;  // when the first request that was cut off was sent; 0: none

  bool wrong() const { return tally.All().wrong > 0; }
};

// Makes the target of generator `index`, in the generator's thread, before the run begins.
using TargetFactory =
    std::function<absl::StatusOr<std::unique_ptr<Target>>(uint32_t index, AnswerSink& sink)>;

// Blocks until the run has ended. `stop` (relaxed) ends it early: the caller's other threads or a
// signal handler may set it, and the run itself does when a request has failed. `on_interval` runs
// in the calling thread. Errors: those of the factory, and then nothing has been sent; errors of
// requests are in the result.
absl::StatusOr<RunResult> RunLoad(const Plan& plan, const KeySet& keys,
                                  const TargetFactory& factory, std::atomic<bool>& stop,
                                  const std::function<void(const Interval&)>& on_interval);

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_RUN_H_
