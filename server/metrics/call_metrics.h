// Counts of calls by method: how they end, how long they take, and their bytes. Any thread, without
// locks: a thread adds to one of several copies, and a reader adds the copies up.
#ifndef ERIS_SERVER_METRICS_CALL_METRICS_H_
#define ERIS_SERVER_METRICS_CALL_METRICS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/cache_line.h"
#include "base/histogram.h"

namespace eris::server {

// The codes of gRPC, 0 (OK) to 16.
inline constexpr size_t kCallCodes = 17;
// Where the time of a call goes: until its request has been received and parsed; until its first
// answer (waiting for AEUs, and their work); until gRPC has sent everything.
inline constexpr size_t kCallStages = 3;

// The ended calls of one method.
struct CallCounts {
  // Powers of two up to 2^39 ns, nine minutes; longer ones count in the last.
  static constexpr size_t kBuckets = 40;

  std::string method{};  // "eris.v1.Data/Lookup"
  std::array<uint64_t, kCallCodes> ended{};
  std::array<uint64_t, kCallCodes> requests{};  // of streams, by their answer
  uint64_t under_way = 0;
  // Calls, or the requests of streams that have their own answers, by LogBuckets<0>.
  std::array<uint64_t, kBuckets> latencies{};
  uint64_t latency_ns = 0;
  std::array<uint64_t, kCallStages> stage_ns{};
  uint64_t received_bytes = 0;
  uint64_t sent_bytes = 0;
};

class CallMetrics {
 public:
  using Method = uint32_t;
  static constexpr Method kMethodsMax = 64;

  // Before the first call, on one thread. REQUIRES: fewer than kMethodsMax methods.
  // `answers_requests`: its calls are streams whose requests are counted by EndRequest; only those
  // have latencies.
  Method Add(std::string name, bool answers_requests);
  const std::string& name(Method method) const { return methods_[method].name; }
  // From 0 up to this.
  Method methods() const { return static_cast<Method>(methods_.size()); }

  // Whether End adds the call's own latency.
  bool has_latencies(Method method) const { return !methods_[method].answers_requests; }

  void Begin(Method method) {
    // relaxed, here and below: counts, which order nothing.
    MyCells(method).begun.fetch_add(1, std::memory_order_relaxed);
  }
  struct Ended {
    int code = 0;
    uint64_t total_ns = 0;
    std::array<uint64_t, kCallStages> stage_ns{};
  };
  void End(Method method, const Ended& ended);
  void EndRequest(Method method, int code, uint64_t ns);
  void AddReceived(Method method, uint64_t bytes) {
    MyCells(method).received_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  void AddSent(Method method, uint64_t bytes) {
    MyCells(method).sent_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Each number is exact at some moment near the call. In the order of Add. Throws std::bad_alloc.
  std::vector<CallCounts> Read() const;

 private:
  using Number = std::atomic<uint64_t>;
  struct alignas(base::kNoSharingBytes) Cells {
    Number begun{0};
    Number received_bytes{0};
    Number sent_bytes{0};
    Number latency_ns{0};
    std::array<Number, kCallStages> stage_ns{};
    std::array<Number, kCallCodes> ended{};
    std::array<Number, kCallCodes> requests{};
    std::array<Number, CallCounts::kBuckets> latencies{};
  };
  using Copy = std::array<Cells, kMethodsMax>;
  struct MethodInfo {
    std::string name;
    bool answers_requests;
  };

  // Enough for gRPC's threads and the engine's completion threads; more share.
  static constexpr size_t kCopies = 16;

  Cells& MyCells(Method method) { return copies_[CopyOfThread()][method]; }
  static size_t CopyOfThread();
  static void AddLatency(Cells& cells, uint64_t ns);

  std::vector<MethodInfo> methods_;
  const std::unique_ptr<Copy[]> copies_{new Copy[kCopies]};
};

}  // namespace eris::server

#endif  // ERIS_SERVER_METRICS_CALL_METRICS_H_
