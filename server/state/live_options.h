// The options of a server that can change while it runs (ConfigOption::live): `eris config set`
// changes them by the RPC UpdateConfig. All others keep the values of the start. Any thread.
#ifndef ERIS_SERVER_STATE_LIVE_OPTIONS_H_
#define ERIS_SERVER_STATE_LIVE_OPTIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "server/state/config.h"

namespace eris::server {

class LiveOptions {
 public:
  using Listener = std::function<void(const ServerConfig&)>;

  explicit LiveOptions(const ServerConfig& config) : config_(config) { Store(config); }

  // Each call reads these when it begins, and keeps the values to its end.
  uint32_t call_ms_max() const { return Load(call_ms_max_); }
  uint32_t scan_resume_ms() const { return Load(scan_resume_ms_); }
  uint32_t flight_snapshot_ms() const { return Load(flight_snapshot_ms_); }
  uint32_t stream_requests_max() const { return Load(stream_requests_max_); }
  uint64_t stream_bytes_max() const {
    return stream_bytes_max_.load(std::memory_order_relaxed);  // as Load
  }

  // All options. The balancer's and the scheduling are as last set here: since then the engine may
  // have got others.
  ServerConfig config() const {
    base::MutexLock lock(&mu_);
    return config_;
  }
  // Takes the live options of `config`, which is valid, and tells the listener. One thread at a
  // time.
  void Set(const ServerConfig& config) {
    Listener listener;
    {
      base::MutexLock lock(&mu_);
      config_ = config;
      listener = listener_;
    }
    Store(config);
    if (listener) listener(config);
  }
  // Set calls `listener` after each change, on the thread that calls Set; it must not block.
  // Replaces the listener before it.
  void SetListener(Listener listener) {
    base::MutexLock lock(&mu_);
    listener_ = std::move(listener);
  }

 private:
  // Relaxed: each value is a limit by itself, and publishes nothing. A call that begins during a
  // change may have the old value of one and the new value of another.
  static uint32_t Load(const std::atomic<uint32_t>& value) {
    return value.load(std::memory_order_relaxed);
  }
  void Store(const ServerConfig& config) {
    call_ms_max_.store(config.call_ms_max, std::memory_order_relaxed);
    scan_resume_ms_.store(config.scan_resume_ms, std::memory_order_relaxed);
    flight_snapshot_ms_.store(config.flight_snapshot_ms, std::memory_order_relaxed);
    stream_requests_max_.store(config.stream_requests_max, std::memory_order_relaxed);
    stream_bytes_max_.store(config.stream_bytes_max, std::memory_order_relaxed);
  }

  // Shared: written by Set, read by every call.
  std::atomic<uint32_t> call_ms_max_{0};
  std::atomic<uint32_t> scan_resume_ms_{0};
  std::atomic<uint32_t> flight_snapshot_ms_{0};
  std::atomic<uint32_t> stream_requests_max_{0};
  std::atomic<uint64_t> stream_bytes_max_{0};

  mutable base::Mutex mu_;
  ServerConfig config_ ABSL_GUARDED_BY(mu_);
  Listener listener_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_LIVE_OPTIONS_H_
