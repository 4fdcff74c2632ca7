// The balancer of the fake engine: figures that are all different, and calls that move nothing.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/unit/server/fake_engine.h"

namespace eris::server {
namespace {

BalancePlan PlanOf(absl::string_view name) {
  return {.object = std::string(name),
          .algorithm = BalanceAlgorithm::kMovingAverage,
          .imbalance_before = 1.5,
          .imbalance_after = 0.25,
          .shares = {{.aeu = AeuId{0},
                      .load_before = 0.75,
                      .load_after = 0.5,
                      .rows_before = 31,
                      .rows_after = 32},
                     {.aeu = AeuId{1}, .load_before = 0.125, .load_after = 0.375}},
          .transfers = {{.range = {.lo = 33, .hi = 34},
                         .from = AeuId{0},
                         .to = AeuId{1},
                         .kind = TransferKind::kLink,
                         .rows = 35,
                         .bytes = 36}},
          .bytes_to_copy = 37};
}

}  // namespace

BalancerStatus FakeEngine::Balancer() {
  base::MutexLock lock(&mu_);
  BalancerStatus status{.options = balancer_options_,
                        .paused = balancer_paused_,
                        .cycles = 41,
                        .rows_moved = 44,
                        .bytes_copied = 45,
                        .objects = {{.object = "orders",
                                     .algorithm = BalanceAlgorithm::kSize,
                                     .imbalance = 0.625,
                                     .loads = {1.25, 0.0625},
                                     .reason = "too little"}}};
  status.transfers[TransferKind::kLink] = 42;
  status.transfers[TransferKind::kCopy] = 43;
  status.stalls = 46;
  if (!history_.empty()) {
    status.running = {history_.front()};
    status.running[0].outcome = TransferOutcome::kRunning;
    status.running[0].phase = TransferPhase::kTarget;
    status.running[0].idle_us = 1'500'000;
  }
  return status;
}

absl::StatusOr<HotRanges> FakeEngine::FindHotRanges(absl::string_view name, uint32_t ranges_max) {
  if (ranges_max > kHotRangesMax) return absl::InvalidArgumentError("too many ranges");
  if (const auto info = Describe(name); !info.ok()) return info.status();
  HotRanges ranges{.load = 0.5,
                   .starts = {0, 1000},
                   .owners = {AeuId{1}, AeuId{0}},
                   .loads = {0.125, 0.375},
                   .rows = {51, 52}};
  ranges.hottest.assign(std::min(ranges_max, 2u),
                        {.range = {.lo = 53, .hi = 54}, .owner = AeuId{1}, .load = 0.25});
  return ranges;
}

std::vector<TransferRecord> FakeEngine::TransferHistory() {
  base::MutexLock lock(&mu_);
  return history_;
}

absl::Status FakeEngine::SetBalancer(const BalancerOptions& options) {
  base::MutexLock lock(&mu_);
  balancer_options_ = options;
  return absl::OkStatus();
}

void FakeEngine::PauseBalancer() {
  base::MutexLock lock(&mu_);
  if (!balancer_paused_) ++balancer_pauses_;
  balancer_paused_ = true;
  changed_.SignalAll();
}

void FakeEngine::ResumeBalancer() {
  base::MutexLock lock(&mu_);
  balancer_paused_ = false;
}

absl::StatusOr<BalancePlan> FakeEngine::PlanBalance(absl::string_view name) {
  const absl::StatusOr<ObjectInfo> info = Describe(name);
  if (!info.ok()) return info.status();
  return PlanOf(name);
}

absl::StatusOr<BalancePlan> FakeEngine::Rebalance(absl::string_view name, absl::Time deadline,
                                                  MoveStop* stop) {
  const absl::Status status =
      MoveNow({.object = std::string(name), .deadline = deadline, .stop = stop});
  if (!status.ok()) return status;
  return PlanOf(name);
}

absl::Status FakeEngine::Presplit(absl::string_view name, const KeyRange& range, uint32_t parts,
                                  absl::Time deadline, MoveStop* stop) {
  return MoveNow({.object = std::string(name),
                  .range = range,
                  .parts = parts,
                  .deadline = deadline,
                  .stop = stop});
}

absl::Status FakeEngine::MoveRange(absl::string_view name, const KeyRange& range, AeuId to,
                                   std::optional<TransferKind> kind, absl::Time deadline,
                                   MoveStop* stop) {
  return MoveNow({.object = std::string(name),
                  .range = range,
                  .to = to,
                  .kind = kind,
                  .deadline = deadline,
                  .stop = stop});
}

absl::Status FakeEngine::MoveNow(const Move& move) {
  bool stopped = false;  // guarded by mu_
  if (move.stop == nullptr) return AwaitMove(move, stopped);
  move.stop->SetWake([&] {
    base::MutexLock lock(&mu_);
    stopped = true;
    changed_.SignalAll();
  });
  const absl::Status status = move.stop->why().ok() ? AwaitMove(move, stopped) : absl::OkStatus();
  move.stop->SetWake(nullptr);
  return move.stop->why().ok() ? status : move.stop->why();
}

absl::Status FakeEngine::AwaitMove(const Move& move, const bool& stopped) {
  base::MutexLock lock(&mu_);
  if (!objects_.contains(move.object)) {
    return absl::NotFoundError(absl::StrCat("no object ", move.object));
  }
  ++moves_;
  ++moving_;
  last_move_ = move;
  const uint64_t pauses = balancer_pauses_;
  absl::Status status;
  while (status.ok()) {
    if (balancer_paused_ || balancer_pauses_ != pauses) {
      status = absl::FailedPreconditionError("the balancer is paused");
    } else if (absl::Now() >= move.deadline) {
      status = absl::DeadlineExceededError("the fake's deadline has passed");
    } else if (!hold_moves_ || stopped) {
      break;
    } else {
      changed_.WaitWithDeadline(&mu_, move.deadline);
    }
  }
  --moving_;
  return status;
}

void FakeEngine::HoldMoves(bool hold) {
  base::MutexLock lock(&mu_);
  hold_moves_ = hold;
  changed_.SignalAll();
}
void FakeEngine::SetHistory(std::vector<TransferRecord> history) {
  base::MutexLock lock(&mu_);
  history_ = std::move(history);
}

}  // namespace eris::server
