#include "balancer/move_order.h"

#include <iterator>

#include "base/check.h"

namespace eris::balancer {

MoveOrder::MoveOrder(const Partitioning& current, const std::vector<RangeMove>& moves, Position end,
                     bool cuts_inside)
    : moves_(moves), cuts_inside_(cuts_inside) {
  for (size_t i = 0; i < current.starts.size(); ++i) {
    const bool last = i + 1 == current.starts.size();
    Add(owners_[current.owners[i]], current.starts[i].head,
        last ? end : Position{current.starts[i + 1].head});
  }
  std::map<AeuId, Position> given;
  for (size_t i = 0; i < moves.size(); ++i) {
    owners_[moves[i].from].gives[moves[i].lo] = i;
    owners_[moves[i].to].takes[moves[i].lo] = i;
    given[moves[i].from] += moves[i].hi - moves[i].lo;
  }
  for (auto& [aeu, owner] : owners_) {
    Position owned = 0;
    for (const auto& [lo, hi] : owner.ranges) owned += hi - lo;
    owner.keeps_some = owned > given[aeu];
  }
}

void MoveOrder::Add(Owner& owner, Position lo, Position hi) {
  auto after = owner.ranges.upper_bound(lo);
  if (after != owner.ranges.begin()) {
    if (const auto before = std::prev(after); before->second == lo) {
      lo = before->first;
      owner.ranges.erase(before);
    }
  }
  if (after != owner.ranges.end() && after->first == hi) {
    hi = after->second;
    owner.ranges.erase(after);
  }
  owner.ranges[lo] = hi;
}

void MoveOrder::Remove(Owner& owner, Position lo, Position hi) {
  const auto at = std::prev(owner.ranges.upper_bound(lo));
  const Position begin = at->first;
  const Position end = at->second;
  ERIS_CHECK(begin <= lo && hi <= end);
  owner.ranges.erase(at);
  if (begin < lo) owner.ranges[begin] = lo;
  if (hi < end) owner.ranges[hi] = end;
}

bool MoveOrder::KeepsOnePiece(const Owner& owner, Position lo, Position hi) const {
  // The parts that it gives must be at the two ends of the range.
  int kept = 0;
  for (auto give = owner.gives.lower_bound(lo); give != owner.gives.end() && give->first < hi;
       ++give) {
    kept += lo < give->first;
    lo = moves_[give->second].hi;
  }
  return kept + (lo < hi) <= 1;
}

bool MoveOrder::Possible(size_t move) const {
  if (cuts_inside_) return true;
  const RangeMove& m = moves_[move];
  const Owner& from = Of(m.from);
  const auto at = std::prev(from.ranges.upper_bound(m.lo));
  if (at->first != m.lo && at->second != m.hi) return false;
  // The target's range must not enclose a part that the target still has to give.
  const Owner& to = Of(m.to);
  Position lo = m.lo;
  Position hi = m.hi;
  const auto after = to.ranges.upper_bound(m.lo);
  if (after != to.ranges.end() && after->first == hi) hi = after->second;
  if (after != to.ranges.begin() && std::prev(after)->second == lo) lo = std::prev(after)->first;
  return KeepsOnePiece(to, lo, hi);
}

bool MoveOrder::Pleasant(size_t move) const {
  const RangeMove& m = moves_[move];
  const Owner& from = Of(m.from);
  const bool runs_empty = from.ranges.size() == 1 && from.ranges.begin()->first == m.lo &&
                          from.ranges.begin()->second == m.hi;
  if (runs_empty && !from.takes.empty()) return false;
  const Owner& to = Of(m.to);
  if (!to.keeps_some || to.takes.size() < 2) return true;
  const auto after = to.ranges.upper_bound(m.lo);
  return (after != to.ranges.end() && after->first == m.hi) ||
         (after != to.ranges.begin() && std::prev(after)->second == m.lo);
}

void MoveOrder::Make(size_t move) {
  const RangeMove& m = moves_[move];
  Owner& from = owners_.at(m.from);
  Owner& to = owners_.at(m.to);
  Remove(from, m.lo, m.hi);
  from.gives.erase(m.lo);
  Add(to, m.lo, m.hi);
  to.takes.erase(m.lo);
}

std::vector<size_t> MoveOrder::Touched(size_t move) const {
  std::vector<size_t> touched;
  for (const AeuId aeu : {moves_[move].from, moves_[move].to}) {
    for (const auto& [lo, other] : Of(aeu).gives) touched.push_back(other);
    for (const auto& [lo, other] : Of(aeu).takes) touched.push_back(other);
  }
  return touched;
}

}  // namespace eris::balancer
