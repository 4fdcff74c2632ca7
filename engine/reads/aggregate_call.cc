#include "engine/reads/aggregate_call.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>

#include "base/lean_status.h"
#include "engine/core/control_port.h"
#include "engine/core/snapshot.h"
#include "routing/ranges/range_table.h"

namespace eris::engine {
namespace {

using routing::PartOutcome;

absl::Status NoMemoryForParts() {
  return base::NoMemory("the system has no memory for the parts of an aggregate");
}

}  // namespace

AggregateCall::AggregateCall(Core& core, SessionNode& node, ObjectRef object,
                             const AggregateOptions& options, std::shared_ptr<Snapshot> snapshot,
                             SessionCredit credit, int64_t bytes, Session::AggregateCallback done)
    : Call(node.completions, std::move(done)),
      core_(core),
      node_(node),
      object_(std::move(object)),
      range_(storage::Range::FromPublic(options.range)),
      query_{.count_only = options.count_only, .values = options.values.value_or(ValueRange{})},
      snapshot_epoch_(snapshot->epoch()),
      credit_(std::move(credit)),
      bytes_(bytes),
      snapshot_(std::move(snapshot)) {}

void AggregateCall::Start() {
  Begin();
  SendRound({&range_, 1});
}

void AggregateCall::MakeParts(std::span<const storage::Range> ranges,
                              const routing::RangeTable& table) {
  for (storage::Range rest : ranges) {
    while (!rest.Empty()) {
      const size_t partition = table.PartitionOf(rest.lo.head);
      const storage::Range owned = table.RangeOf(partition);
      Part& part = parts_.emplace_back();
      part.call = this;
      part.asked = rest;
      part.owner = table.owners()[partition];
      if (cancelled_) part.SetCancelled();
      if (owned.hi && (!rest.hi || *owned.hi < *rest.hi)) {
        part.asked.hi = owned.hi;
        rest.lo = *owned.hi;
      } else {
        rest.hi = rest.lo;
      }
    }
  }
}

void AggregateCall::SendRound(std::span<const storage::Range> ranges) {
  const std::shared_ptr<const routing::RangeTable> table = object_->route.Pin();
  uint32_t count = 0;
  {
    base::MutexLock lock(&mu_);
    parts_.clear();
    try {
      MakeParts(ranges, *table);
    } catch (const std::bad_alloc&) {
      // Then the round has no part, and its end is the call's.
      parts_.clear();
      status_ = NoMemoryForParts();
    }
    count = static_cast<uint32_t>(parts_.size());
  }
  running_.store(count + 1, std::memory_order_relaxed);  // the AEUs get the commands after this
  // Without the mutex: sending may block. No thread adds or removes parts before the round has
  // ended.
  for (uint32_t i = 0; i < count; ++i) {
    Part* part;
    {
      base::MutexLock lock(&mu_);
      part = &parts_[i];
    }
    SendPart(*part, table->version());
  }
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) completions().Push(this);
}

void AggregateCall::SendPart(Part& part, uint64_t table_version) {
  const routing::ScanSegment segment{.range = part.asked,
                                     .rows_max = std::numeric_limits<uint64_t>::max(),
                                     .part = &part,
                                     .query = query_,
                                     .aggregate = true};
  const routing::CommandHeader header{.type = routing::CommandType::kScan,
                                      .slot = object_->route.slot(),
                                      .object = object_->route.object(),
                                      .table_version = table_version,
                                      .snapshot = snapshot_epoch_,
                                      .complete = &AggregateCall::PartEnded,
                                      .context = &part,
                                      .count = 1};
  const bool sent = core_.control->SendTo(
      part.owner, header, {reinterpret_cast<const std::byte*>(&segment), sizeof segment});
  if (sent) return;
  part.Finish(PartOutcome::kRefused, std::nullopt);
  PartEnded(&part, 1);
}

void AggregateCall::PartEnded(routing::Reply* reply, uint32_t ended) noexcept {
  if (ended == 0) return;
  AggregateCall* call = static_cast<Part*>(reply)->call;
  // Pushing to the completion queue publishes it to that thread; the call exists until its
  // Complete.
  if (call->running_.fetch_sub(1, std::memory_order_acq_rel) == 1) call->completions().Push(call);
}

std::vector<storage::Range> AggregateCall::MergeRound() {
  std::vector<storage::Range> moved;
  base::MutexLock lock(&mu_);
  try {
    moved.reserve(
        static_cast<size_t>(std::count_if(parts_.begin(), parts_.end(), [](const Part& part) {
          return part.outcome() == PartOutcome::kMoved;
        })));
  } catch (const std::bad_alloc&) {
    status_ = NoMemoryForParts();
    return moved;
  }
  bool progress = false;
  for (const Part& part : parts_) {
    progress |= part.outcome() == PartOutcome::kAnswered ||
                (part.outcome() == PartOutcome::kMoved && *part.rest() != part.asked);
    switch (part.outcome()) {
      case PartOutcome::kAnswered:
        total_.Add(part.aggregate());
        break;
      case PartOutcome::kMoved:
        total_.Add(part.aggregate());
        moved.push_back(*part.rest());
        break;
      default:
        status_ = StatusOf(part.outcome(), core_, *object_, "aggregate", snapshot_epoch_,
                           snapshot_.get());
        break;
    }
  }
  const bool again = moved_.Count(progress);
  if (!moved.empty() && !again) status_ = MovedAgain(moved[0].lo.head);
  if (cancelled_ || !status_.ok()) moved.clear();
  return moved;
}

void AggregateCall::Complete() {
  std::vector<storage::Range> moved;
  try {
    moved = MergeRound();
  } catch (const std::bad_alloc&) {  // of an error's text
    status_ = NoMemoryForParts();
  }
  if (!moved.empty()) {
    SendRound(moved);
    return;
  }
  const std::shared_ptr<Call> kept = End();
  snapshot_.reset();
  InFlight::Lane& in_flight = node_.in_flight;
  if (credit_ != nullptr)
    credit_->fetch_add(bytes_, std::memory_order_relaxed);  // a count, no data
  if (status_.ok()) {
    Answer(total_);
  } else {
    Answer(status_);
  }
  in_flight.Leave();  // after the callback, which Close promises to wait for
}

void AggregateCall::StopWork() {
  base::MutexLock lock(&mu_);
  cancelled_ = true;
  for (Part& part : parts_) part.SetCancelled();
}

}  // namespace eris::engine
