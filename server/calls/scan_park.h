// The scan of a stream while the client reads a chunk. A client that does not read would keep the
// scan's chunks from all other scans: the pool has room for some thirty scans. So after a while the
// scan is destroyed here, which gives its chunks back, and only its place is kept; the stream opens
// it again when the client has read. The stream's step and the sweeping thread use it.
#ifndef ERIS_SERVER_CALLS_SCAN_PARK_H_
#define ERIS_SERVER_CALLS_SCAN_PARK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "eris/engine.h"
#include "server/guard/expiry_queue.h"
#include "server/guard/scan_stop.h"

namespace eris::server {

class ScanPark final : public ExpiryQueue::Owner, public std::enable_shared_from_this<ScanPark> {
 public:
  // `stop` has the scans attached that are parked here.
  explicit ScanPark(std::shared_ptr<ScanStop> stop) : stop_(std::move(stop)) {}

  // Keeps `scan` until End, or until `queue` expires. `place`: where it would go on.
  void Begin(ExpiryQueue& queue, std::unique_ptr<Scan> scan, std::string place) {
    {
      base::MutexLock lock(&mu_);
      scan_ = std::move(scan);
      place_ = std::move(place);
      used_ = true;
    }
    watch_.Begin(queue, shared_from_this());
  }
  // Whether Begin has been called since the last End. The stream's step asks.
  bool used() const {
    base::MutexLock lock(&mu_);
    return used_;
  }
  // Returns the scan. nullptr: it was given up, and goes on at `*place`.
  std::unique_ptr<Scan> End(std::string* place) {
    watch_.End();
    base::MutexLock lock(&mu_);
    used_ = false;
    *place = std::move(place_);
    return std::move(scan_);
  }

  void OnExpired(uint64_t) override {
    std::unique_ptr<Scan> given_up;  // destroyed outside the lock
    base::MutexLock lock(&mu_);
    if (scan_ == nullptr) return;  // the client has just read
    stop_->Detach();
    given_up = std::move(scan_);
  }

 private:
  const std::shared_ptr<ScanStop> stop_;
  ExpiryQueue::Watch watch_;  // used by the stream's step
  mutable base::Mutex mu_;
  std::unique_ptr<Scan> scan_ ABSL_GUARDED_BY(mu_);
  std::string place_ ABSL_GUARDED_BY(mu_);
  bool used_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_SCAN_PARK_H_
