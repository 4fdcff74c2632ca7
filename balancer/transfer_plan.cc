#include "balancer/transfer_plan.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "balancer/load/row_estimate.h"
#include "balancer/move_order.h"
#include "balancer/one_shot.h"
#include "base/check.h"

namespace eris::balancer {

Position EndOfSample(const LoadSample& sample) {
  const auto& last = sample.partitions.back().range.hi;
  return last ? Position{last->head} : kEndOfKeys;
}

Position OnGrain(Position position, uint64_t grain) {
  return (position + grain - 1) / grain * grain;
}

Partitioning OnGrain(const Partitioning& partitioning, uint64_t grain) {
  if (grain == 1) return partitioning;
  Partitioning result;
  for (size_t i = 0; i < partitioning.starts.size(); ++i) {
    const Position start = OnGrain(Position{partitioning.starts[i].head}, grain);
    const bool last = i + 1 == partitioning.starts.size();
    const Position end =
        last ? kEndOfKeys : OnGrain(Position{partitioning.starts[i + 1].head}, grain);
    if (start == end) continue;
    result.starts.push_back(storage::Key::FromU64(static_cast<uint64_t>(start)));
    result.owners.push_back(partitioning.owners[i]);
  }
  return result;
}

std::vector<RangeMove> DifferingRanges(const Partitioning& current, const Partitioning& target,
                                       Position end) {
  ERIS_CHECK(current.starts.front() == target.starts.front());
  const auto end_of = [&](const Partitioning& partitioning, size_t i) {
    return i + 1 < partitioning.starts.size() ? Position{partitioning.starts[i + 1].head} : end;
  };
  std::vector<RangeMove> moves;
  Position lo = current.starts.front().head;
  for (size_t i = 0, j = 0; lo < end;) {
    const Position hi = std::min(end_of(current, i), end_of(target, j));
    const RangeMove move{lo, hi, current.owners[i], target.owners[j]};
    if (move.from != move.to) {
      if (!moves.empty() && moves.back().hi == lo && moves.back().from == move.from &&
          moves.back().to == move.to) {
        moves.back().hi = hi;
      } else {
        moves.push_back(move);
      }
    }
    i += hi == end_of(current, i);
    j += hi == end_of(target, j);
    lo = hi;
  }
  return moves;
}

Partitioning AfterMoves(const Partitioning& partitioning, absl::Span<const RangeMove> moves,
                        Position end) {
  std::map<Position, AeuId> owners;  // by start
  for (size_t i = 0; i < partitioning.starts.size(); ++i) {
    owners[partitioning.starts[i].head] = partitioning.owners[i];
  }
  for (const RangeMove& move : moves) {
    const AeuId behind = std::prev(owners.upper_bound(move.hi))->second;
    if (move.hi < end) owners.try_emplace(move.hi, behind);
    owners.erase(owners.lower_bound(move.lo), owners.lower_bound(move.hi));
    owners[move.lo] = move.to;
  }
  Partitioning result;
  for (const auto& [start, owner] : owners) {
    result.starts.push_back(storage::Key::FromU64(static_cast<uint64_t>(start)));
    result.owners.push_back(owner);
  }
  return result;
}

std::vector<RangeMove> OrderMoves(const Partitioning& current, std::vector<RangeMove> moves,
                                  Position end, const PlanWorld& world) {
  std::sort(moves.begin(), moves.end(), [&](const RangeMove& a, const RangeMove& b) {
    const auto rank = [&](const RangeMove& m) {
      const bool links = world.CanMoveBetween(m.from, m.to, TransferKind::kLink);
      return std::tuple(!links, world.Distance(m.from, m.to), m.lo);
    };
    return rank(a) < rank(b);
  });
  MoveOrder state(current, moves, end, world.cuts_inside);
  std::vector<RangeMove> ordered;
  std::set<size_t> next;     // candidates
  std::set<size_t> waiting;  // until one of their AEUs has made a move
  for (size_t i = 0; i < moves.size(); ++i) next.insert(i);
  const auto make = [&](size_t move) {
    state.Make(move);
    ordered.push_back(moves[move]);
    for (const size_t touched : state.Touched(move)) {
      if (waiting.erase(touched) > 0) next.insert(touched);
    }
  };
  for (;;) {
    while (!next.empty()) {
      const size_t move = *next.begin();
      next.erase(next.begin());
      if (state.Possible(move) && state.Pleasant(move)) {
        make(move);
      } else {
        waiting.insert(move);
      }
    }
    // No preferred move is left: make the first possible one, and then continue.
    const auto possible = std::find_if(waiting.begin(), waiting.end(),
                                       [&](size_t move) { return state.Possible(move); });
    if (possible == waiting.end()) return ordered;
    const size_t move = *possible;
    waiting.erase(possible);
    make(move);
  }
}

std::vector<PlannedTransfer> ToTransfers(const LoadSample& sample,
                                         absl::Span<const RangeMove> moves,
                                         const PlanWorld& world) {
  const RowEstimate rows(sample);
  std::vector<PlannedTransfer> transfers;
  for (const RangeMove& move : moves) {
    PlannedTransfer transfer;
    transfer.range.lo = static_cast<uint64_t>(move.lo);
    if (move.hi != kEndOfKeys) transfer.range.hi = static_cast<uint64_t>(move.hi);
    transfer.from = move.from;
    transfer.to = move.to;
    transfer.rows = rows.RowsIn(move.lo, move.hi);
    transfer.kind = world.KindBetween(move.from, move.to, transfer.rows);
    transfer.bytes = transfer.rows * world.row_bytes;
    transfers.push_back(std::move(transfer));
  }
  return transfers;
}

std::vector<PlannedTransfer> PlanTransfers(const LoadSample& sample, const Partitioning& target,
                                           const PlanWorld& world) {
  const Partitioning current = CurrentPartitioning(sample);
  const Position end = EndOfSample(sample);
  return ToTransfers(sample, OrderMoves(current, DifferingRanges(current, target, end), end, world),
                     world);
}

}  // namespace eris::balancer
