// Snapshots that clients have taken, those of scans whose stream may break, and those that the
// tickets of Arrow Flight name: each is kept while it is used, and for its time to live after that.
// Once all tickets of a snapshot have been read, that is kReadOutTimeToLive at most. Any thread;
// never blocks; independent of gRPC and Asio (sweep_timer.h runs the sweeps).
#ifndef ERIS_SERVER_GUARD_SNAPSHOT_LEASES_H_
#define ERIS_SERVER_GUARD_SNAPSHOT_LEASES_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "eris/query.h"

namespace eris::server {

class SnapshotLeases {
 public:
  using Clock = std::chrono::steady_clock;
  // Maximum number of snapshots of broken scans; beyond it the oldest is released of the client
  // that has the most.
  static constexpr size_t kBrokenScansMax = 64;
  // Maximum number of snapshots taken by clients, with those of tickets: a quarter of all, so that
  // some are left for scans.
  static constexpr size_t kTakenMax = 256;
  // Maximum number of snapshots of tickets; beyond it, of the client that has the most, the one
  // goes that has not been used for the longest time. If all are used there may be more.
  static constexpr size_t kTicketsMax = 64;
  static constexpr std::chrono::milliseconds kReadOutTimeToLive{1000};

  // A call's use of a snapshot; the time to live begins again when the last use ends.
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
    bool of_scan() const { return of_scan_; }  // it belongs only to a scan
    const std::shared_ptr<Snapshot>& snapshot() const { return snapshot_; }

   private:
    friend class SnapshotLeases;
    SnapshotLeases* leases_ = nullptr;
    uint64_t id_ = 0;
    bool of_scan_ = false;
    std::shared_ptr<Snapshot> snapshot_;
  };

  // `arm` is called when Sweep must be called after that time, or earlier than announced; on any
  // thread. It must not block, nor use the leases: the last call counts, so they are ordered by the
  // lock. Ids are random.
  explicit SnapshotLeases(std::function<void(Clock::duration)> arm);
  SnapshotLeases(const SnapshotLeases&) = delete;
  SnapshotLeases& operator=(const SnapshotLeases&) = delete;
  ~SnapshotLeases();  // REQUIRES: no Use

  // Number of snapshots taken by clients, and of tickets.
  size_t taken() const;
  // Adds a snapshot that a client has taken. Returns its id, never 0.
  uint64_t Add(std::shared_ptr<Snapshot> snapshot, std::chrono::milliseconds time_to_live,
               Clock::time_point now = Clock::now());
  // Adds one of a client's scan, in use from the start.
  Use AddForScan(std::string client, std::shared_ptr<Snapshot> snapshot,
                 std::chrono::milliseconds time_to_live);
  // Adds one of a client's tickets, in use from the start. Before the use ends, SetTickets tells
  // their number.
  Use AddForTickets(std::string client, std::shared_ptr<Snapshot> snapshot,
                    std::chrono::milliseconds time_to_live);
  void SetTickets(uint64_t id, size_t tickets);
  // A ticket, by its place among them, has been read to its end. Does nothing if the snapshot has
  // been released.
  void MarkRead(uint64_t id, size_t ticket);
  // The ticket is to be read, again if it has been: its time to live starts again. Errors:
  // FailedPrecondition (released, or it never existed).
  absl::Status Renew(uint64_t id, size_t ticket, Clock::time_point now = Clock::now());
  // Errors: FailedPrecondition (released, or it never existed).
  absl::StatusOr<Use> Find(uint64_t id);
  // Limits its time to live after its last use. Does nothing if it has been released.
  void Shorten(uint64_t id, std::chrono::milliseconds time_to_live_max);
  // Releases it; calls that use it are not affected. Errors: NotFound.
  absl::Status Release(uint64_t id);

  // Releases snapshots unused for their time to live. Returns the time after which to call it
  // again; nullopt: `arm` will tell. One thread at a time.
  std::optional<Clock::duration> Sweep(Clock::time_point now);

  size_t size() const;

 private:
  enum class Kind : uint8_t { kTaken, kScan, kTickets };
  struct Lease {
    // From the end of its last use on.
    std::chrono::milliseconds rest() const {
      const bool read_out = kind == Kind::kTickets && unread == 0;
      return read_out ? std::min(time_to_live, kReadOutTimeToLive) : time_to_live;
    }

    std::shared_ptr<Snapshot> snapshot;
    std::chrono::milliseconds time_to_live{0};
    Kind kind = Kind::kTaken;
    std::string client{};  // of scans and tickets
    uint32_t uses = 0;
    Clock::time_point due{};  // valid while uses is 0
    std::vector<bool> read;   // by ticket
    size_t unread = 0;
    // Tickets that were renewed while the lease was used: the next reading does not count.
    std::set<size_t> renewed;
  };
  Use AddUsed(std::string client, std::shared_ptr<Snapshot> snapshot,
              std::chrono::milliseconds time_to_live, Kind kind);
  uint64_t NewId() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Use UseOf(uint64_t id, Lease& lease) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void EndUse(uint64_t id);
  // Starts the time to live.
  void Idle(Lease& lease, Clock::time_point now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `id` has just become unused. If its kind has too many leases now, the oldest unused one but
  // `id` ends, of the client that has the most: returns its snapshot, to be released. nullptr
  // otherwise.
  std::shared_ptr<Snapshot> TakeOldest(Kind kind, uint64_t id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable after construction.
  const std::function<void(Clock::duration)> arm_;

  mutable base::Mutex mu_;
  std::map<uint64_t, Lease> leases_ ABSL_GUARDED_BY(mu_);
  // Time of the pending sweep.
  std::optional<Clock::time_point> armed_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_SNAPSHOT_LEASES_H_
