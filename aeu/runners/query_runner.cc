#include "aeu/runners/query_runner.h"

#include <new>
#include <span>
#include <utility>

#include "aeu/state/clock.h"
#include "aeu/state/reserve_more.h"
#include "base/lean_status.h"
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
  Finish(one, base::NoMemory("an AEU has no memory for its part of a query"));
}

size_t QueryRunner::Choose() {
  if (++pieces_ % kPiecesPerOther != 0 || running_.size() == 1) return 0;
  other_ = other_ % (running_.size() - 1) + 1;
  return other_;
}

absl::StatusOr<bool> QueryRunner::AdvanceOne(const Running& one) {
  if (!one.part->to_the_end && one.part->part->all().stop.load(std::memory_order_relaxed)) {
    return base::LeanStatus(absl::StatusCode::kCancelled, "the query was cancelled");
  }
  absl::StatusOr<bool> more = one.run->Advance();
  // The other AEUs need not go on.
  if (!more.ok()) one.part->part->all().stop.store(true, std::memory_order_relaxed);
  return more;
}

bool QueryRunner::Advance(uint64_t deadline_ns) {
  if (running_.empty()) return false;
  uint64_t now_ns = NowNs();
  uint64_t took_ns = 0;  // by the last piece
  do {
    const size_t at = Choose();
    const Running& one = running_[at];
    const absl::StatusOr<bool> more = AdvanceOne(one);
    const uint64_t began_ns = std::exchange(now_ns, NowNs());
    took_ns = now_ns - began_ns;
    one.part->part->CountTime(took_ns);
    one.run->Took(took_ns);
    if (more.ok() && *more) continue;
    Finish(one, more.status());
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(at));
    if (running_.empty()) break;
    // Before the deadline rather than after it: the next piece may take twice as long.
  } while (now_ns + 2 * took_ns < deadline_ns);
  return true;
}

void QueryRunner::Finish(const Running& one, absl::Status status) {
  one.part->Finish(std::move(status));
  acknowledgements_.Add(one.complete, one.part, 1);
}

}  // namespace eris::aeu
