#include "clients/load/run.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>
#include <utility>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "clients/load/clock.h"
#include "clients/load/generator.h"

namespace eris::load {
namespace {

// The delay after an interval's end before its figures are read: generators publish them when they
// next read the clock.
constexpr int64_t kHandOverNs = 30'000'000;

double ToSeconds(int64_t ns) { return static_cast<double>(ns) / 1e9; }

// A generator and the results of its thread.
struct Lane {
  std::unique_ptr<Generator> generator;
  std::thread thread;
  absl::Status made;    // status of making the target
  absl::Status closed;  // status of closing it
};

Interval TakeInterval(std::vector<Lane>& lanes, int64_t from_ns, int64_t to_ns, int64_t start_ns,
                      const Plan& plan) {
  Tally tally;
  for (Lane& lane : lanes) lane.generator->Take(tally);
  const OperationTally all = tally.All();
  return {.warm_up = ToSeconds(to_ns - start_ns) <= plan.warm_up_s,
          .from_s = ToSeconds(from_ns - start_ns),
          .to_s = ToSeconds(to_ns - start_ns),
          .requests = all.answered,
          .keys = all.keys,
          .wrong = all.wrong,
          .errors = tally.refused + tally.failed,
          .backlog = tally.backlog,
          .latency_ns_p50 = all.latency.PercentileNs(50),
          .latency_ns_p99 = all.latency.PercentileNs(99),
          .latency_ns_max = all.latency.max_ns()};
}

RunResult Gather(const Plan& plan, std::vector<Lane>& lanes) {
  RunResult result;
  int64_t begun = std::numeric_limits<int64_t>::max(), ended = 0;
  uint64_t sent = 0, answered = 0, warm = 0;
  for (Lane& lane : lanes) {
    const GeneratorResult& one = lane.generator->result();
    result.tally.Merge(one.tally);
    sent += one.sent;
    answered += one.answered;
    warm += one.warm;
    begun = std::min(begun, one.begun_ns);
    ended = std::max(ended, one.ended_ns);
    const double seconds = ToSeconds(one.ended_ns - one.begun_ns);
    result.cpu.push_back(seconds > 0 ? one.cpu_s / seconds : 0);
    // A stream that ended by itself, with no request to report it.
    Tally& tally = result.tally;
    if (lane.closed.ok()) continue;
    if (tally.first_error.empty()) tally.first_error = lane.closed.ToString();
    if (plan.until_unavailable && absl::IsUnavailable(lane.closed)) continue;
    if (tally.failed + tally.refused > 0) continue;  // already reported
    ++tally.failed;
    ++sent, ++answered;  // it counts as a request, so that the sums agree
    if (tally.first_failure.ok()) tally.first_failure = lane.closed;
  }
  result.requests = sent - warm;
  result.unaccounted = sent - answered;
  result.seconds = std::max(1e-9, ToSeconds(ended - begun));
  if (result.tally.cut_off > 0) {
    result.cut_off_begun_unix_ns =
        absl::GetCurrentTimeNanos() - (MonotonicNs() - result.tally.cut_off_sent_ns);
  }
  return result;
}

}  // namespace

absl::StatusOr<RunResult> RunLoad(const Plan& plan, const KeySet& keys,
                                  const TargetFactory& factory, std::atomic<bool>& stop,
                                  const std::function<void(const Interval&)>& on_interval) {
  MonotonicClock clock;
  std::vector<Lane> lanes(plan.generators);
  absl::BlockingCounter ready(static_cast<int>(plan.generators));
  absl::Notification start, ended;
  std::atomic<int64_t> start_ns = 0;  // relaxed: `start` orders it
  std::atomic<uint32_t> running = plan.generators;
  for (uint32_t i = 0; i < plan.generators; ++i) {
    Lane& lane = lanes[i];
    lane.generator = std::make_unique<Generator>(plan, keys, i, clock, stop);
    lane.thread = std::thread([&, i] {
      auto target = factory(i, lane.generator->sink());
      lane.made = target.status();
      ready.DecrementCount();
      start.WaitForNotification();
      // Relaxed: if the run may not begin, it is set before the notification.
      if (target.ok() && !stop.load(std::memory_order_relaxed)) {
        lane.generator->Run(**target, start_ns.load(std::memory_order_relaxed));
        lane.closed = (*target)->Close();
      }
      // acquire and release: the last one's decrement synchronizes with the others', so it comes
      // after all.
      if (running.fetch_sub(1, std::memory_order_acq_rel) == 1) ended.Notify();
    });
  }
  ready.Wait();
  absl::Status made;
  for (const Lane& lane : lanes) made.Update(lane.made);
  if (!made.ok()) stop.store(true, std::memory_order_relaxed);
  start_ns.store(clock.NowNs(), std::memory_order_relaxed);
  start.Notify();

  std::vector<Interval> series;
  const int64_t begun = start_ns.load(std::memory_order_relaxed);
  int64_t from = begun;
  const auto take = [&](int64_t to) {
    series.push_back(TakeInterval(lanes, from, to, begun, plan));
    from = to;
    on_interval(series.back());
  };
  for (;;) {
    const int64_t to = Generator::IntervalEnd(plan, begun, from);
    const int64_t wait_ns = to + kHandOverNs - clock.NowNs();
    if (ended.WaitForNotificationWithTimeout(absl::Nanoseconds(std::max<int64_t>(0, wait_ns)))) {
      break;
    }
    take(to);
  }
  for (Lane& lane : lanes) lane.thread.join();
  if (!made.ok()) return made;
  RunResult result = Gather(plan, lanes);
  int64_t last = from;
  for (const Lane& lane : lanes) last = std::max(last, lane.generator->result().ended_ns);
  if (last > from) take(last);
  result.series = std::move(series);
  return result;
}

}  // namespace eris::load
