#include "aeu/runners/query_runner.h"

#include <new>
#include <span>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "base/lean_status.h"
#include "eris/errors.h"
#include "routing/part.h"

namespace eris::aeu {

void QueryRunner::Begin(const routing::CommandHeader* command, ObjectSlot*) {
  // The command may be in a multicast buffer, which is released immediately.
  const auto* segment =
      reinterpret_cast<const routing::StageSegment*>(routing::DataSegment(command));
  Running one{.part = routing::PartOf(std::span(segment->parts, segment->part_count), self_),
              .complete = command->complete,
              .run = nullptr};
  memory::LocalCache* const cache = cache_.Of(one.part->part->manager());
  if (cache != nullptr) {
    one.part->part->Enter(*cache);
    try {
      ReserveMore(running_, 1);
      one.run = std::make_unique<storage::StageRun>(*one.part->part, *one.part->stage);
      running_.push_back(std::move(one));
      return;
    } catch (const std::bad_alloc&) {  // answered below
    }
  }
  // Other AEUs wait for the tasks of this one.
  if (auto* const tasks = one.part->part->all().stage_tasks.get()) tasks->Absent();
  const ErrorReason reason =
      cache == nullptr ? ErrorReason::kMemoryLimit : ErrorReason::kSystemMemory;
  Finish(one, base::LeanError(reason, "an AEU has no memory for its part of a query"));
}

size_t QueryRunner::Choose() {
  const size_t count = running_.size();
  size_t first = 0;
  while (first < count && running_[first].run->Waits()) ++first;
  if (++pieces_ % kPiecesPerOther != 0) return first;
  for (size_t next = 1; next <= count; ++next) {
    const size_t other = (other_ + next) % count;
    if (other == first || running_[other].run->Waits()) continue;
    return other_ = other;
  }
  return first;
}

bool QueryRunner::AdvanceStage(uint64_t& now_ns) {
  const size_t at = Choose();
  if (at == running_.size()) return false;
  const Running& one = running_[at];
  storage::QueryPart& part = *one.part->part;
  // relaxed: advice.
  if (!one.part->to_the_end && part.all().stop.load(std::memory_order_relaxed)) {
    one.run->Stop(base::LeanStatus(absl::StatusCode::kCancelled, "the query was cancelled"));
  }
  const absl::StatusOr<bool> more = one.run->Advance();
  const uint64_t began_ns = std::exchange(now_ns, NowNs());
  part.CountTime(now_ns - began_ns);
  one.run->Took(now_ns - began_ns);
  if (more.ok() && *more) return true;
  Finish(one, more.status());
  running_.erase(running_.begin() + static_cast<ptrdiff_t>(at));
  return true;
}

tasks::Task* QueryRunner::TakeTask(bool idle) {
  if (scheduler_ == nullptr) return nullptr;
  if (idle) return scheduler_->Take(self_.value, tasks::TaskTurn::kIdle);
  const bool share = (taken_ + 1) % kPiecesPerOther == 0;
  tasks::Task* const task =
      scheduler_->Take(self_.value, share ? tasks::TaskTurn::kShare : tasks::TaskTurn::kSlice);
  taken_ += task != nullptr;
  return task;
}

bool QueryRunner::AdvanceTask(uint64_t& now_ns, bool idle) {
  if (task_ == nullptr) task_ = TakeTask(idle);
  if (task_ == nullptr) return false;
  const bool more = task_->Advance(*this);
  const uint64_t began_ns = std::exchange(now_ns, NowNs());
  task_->Took(*this, now_ns - began_ns);
  if (!more) std::exchange(task_, nullptr)->End(*this);
  return true;
}

bool QueryRunner::Advance(uint64_t deadline_ns) {
  bool moved = false;
  uint64_t now_ns = NowNs();
  uint64_t took_ns = 0;  // by the last piece
  // Before the deadline rather than after it: the next piece may take twice as long.
  while (!moved || now_ns + 2 * took_ns < deadline_ns) {
    const uint64_t began_ns = now_ns;
    task_next_ = !task_next_;
    if (task_next_) {
      if (!AdvanceTask(now_ns, /*idle=*/false) && !AdvanceStage(now_ns)) break;
    } else {
      if (!AdvanceStage(now_ns) && !AdvanceTask(now_ns, /*idle=*/false)) break;
    }
    took_ns = now_ns - began_ns;
    moved = true;
  }
  return moved;
}

bool QueryRunner::Run(uint64_t deadline_ns) {
  uint64_t now_ns = NowNs();
  uint64_t began_ns = now_ns;
  if (!AdvanceTask(now_ns, /*idle=*/true)) return false;
#ifdef ERIS_PLANTED_TASK_BEYOND_IDLE
  deadline_ns += 1'000'000'000;
#endif
  while (task_ != nullptr && now_ns + 2 * (now_ns - began_ns) < deadline_ns &&
         !endpoint_.incoming.HasRecords() && endpoint_.ingress.Empty()) {
    began_ns = now_ns;
    AdvanceTask(now_ns, /*idle=*/true);
  }
  return true;
}

bool QueryRunner::Runnable() const {
  if (task_ != nullptr) return true;
  for (const Running& one : running_) {
    if (!one.run->Waits()) return true;
  }
  return !running_.empty() && scheduler_ != nullptr &&
         scheduler_->MayHave(self_.value, tasks::TaskTurn::kSlice);
}

void QueryRunner::Finish(const Running& one, absl::Status status) {
  one.part->Finish(std::move(status));
  acknowledgements_.Add(one.complete, one.part, 1);
}

}  // namespace eris::aeu
