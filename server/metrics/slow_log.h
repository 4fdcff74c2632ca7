// Lines about calls that took long (option server.slow_call_ms): at most ten in a second, and the
// next line says how many were left out. Any thread.
#ifndef ERIS_SERVER_METRICS_SLOW_LOG_H_
#define ERIS_SERVER_METRICS_SLOW_LOG_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "server/log/log_limit.h"
#include "server/metrics/call_metrics.h"

namespace eris::server {

struct SlowCall {
  absl::string_view method{};
  std::string code{};
  std::string client{};       // its address, as gRPC has it
  std::string object{};       // empty: the call names none
  uint64_t rows = 0;          // keys or rows of the request, or rows of a scan's answers
  std::string traceparent{};  // as the client sent it (W3C Trace Context), cut
  uint64_t total_ns = 0;
  std::array<uint64_t, kCallStages> stage_ns{};  // all 0: not known apart
};

class SlowLog {
 public:
  // 0: no lines.
  explicit SlowLog(uint32_t ms) { SetLimit(ms); }

  // For calls that end from now on. Calls that began without a limit have lines without object and
  // rows.
  void SetLimit(uint32_t ms) {
    limit_ns_.store(uint64_t{ms} * 1'000'000, std::memory_order_relaxed);  // see limit_ns
  }
  bool on() const { return limit_ns() > 0; }
  bool IsSlow(uint64_t ns) const {
    const uint64_t limit = limit_ns();
    return limit > 0 && ns >= limit;
  }
  // Writes the line, or counts it. Throws std::bad_alloc.
  void Write(const SlowCall& call);
  uint64_t seen() const { return seen_.load(std::memory_order_acquire); }

 private:
  // relaxed: a number by itself
  uint64_t limit_ns() const { return limit_ns_.load(std::memory_order_relaxed); }

  std::atomic<uint64_t> limit_ns_{0};
  std::atomic<uint64_t> seen_{0};  // release behind a line; seen() acquires
  LogLimit lines_{10, std::chrono::seconds(1)};
};

// What the server notes of its calls. Outlives them.
struct CallWatch : std::enable_shared_from_this<CallWatch> {
  explicit CallWatch(uint32_t slow_call_ms) : slow(slow_call_ms) {}

  CallMetrics metrics;
  SlowLog slow;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_SLOW_LOG_H_
