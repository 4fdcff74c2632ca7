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

bool QueryRunner::AdvanceOne(Running& one) {
  if (!one.part->to_the_end && one.part->part->all().stop.load(std::memory_order_relaxed)) {
    Finish(one, base::LeanStatus(absl::StatusCode::kCancelled, "the query was cancelled"));
    return true;
  }
  absl::StatusOr<bool> more = one.run->Advance();
  if (more.ok() && *more) return false;
  // The other AEUs need not go on.
  if (!more.ok()) one.part->part->all().stop.store(true, std::memory_order_relaxed);
  Finish(one, more.status());
  return true;
}

bool QueryRunner::Advance(uint64_t deadline_ns) {
  if (running_.empty()) return false;
  do {
    const size_t at = Choose();
    if (!AdvanceOne(running_[at])) continue;
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(at));
    if (running_.empty()) break;
  } while (NowNs() < deadline_ns);
  return true;
}

void QueryRunner::Finish(const Running& one, absl::Status status) {
  one.part->Finish(std::move(status));
  acknowledgements_.Add(one.complete, one.part, 1);
}

}  // namespace eris::aeu
