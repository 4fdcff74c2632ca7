#include "bench/study/blind/requested_bytes.h"

#include <atomic>

namespace eris::bench::study {
namespace {

// Relaxed everywhere: read after the threads have ended.
std::atomic<uint64_t> all_bytes{0}, freed_bytes{0}, all_calls{0};

}  // namespace

void TellRequested() {
  all_bytes.fetch_add(requested_by_thread.all, std::memory_order_relaxed);
  freed_bytes.fetch_add(requested_by_thread.freed, std::memory_order_relaxed);
  all_calls.fetch_add(requested_by_thread.calls, std::memory_order_relaxed);
  requested_by_thread = {};
}

RequestedBytes Requested() {
  return {all_bytes.load(std::memory_order_relaxed), freed_bytes.load(std::memory_order_relaxed),
          all_calls.load(std::memory_order_relaxed)};
}

}  // namespace eris::bench::study
