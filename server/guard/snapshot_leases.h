// Snapshots that clients have taken, and those of scans whose stream may break: each is kept while
// somebody uses it, and for its time to live after that. Any thread; never blocks; knows no gRPC
// and no Asio (sweep_timer.h carries the sweeps).
#ifndef ERIS_SERVER_GUARD_SNAPSHOT_LEASES_H_
#define ERIS_SERVER_GUARD_SNAPSHOT_LEASES_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "eris/query.h"

namespace eris::server {

class SnapshotLeases {
 public:
  using Clock = std::chrono::steady_clock;
  // Snapshots of broken scans that are kept at once: the oldest goes when there are more.
  static constexpr size_t kBrokenScansMax = 64;
  // Snapshots that clients have taken: a quarter of what there can be, so that scans have theirs.
  static constexpr size_t kTakenMax = 256;

  // A call's hold on a snapshot; the time to live begins anew when the last one ends.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept
        : leases_(std::exchange(other.leases_, nullptr)),
          id_(other.id_),
          of_scan_(other.of_scan_),
          snapshot_(std::move(other.snapshot_)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(leases_, other.leases_);
      std::swap(id_, other.id_);
      std::swap(of_scan_, other.of_scan_);
      std::swap(snapshot_, other.snapshot_);
      return *this;
    }
    ~Use() { End(); }

    void End() {
      if (leases_ != nullptr) std::exchange(leases_, nullptr)->EndUse(id_);
      snapshot_.reset();
    }
    explicit operator bool() const { return leases_ != nullptr; }
    uint64_t id() const { return id_; }
    bool of_scan() const { return of_scan_; }  // it belongs to a scan alone
    const std::shared_ptr<Snapshot>& snapshot() const { return snapshot_; }

   private:
    friend class SnapshotLeases;
    SnapshotLeases* leases_ = nullptr;
    uint64_t id_ = 0;
    bool of_scan_ = false;
    std::shared_ptr<Snapshot> snapshot_;
  };

  // `arm` is called when Sweep is to be called after that time, or sooner than was said; on any
  // thread, must not block. Ids are drawn from `seed`, so that those of another server are unknown.
  SnapshotLeases(uint64_t seed, std::function<void(Clock::duration)> arm);
  SnapshotLeases(const SnapshotLeases&) = delete;
  SnapshotLeases& operator=(const SnapshotLeases&) = delete;
  ~SnapshotLeases();  // REQUIRES: no Use

  // How many of them clients have taken.
  size_t taken() const;
  // A snapshot that a client has taken. Returns its id, never 0.
  uint64_t Add(std::shared_ptr<Snapshot> snapshot, std::chrono::milliseconds time_to_live,
               Clock::time_point now = Clock::now());
  // One of a scan, in use from the start.
  Use AddForScan(std::shared_ptr<Snapshot> snapshot, std::chrono::milliseconds time_to_live);
  // Errors: FailedPrecondition (let go, or never there).
  absl::StatusOr<Use> Find(uint64_t id);
  // From its last use on it lives no longer than that. Nothing happens if it has been let go.
  void Shorten(uint64_t id, std::chrono::milliseconds time_to_live_max);
  // Lets it go; calls that use it end as if nothing had happened. Errors: NotFound.
  absl::Status Release(uint64_t id);

  // Lets go what nobody has used for its time to live. Returns after what time to call it again;
  // nullopt: `arm` will say. One thread at a time.
  std::optional<Clock::duration> Sweep(Clock::time_point now);

  size_t size() const;

 private:
  struct Lease {
    std::shared_ptr<Snapshot> snapshot;
    std::chrono::milliseconds time_to_live{0};
    bool of_scan = false;
    uint32_t uses = 0;
    Clock::time_point due{};  // while uses is 0
  };
  uint64_t NewId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Use UseOf(uint64_t id, Lease& lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndUse(uint64_t id);
  // Starts the time to live. True: call arm_ with it.
  bool Idle(Lease& lease, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What has to go so that a further broken scan fits.
  std::shared_ptr<Snapshot> TakeOldestBrokenScan() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const uint64_t seed_;
  const std::function<void(Clock::duration)> arm_;

  mutable base::Mutex mu_;
  std::map<uint64_t, Lease> leases_ ABSL_GUARDED_BY(mu_);
  uint64_t made_ ABSL_GUARDED_BY(mu_) = 0;
  // When the sweep that is owed comes.
  std::optional<Clock::time_point> armed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_SNAPSHOT_LEASES_H_
