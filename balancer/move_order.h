// Who owns what while moves are made one after the other: tells which of them can be next, and
// which had better wait. A helper of transfer_plan.h.
#ifndef ERIS_BALANCER_MOVE_ORDER_H_
#define ERIS_BALANCER_MOVE_ORDER_H_

#include <cstddef>
#include <map>
#include <vector>

#include "balancer/load/load_curve.h"
#include "balancer/load/load_sample.h"
#include "balancer/transfer_plan.h"

namespace eris::balancer {

class MoveOrder {
 public:
  // `moves` is borrowed.
  MoveOrder(const Partitioning& current, const std::vector<RangeMove>& moves, Position end,
            bool cuts_inside);

  // The kind of the object allows it now.
  bool Possible(size_t move) const;
  // And neither does its source run empty too early, nor its target fall to pieces.
  bool Pleasant(size_t move) const;
  void Make(size_t move);
  // Moves still to be made in which either of this one's AEUs takes part.
  std::vector<size_t> Touched(size_t move) const;

 private:
  struct Owner {
    std::map<Position, Position> ranges{};  // from -> to, neighbours joined
    std::map<Position, size_t> gives{};     // by lo: moves to come
    std::map<Position, size_t> takes{};
    bool keeps_some = false;  // of what it has before all moves
  };
  const Owner& Of(AeuId aeu) const { return owners_.at(aeu); }
  static void Add(Owner& owner, Position lo, Position hi);
  static void Remove(Owner& owner, Position lo, Position hi);
  // Whether what it keeps of [lo, hi) is in one piece.
  bool KeepsOnePiece(const Owner& owner, Position lo, Position hi) const;

  const std::vector<RangeMove>& moves_;
  const bool cuts_inside_;
  std::map<AeuId, Owner> owners_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_MOVE_ORDER_H_
