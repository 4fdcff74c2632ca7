#include "server/metrics/call_metrics.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace eris::server {
namespace {

void AddTo(std::atomic<uint64_t>& number, uint64_t amount) {
  if (amount > 0) number.fetch_add(amount, std::memory_order_relaxed);
}
uint64_t ReadOf(const std::atomic<uint64_t>& number) {
  return number.load(std::memory_order_relaxed);
}
size_t CodeIndex(int code) {
  return code >= 0 && code < static_cast<int>(kCallCodes) ? static_cast<size_t>(code) : 2;
}

}  // namespace

size_t CallMetrics::CopyOfThread() {
  static std::atomic<size_t> threads{0};
  thread_local const size_t mine = threads.fetch_add(1, std::memory_order_relaxed) % kCopies;
  return mine;
}

CallMetrics::Method CallMetrics::Add(std::string name, bool answers_requests) {
  ERIS_CHECK(methods_.size() < kMethodsMax);
  methods_.push_back({std::move(name), answers_requests});
  return static_cast<Method>(methods_.size() - 1);
}

void CallMetrics::AddLatency(Cells& cells, uint64_t ns) {
  const size_t bucket = std::min(base::LogBuckets<0>::Of(ns), CallCounts::kBuckets - 1);
  AddTo(cells.latencies[bucket], 1);
  AddTo(cells.latency_ns, ns);
}

void CallMetrics::End(Method method, const Ended& ended) {
  Cells& cells = MyCells(method);
  if (has_latencies(method)) {
    AddLatency(cells, ended.total_ns);
    for (size_t i = 0; i < kCallStages; ++i) AddTo(cells.stage_ns[i], ended.stage_ns[i]);
  }
  AddTo(cells.ended[CodeIndex(ended.code)], 1);
}

void CallMetrics::EndRequest(Method method, int code, uint64_t ns) {
  Cells& cells = MyCells(method);
  AddLatency(cells, ns);
  AddTo(cells.requests[CodeIndex(code)], 1);
}

std::vector<CallCounts> CallMetrics::Read() const {
  std::vector<CallCounts> all(methods_.size());
  for (size_t method = 0; method < methods_.size(); ++method) {
    CallCounts& counts = all[method];
    counts.method = methods_[method].name;
    uint64_t begun = 0;
    uint64_t ended = 0;
    for (size_t copy = 0; copy < kCopies; ++copy) {
      const Cells& cells = copies_[copy][method];
      for (size_t code = 0; code < kCallCodes; ++code) {
        counts.ended[code] += ReadOf(cells.ended[code]);
        counts.requests[code] += ReadOf(cells.requests[code]);
      }
      for (size_t i = 0; i < CallCounts::kBuckets; ++i) {
        counts.latencies[i] += ReadOf(cells.latencies[i]);
      }
      for (size_t i = 0; i < kCallStages; ++i) counts.stage_ns[i] += ReadOf(cells.stage_ns[i]);
      counts.latency_ns += ReadOf(cells.latency_ns);
      counts.received_bytes += ReadOf(cells.received_bytes);
      counts.sent_bytes += ReadOf(cells.sent_bytes);
    }
    for (const uint64_t count : counts.ended) ended += count;
    for (size_t copy = 0; copy < kCopies; ++copy) begun += ReadOf(copies_[copy][method].begun);
    // A call that began on one thread may have ended on another.
    counts.under_way = begun > ended ? begun - ended : 0;
  }
  return all;
}

}  // namespace eris::server
