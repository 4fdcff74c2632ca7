#include "server/guard/snapshot_leases.h"

#include <sys/random.h>

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "eris/errors.h"

namespace eris::server {
namespace {

// Minimum time between sweeps.
constexpr std::chrono::milliseconds kTick{10};

absl::Status NotThere(uint64_t id) {
  return Error(
      ErrorReason::kSnapshotGone,
      absl::StrCat("snapshot ", id,
                   " is not there: it was let go, or nobody has used it for its time to live"),
      {.field = "snapshot", .value = absl::StrCat(id)});
}

}  // namespace

SnapshotLeases::SnapshotLeases(std::function<void(Clock::duration)> arm) : arm_(std::move(arm)) {}

SnapshotLeases::~SnapshotLeases() {
  base::MutexLock lock(&mu_);
  for (const auto& [id, lease] : leases_) ERIS_CHECK(lease.uses == 0);
}

uint64_t SnapshotLeases::NewId() {
  for (;;) {
    // Whoever knows a number may use the snapshot, so that none may follow from others.
    uint64_t id = 0;
    if (getrandom(&id, sizeof id, 0) != sizeof id) continue;  // a signal came while it had none
    if (id != 0 && !leases_.contains(id)) return id;
  }
}

void SnapshotLeases::Idle(Lease& lease, Clock::time_point now) {
  lease.due = now + lease.rest();
#ifdef ERIS_PLANTED_ENDLESS_LEASE
  if (lease.kind == Kind::kTickets) lease.due = now + std::chrono::hours(24);
#endif
  if (armed_ && *armed_ <= lease.due) return;
  armed_ = lease.due;
  arm_(lease.due - now);
}

size_t SnapshotLeases::taken() const {
  base::MutexLock lock(&mu_);
  return static_cast<size_t>(std::count_if(leases_.begin(), leases_.end(), [](const auto& lease) {
    return lease.second.kind != Kind::kScan;
  }));
}

uint64_t SnapshotLeases::Add(std::shared_ptr<Snapshot> snapshot,
                             std::chrono::milliseconds time_to_live, Clock::time_point now) {
  base::MutexLock lock(&mu_);
  const uint64_t id = NewId();
  Lease& lease = leases_[id];
  lease.snapshot = std::move(snapshot);
  lease.time_to_live = time_to_live;
  Idle(lease, now);
  return id;
}

SnapshotLeases::Use SnapshotLeases::UseOf(uint64_t id, Lease& lease) {
  ++lease.uses;
  Use use;
  use.leases_ = this;
  use.id_ = id;
  use.of_scan_ = lease.kind == Kind::kScan;
  use.snapshot_ = lease.snapshot;
  return use;
}

SnapshotLeases::Use SnapshotLeases::AddUsed(std::string client, std::shared_ptr<Snapshot> snapshot,
                                            std::chrono::milliseconds time_to_live, Kind kind) {
  base::MutexLock lock(&mu_);
  const uint64_t id = NewId();
  Lease& lease = leases_[id];
  lease.snapshot = std::move(snapshot);
  lease.time_to_live = time_to_live;
  lease.kind = kind;
  lease.client = std::move(client);
  return UseOf(id, lease);
}

SnapshotLeases::Use SnapshotLeases::AddForScan(std::string client,
                                               std::shared_ptr<Snapshot> snapshot,
                                               std::chrono::milliseconds time_to_live) {
  return AddUsed(std::move(client), std::move(snapshot), time_to_live, Kind::kScan);
}

SnapshotLeases::Use SnapshotLeases::AddForTickets(std::string client,
                                                  std::shared_ptr<Snapshot> snapshot,
                                                  std::chrono::milliseconds time_to_live) {
  return AddUsed(std::move(client), std::move(snapshot), time_to_live, Kind::kTickets);
}

void SnapshotLeases::SetTickets(uint64_t id, size_t tickets) {
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second.read.assign(tickets, false);
  found->second.unread = tickets;
}

void SnapshotLeases::MarkRead(uint64_t id, size_t ticket) {
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  Lease& lease = found->second;
  if (ticket >= lease.read.size() || lease.read[ticket]) return;
  if (lease.renewed.erase(ticket) > 0) return;  // it is to be read once more
  lease.read[ticket] = true;
  --lease.unread;
}

absl::Status SnapshotLeases::Renew(uint64_t id, size_t ticket, Clock::time_point now) {
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return NotThere(id);
  Lease& lease = found->second;
  if (ticket < lease.read.size() && lease.read[ticket]) {
    lease.read[ticket] = false;
    ++lease.unread;
  } else if (ticket < lease.read.size() && lease.uses > 0) {
    lease.renewed.insert(ticket);  // perhaps it is being read
  }
  if (lease.uses == 0) Idle(lease, now);
  return absl::OkStatus();
}

absl::StatusOr<SnapshotLeases::Use> SnapshotLeases::Find(uint64_t id) {
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return NotThere(id);
  return UseOf(id, found->second);
}

void SnapshotLeases::Shorten(uint64_t id, std::chrono::milliseconds time_to_live_max) {
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  found->second.time_to_live = std::min(found->second.time_to_live, time_to_live_max);
}

absl::Status SnapshotLeases::Release(uint64_t id) {
  std::shared_ptr<Snapshot> dropped;  // destroyed outside the lock
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) {
    return Error(ErrorReason::kSnapshotUnknown, absl::StrCat("no snapshot ", id),
                 {.field = "snapshot", .value = absl::StrCat(id)});
  }
  dropped = std::move(found->second.snapshot);
  leases_.erase(found);
  return absl::OkStatus();
}

std::shared_ptr<Snapshot> SnapshotLeases::TakeOldest(Kind kind, uint64_t id) {
  if (kind == Kind::kTaken) return nullptr;
  // Scans that run are not broken; tickets that are read count, too.
  const bool counts_used = kind == Kind::kTickets;
  const size_t most = kind == Kind::kTickets ? kTicketsMax : kBrokenScansMax;
  size_t count = 0;
  struct OfClient {
    size_t count = 0;
    std::optional<std::pair<Clock::time_point, uint64_t>> oldest;  // unused, and not `id`
  };
  std::map<absl::string_view, OfClient> clients;
  for (const auto& [one, lease] : leases_) {
    const bool idle = lease.uses == 0;
    if (lease.kind != kind || (!idle && !counts_used)) continue;
    ++count;
    OfClient& client = clients[lease.client];
    ++client.count;
    if (!idle || one == id) continue;
    const std::pair at{lease.due, one};
    if (!client.oldest || at < *client.oldest) client.oldest = at;
  }
  if (count <= most) return nullptr;
  const auto most_of = std::max_element(
      clients.begin(), clients.end(),
      [](const auto& a, const auto& b) { return a.second.count < b.second.count; });
  if (!most_of->second.oldest) return nullptr;
  const auto oldest = leases_.find(most_of->second.oldest->second);
  std::shared_ptr<Snapshot> snapshot = std::move(oldest->second.snapshot);
  leases_.erase(oldest);
  return snapshot;
}

void SnapshotLeases::EndUse(uint64_t id) {
  std::shared_ptr<Snapshot> dropped;  // destroyed outside the lock
  base::MutexLock lock(&mu_);
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;  // released meanwhile
  Lease& lease = found->second;
  if (--lease.uses > 0) return;
  Idle(lease, Clock::now());
  dropped = TakeOldest(lease.kind, id);
}

std::optional<SnapshotLeases::Clock::duration> SnapshotLeases::Sweep(Clock::time_point now) {
  std::vector<std::shared_ptr<Snapshot>> dropped;  // destroyed outside the lock
  base::MutexLock lock(&mu_);
  armed_.reset();
  for (auto lease = leases_.begin(); lease != leases_.end();) {
    const bool idle = lease->second.uses == 0;
    if (idle && lease->second.due <= now) {
      dropped.push_back(std::move(lease->second.snapshot));
      lease = leases_.erase(lease);
      continue;
    }
    if (idle && (!armed_ || lease->second.due < *armed_)) armed_ = lease->second.due;
    ++lease;
  }
  if (!armed_) return std::nullopt;
  return std::max<Clock::duration>(*armed_ - now, kTick);
}

size_t SnapshotLeases::size() const {
  base::MutexLock lock(&mu_);
  return leases_.size();
}

}  // namespace eris::server
