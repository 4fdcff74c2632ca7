// The scan of a stream while the client reads a chunk. A client that does not read would keep the
// scan's chunks from all other scans: the pool has room for some thirty scans. So after a while the
// scan is destroyed here, which gives its chunks back, and only its place is kept; the stream opens
// it again when the client has read. A scan of groups has no place: it would have to read its whole
// table again. It keeps its chunks if its client has a share left, and otherwise ends. The stream's
// step and the sweeping thread use it.
#ifndef ERIS_SERVER_CALLS_SCAN_PARK_H_
#define ERIS_SERVER_CALLS_SCAN_PARK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "eris/engine.h"
#include "eris/errors.h"
#include "server/guard/expiry_queue.h"
#include "server/guard/scan_stop.h"
#include "server/overload/client_shares.h"

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
  // The same for a scan that has no place. When `queue` expires, it is kept if `client` may hold
  // one more of `unread`, which outlives this; otherwise the stream is stopped.
  void BeginWithoutPlace(ExpiryQueue& queue, std::unique_ptr<Scan> scan, ClientShares& unread,
                         std::string client) {
    {
      base::MutexLock lock(&mu_);
      scan_ = std::move(scan);
      unread_ = &unread;
      client_ = std::move(client);
      used_ = true;
    }
    watch_.Begin(queue, shared_from_this());
  }
  // Whether Begin has been called since the last End. The stream's step asks.
  bool used() const {
    base::MutexLock lock(&mu_);
    return used_;
  }
  // Returns the scan. nullptr: it was given up, and goes on at `*place`, unless the stream has been
  // stopped.
  std::unique_ptr<Scan> End(std::string* place) {
    watch_.End();
    ClientShares::Hold given_back;  // outside the lock
    base::MutexLock lock(&mu_);
    given_back = std::move(hold_);
    used_ = false;
    unread_ = nullptr;
    *place = std::move(place_);
    return std::move(scan_);
  }

  void OnExpired(uint64_t) override {
    std::unique_ptr<Scan> given_up;  // destroyed outside the lock
    base::MutexLock lock(&mu_);
    if (scan_ == nullptr) return;  // the client has just read
    if (unread_ != nullptr) {
      hold_ = unread_->TryTake(client_);
      if (hold_) return;
    }
    stop_->Detach();
    if (unread_ != nullptr) stop_->Stop(UnreadStatus(*unread_, client_));
    given_up = std::move(scan_);
  }

 private:
  static absl::Status UnreadStatus(const ClientShares& unread, const std::string& client) {
    return Error(ErrorReason::kScanChunks,
                 absl::StrCat("this client leaves ", unread.held_by(client),
                              " other answers of groups unread; the limit is ", unread.max(),
                              " of all clients, and no client gets more than are left: read them "
                              "as they arrive"),
                 {.limit = absl::StrCat(unread.max())});
  }

  const std::shared_ptr<ScanStop> stop_;
  ExpiryQueue::Watch watch_;  // used by the stream's step
  mutable base::Mutex mu_;
  std::unique_ptr<Scan> scan_ ABSL_GUARDED_BY(mu_);
  std::string place_ ABSL_GUARDED_BY(mu_);
  ClientShares* unread_ ABSL_GUARDED_BY(mu_) = nullptr;  // nullptr: the scan has a place
  std::string client_ ABSL_GUARDED_BY(mu_);
  ClientShares::Hold hold_ ABSL_GUARDED_BY(mu_);  // while the scan is kept unread
  bool used_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_SCAN_PARK_H_
