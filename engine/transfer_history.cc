#include "engine/transfer_history.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/time/clock.h"
#include "aeu/clock.h"
#include "base/check.h"

namespace eris::engine {
namespace {

uint32_t MicrosecondsUp(uint64_t ns) {
  return static_cast<uint32_t>(
      std::min<uint64_t>((ns + 999) / 1000, std::numeric_limits<uint32_t>::max()));
}

}  // namespace

uint64_t TransferHistory::Begin(absl::string_view object, const PlannedTransfer& transfer) {
  base::MutexLock lock(&mu_);
  const uint64_t id = ++last_id_;
  Run& run = running_[id];
  run.begun_ns = aeu::NowNs();
  run.record.id = id;
  run.record.object = std::string(object);
  run.record.kind = transfer.kind;
  run.record.range = transfer.range;
  run.record.from = transfer.from;
  run.record.to = transfer.to;
  run.record.started = absl::Now();
  return id;
}

void TransferHistory::Add(uint64_t id, const routing::TransferStep& step) {
  base::MutexLock lock(&mu_);
  const auto run = running_.find(id);
  ERIS_CHECK(run != running_.end());
  TransferRecord& record = run->second.record;
  const bool installed = step.outcome == routing::StepOutcome::kInstalled;
  if (installed) {
    ++record.chunks;
    record.rows += step.rows;
    totals_.rows_moved += step.rows;
    if (step.kind == TransferKind::kCopy) {
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
  TransferRecord record = RecordOf(run->second);
  running_.erase(run);
  record.outcome = outcome;
  record.reason = std::move(reason);
  if (outcome == TransferOutcome::kDone) {
    ++(record.kind == TransferKind::kLink ? totals_.links : totals_.copies);
  }
  if (ended_.size() == kTransferHistoryMax) ended_.pop_front();
  ended_.push_back(record);
  return record;
}

std::optional<TransferRecord> TransferHistory::Running() const {
  base::MutexLock lock(&mu_);
  if (running_.empty()) return std::nullopt;
  return RecordOf(running_.begin()->second);
}

std::vector<TransferRecord> TransferHistory::Newest() const {
  base::MutexLock lock(&mu_);
  return {ended_.rbegin(), ended_.rend()};
}

TransferHistory::Totals TransferHistory::totals() const {
  base::MutexLock lock(&mu_);
  return totals_;
}

TransferRecord TransferHistory::RecordOf(const Run& run) {
  TransferRecord record = run.record;
  record.duration_us = static_cast<int64_t>((aeu::NowNs() - run.begun_ns) / 1000);
  return record;
}

}  // namespace eris::engine
