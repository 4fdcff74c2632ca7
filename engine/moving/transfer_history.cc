#include "engine/moving/transfer_history.h"

#include <algorithm>
#include <limits>
#include <new>
#include <utility>

#include "absl/time/clock.h"
#include "base/check.h"

namespace eris::engine {
namespace {

uint32_t MicrosecondsUp(uint64_t ns) {
  return static_cast<uint32_t>(
      std::min<uint64_t>((ns + 999) / 1000, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

uint64_t TransferHistory::Begin(absl::string_view object, const PlannedTransfer& transfer,
                                std::shared_ptr<const routing::HomeNote> home) {
  Run run;
  run.progress_ns = clock_();
  run.place.push_back({.begun_ns = run.progress_ns, .home = std::move(home)});
  TransferRecord& record = run.record();
  record.object = std::string(object);
  record.kind = transfer.kind;
  record.range = transfer.range;
  record.from = transfer.from;
  record.to = transfer.to;
  record.started = absl::Now();
  base::MutexLock lock(&mu_);
  const uint64_t id = record.id = last_id_ + 1;
  running_.emplace(id, std::move(run));
  return last_id_ = id;
}

void TransferHistory::SetKind(uint64_t id, TransferKind kind) {
  base::MutexLock lock(&mu_);
  const auto run = running_.find(id);
  ERIS_CHECK(run != running_.end());
  run->second.record().kind = kind;
}

void TransferHistory::SetPhase(uint64_t id, TransferPhase phase) {
  base::MutexLock lock(&mu_);
  const auto run = running_.find(id);
  ERIS_CHECK(run != running_.end());
  TransferPhase& now = run->second.record().phase;
  if (now == phase) return;
  // It has waited for no AEU. A step that is tried again is the same wait.
  if (now == TransferPhase::kBetweenSteps) NoteProgress(run->second);
  if (phase == TransferPhase::kSource) run->second.turns = 0;
  now = phase;
}

void TransferHistory::Look(uint64_t id, const routing::TransferStep& step) {
  base::MutexLock lock(&mu_);
  const auto found = running_.find(id);
  ERIS_CHECK(found != running_.end());
  Run& run = found->second;
  // relaxed: figures, no data.
  const uint32_t turns = step.turns.load(std::memory_order_relaxed);
  const bool left = step.left.load(std::memory_order_relaxed);
  if (turns != run.turns || (left && run.record().phase == TransferPhase::kSource))
    NoteProgress(run);
  run.turns = turns;
  if (left) run.record().phase = TransferPhase::kTarget;
  CountStall(run, clock_());
}

bool TransferHistory::Stalled(const Run& run, uint64_t now_ns) {
  return run.record().phase != TransferPhase::kBetweenSteps &&
         now_ns - run.progress_ns >= 1000 * uint64_t{kTransferStallUs};
}

void TransferHistory::CountStall(Run& run, uint64_t now_ns) {
  if (run.stalled || !Stalled(run, now_ns)) return;
  run.stalled = true;
  ++totals_.stalls;
}

void TransferHistory::NoteProgress(Run& run) {
  const uint64_t now_ns = clock_();
  CountStall(run, now_ns);
  run.stalled = false;
  run.progress_ns = now_ns;
}

void TransferHistory::Add(uint64_t id, const routing::TransferStep& step) {
  base::MutexLock lock(&mu_);
  const auto run = running_.find(id);
  ERIS_CHECK(run != running_.end());
  if (step.outcome != routing::StepOutcome::kRefused) NoteProgress(run->second);
  TransferRecord& record = run->second.record();
  const bool installed = step.outcome == routing::StepOutcome::kInstalled;
  if (installed) {
    ++record.chunks;
    record.rows += step.rows;
    totals_.rows_moved += step.rows;
    if (TraitsOf(step.kind).copies_rows) {
      record.bytes += step.bytes;
      totals_.bytes_copied += step.bytes;
    }
  }
  record.longest_pause_us = std::max(
      record.longest_pause_us,
      MicrosecondsUp(std::max({step.source_cpu_ns, step.target_cpu_ns, step.forget_cpu_ns})));
  record.longest_pause_wall_us = std::max(
      record.longest_pause_wall_us,
      MicrosecondsUp(std::max({step.source_wall_ns, step.target_wall_ns, step.forget_wall_ns})));
}

TransferRecord TransferHistory::End(uint64_t id, TransferOutcome outcome, std::string reason) {
  base::MutexLock lock(&mu_);
  const auto run = running_.find(id);
  ERIS_CHECK(run != running_.end());
  CountStall(run->second, clock_());
  TransferRecord& record = run->second.record();
  record.duration_us = static_cast<int64_t>((clock_() - run->second.begun_ns()) / 1000);
  record.phase = TransferPhase::kBetweenSteps;
  record.outcome = outcome;
  record.reason = std::move(reason);
  if (outcome == TransferOutcome::kDone) ++totals_.transfers[record.kind];
  if (ended_.size() == kTransferHistoryMax) ended_.pop_front();
  ended_.splice(ended_.end(), run->second.place);
  running_.erase(run);
  try {
    return RecordOf(ended_.back());
  } catch (const std::bad_alloc&) {
    return {};
  }
}

std::vector<TransferRecord> TransferHistory::Running() const {
  base::MutexLock lock(&mu_);
  std::vector<TransferRecord> records;
  for (const auto& [id, run] : running_) records.push_back(RecordOf(run));
  return records;
}

std::vector<TransferRecord> TransferHistory::Newest() const {
  base::MutexLock lock(&mu_);
  std::vector<TransferRecord> records;
  for (auto entry = ended_.rbegin(); entry != ended_.rend(); ++entry) {
    records.push_back(RecordOf(*entry));
  }
  return records;
}

TransferHistory::Totals TransferHistory::totals() const {
  base::MutexLock lock(&mu_);
  Totals totals = totals_;
  const uint64_t now_ns = clock_();
  for (const auto& [id, run] : running_) totals.stalls += !run.stalled && Stalled(run, now_ns);
  return totals;
}

std::optional<double> TransferHistory::RemappedShare(absl::string_view object) const {
  base::MutexLock lock(&mu_);
  for (auto entry = ended_.rbegin(); entry != ended_.rend(); ++entry) {
    if (entry->home == nullptr || entry->record.object != object) continue;
    const routing::HomeNote::Figures home = entry->home->Read();
    if (home.state == MemoryFollows::kUnderWay || home.bytes == 0) continue;
    return static_cast<double>(home.bytes_remapped) / static_cast<double>(home.bytes);
  }
  return std::nullopt;
}

TransferRecord TransferHistory::RecordOf(const Entry& entry) const {
  TransferRecord record = entry.record;
  if (entry.home == nullptr) return record;
  const routing::HomeNote::Figures home = entry.home->Read();
  record.home = home.state;
  if (home.state == MemoryFollows::kNothing) return record;
  const uint64_t until_ns =
      home.state == MemoryFollows::kUnderWay ? clock_() : std::max(home.ended_ns, entry.begun_ns);
  record.home_us = static_cast<int64_t>((until_ns - entry.begun_ns) / 1000);
  record.home_bytes = home.bytes;
  record.home_bytes_remapped = home.bytes_remapped;
  record.home_longest_pause_us = MicrosecondsUp(home.longest_pause_ns);
  return record;
}

TransferRecord TransferHistory::RecordOf(const Run& run) const {
  TransferRecord record = RecordOf(run.place.front());
  const uint64_t now_ns = clock_();
  record.duration_us = static_cast<int64_t>((now_ns - run.begun_ns()) / 1000);
  record.idle_us = static_cast<int64_t>((now_ns - run.progress_ns) / 1000);
  return record;
}

}  // namespace eris::engine
