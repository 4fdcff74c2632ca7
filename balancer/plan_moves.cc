// What an operator asks for: the half of make_plan.h that follows no algorithm.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "balancer/load/imbalance.h"
#include "balancer/load/load_curve.h"
#include "balancer/make_plan.h"
#include "balancer/one_shot.h"
#include "balancer/predict.h"
#include "balancer/transfer_plan.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace eris::balancer {
namespace {

struct Span {
  Position lo;
  Position hi;
};

absl::StatusOr<Span> SpanOf(const KeyRange& range, const LoadSample& sample,
                            const PlanWorld& world) {
  if (world.by_size) {
    return absl::FailedPreconditionError("a heap table has no key ranges: its rows are balanced");
  }
  if (range.lo_second != 0 || range.hi_second != 0) {
    return absl::InvalidArgumentError("ranges change hands by whole first parts of keys");
  }
  if (range.Inverted()) {
    return absl::InvalidArgumentError(
        absl::StrCat("range [", range.lo, ", ", *range.hi, ") is inverted"));
  }
  if (range.Empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("range [", range.lo, ", ", *range.hi, ") is empty"));
  }
  const Position begin = sample.partitions.front().range.lo.head;
  const Position end = EndOfSample(sample);
  const Span span{range.lo, range.hi ? Position{*range.hi} : end};
  if (span.lo < begin || span.hi > end) {
    return absl::InvalidArgumentError("the range leaves the keys of the object");
  }
  const Span whole{OnGrain(span.lo, world.grain), OnGrain(span.hi, world.grain)};
  if (whole.lo == whole.hi) {
    return absl::InvalidArgumentError(
        "the range has no beginning of a key: objects beside it are cut between first columns");
  }
  return whole;
}

absl::StatusOr<BalancePlan> PlanTo(std::string object, const LoadSample& sample,
                                   const std::vector<RangeMove>& given, const PlanWorld& world) {
  const Partitioning current = CurrentPartitioning(sample);
  const Position end = EndOfSample(sample);
  const Partitioning target = AfterMoves(current, given, end);
  const std::vector<RangeMove> moves = DifferingRanges(current, target, end);
  const std::vector<RangeMove> ordered = OrderMoves(current, moves, end, world);
  if (ordered.size() < moves.size()) {
    return absl::FailedPreconditionError(
        "ranges of this kind of object are cut at their ends only, and this would cut one in its "
        "middle");
  }
  BalancePlan plan;
  plan.object = std::move(object);
  plan.transfers = ToTransfers(sample, ordered, world);
  if (plan.transfers.empty()) plan.reason = "the range is where it shall be";
  Predict(sample, world, plan);
  return plan;
}

// The load and keys of a span by owner, as far as they matter here.
struct Held {
  std::vector<double> load;  // by AeuId: outside the span
  std::set<AeuId> owners{};  // of something inside
};

Held HeldOutside(const LoadSample& sample, const Span& span, const PlanWorld& world) {
  Held held{AeuLoads(sample, world.aeu_count())};
  const LoadCurve curve(sample);
  double total = 0;
  for (const double load : held.load) total += load;
  for (const PartitionSample& partition : sample.partitions) {
    const Position lo = std::max<Position>(span.lo, partition.range.lo.head);
    const Position hi =
        std::min(span.hi, partition.range.hi ? Position{partition.range.hi->head} : curve.end());
    if (lo >= hi) continue;
    held.owners.insert(partition.owner);
    if (curve.total() == 0) continue;
    double& load = held.load[partition.owner.value];
    load -= total * static_cast<double>(curve.Below(hi) - curve.Below(lo)) /
            static_cast<double>(curve.total());
    load = std::max(load, 0.0);
  }
  return held;
}

// The `parts` AEUs with the least load. Ties prefer AEUs that own pieces, then AEUs near those. The
// result is in key order: an AEU that owns pieces keeps one.
std::vector<AeuId> LeastLoaded(const LoadSample& sample, const std::vector<Span>& pieces,
                               const PlanWorld& world) {
  const Held held = HeldOutside(sample, {pieces.front().lo, pieces.back().hi}, world);
  std::vector<std::tuple<double, uint32_t, AeuId>> order;
  for (uint32_t i = 0; i < world.aeu_count(); ++i) {
    uint32_t distance = ~0u;
    for (const AeuId owner : held.owners) {
      distance = std::min(distance, owner == AeuId{i} ? 0 : world.Distance(owner, AeuId{i}) + 1);
    }
    order.emplace_back(held.load[i], distance, AeuId{i});
  }
  std::sort(order.begin(), order.end());
  std::vector<AeuId> chosen;
  for (size_t i = 0; i < pieces.size(); ++i) chosen.push_back(std::get<AeuId>(order[i]));
  std::sort(chosen.begin(), chosen.end());

  // Each piece to one that has all of its beginning; the others as they come.
  std::vector<AeuId> result(pieces.size());
  std::vector<bool> settled(pieces.size());
  std::set<AeuId> left(chosen.begin(), chosen.end());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const auto after = std::upper_bound(
        sample.partitions.begin(), sample.partitions.end(), pieces[i].lo,
        [](Position key, const PartitionSample& p) { return key < p.range.lo.head; });
    const AeuId owner = std::prev(after)->owner;
    if (left.erase(owner) == 0) continue;
    result[i] = owner;
    settled[i] = true;
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (settled[i]) continue;
    result[i] = *left.begin();
    left.erase(left.begin());
  }
  return result;
}

}  // namespace

absl::Status SetKind(TransferKind kind, const LoadSample& sample, const PlanWorld& world,
                     BalancePlan& plan) {
  const absl::string_view name = TraitsOf(kind).name;
  if (name.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("kind ", static_cast<int>(kind), " is no kind of transfer"));
  }
  if (!world.CanMoveBy(kind)) {
    return absl::FailedPreconditionError(absl::StrCat("objects of this kind cannot move by ", name,
                                                      ", only indexes and heap tables can"));
  }
  for (PlannedTransfer& transfer : plan.transfers) {
    if (!world.CanMoveBetween(transfer.from, transfer.to, kind)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "to move by ", name, ", both AEUs must be on one NumaNode; AEU ", transfer.from.value,
          " and AEU ", transfer.to.value, " are on different ones"));
    }
    transfer.kind = kind;
  }
  Predict(sample, world, plan);
  return absl::OkStatus();
}

absl::StatusOr<BalancePlan> PlanPresplit(std::string object, const LoadSample& sample,
                                         const KeyRange& range, uint32_t parts,
                                         const PlanWorld& world) {
  ERIS_ASSIGN_OR_RETURN(const Span span, SpanOf(range, sample, world));
  if (parts < 1 || parts > world.aeu_count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("parts must be between 1 and ", world.aeu_count(), ", the AEUs; got ", parts));
  }
  const Position width = (span.hi - span.lo) / world.grain;
  if (width < parts) {
    return absl::InvalidArgumentError(
        absl::StrCat("the range has fewer keys than ", parts, " parts"));
  }
  std::vector<Span> pieces;
  for (uint32_t i = 0; i < parts; ++i) {
    pieces.push_back({span.lo + width * i / parts * world.grain,
                      span.lo + width * (i + 1) / parts * world.grain});
  }
  const std::vector<AeuId> aeus = LeastLoaded(sample, pieces, world);
  std::vector<RangeMove> given;
  for (uint32_t i = 0; i < parts; ++i) given.push_back({pieces[i].lo, pieces[i].hi, {}, aeus[i]});
  return PlanTo(std::move(object), sample, given, world);
}

absl::StatusOr<BalancePlan> PlanMove(std::string object, const LoadSample& sample,
                                     const KeyRange& range, AeuId to,
                                     std::optional<TransferKind> kind, const PlanWorld& world) {
  ERIS_ASSIGN_OR_RETURN(const Span span, SpanOf(range, sample, world));
  if (to.value >= world.aeu_count()) {
    return absl::InvalidArgumentError(absl::StrCat("no AEU ", to.value, ": there are ",
                                                   world.aeu_count(), " of them, from 0 on"));
  }
  ERIS_ASSIGN_OR_RETURN(BalancePlan plan,
                        PlanTo(std::move(object), sample, {{span.lo, span.hi, {}, to}}, world));
  if (kind) ERIS_RETURN_IF_ERROR(SetKind(*kind, sample, world, plan));
  return plan;
}

}  // namespace eris::balancer
