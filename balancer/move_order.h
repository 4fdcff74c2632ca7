// The owners of ranges while moves are made one after another: tells which moves can be next, and
// which should wait. A helper of transfer_plan.h.
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

  // Whether the object's kind allows it now.
  bool Possible(size_t move) const;
  // Whether, in addition, its source does not become empty too early, and its target stays in one
  // piece.
  bool Pleasant(size_t move) const;
  void Make(size_t move);
  // Remaining moves that share an AEU with this one.
  std::vector<size_t> Touched(size_t move) const;

 private:
  struct Owner {
    std::map<Position, Position> ranges{};  // from -> to, neighbours joined
    std::map<Position, size_t> gives{};     // by lo: moves to come
    std::map<Position, size_t> takes{};
    bool keeps_some = false;  // of its ranges before all moves
  };
  const Owner& Of(AeuId aeu) const { return owners_.at(aeu); }
  static void Add(Owner& owner, Position lo, Position hi);
  static void Remove(Owner& owner, Position lo, Position hi);
  // Whether the part of [lo, hi) that it keeps is one piece.
  bool KeepsOnePiece(const Owner& owner, Position lo, Position hi) const;

  const std::vector<RangeMove>& moves_;
  const bool cuts_inside_;
  std::map<AeuId, Owner> owners_;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_MOVE_ORDER_H_
