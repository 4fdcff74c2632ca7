// Inside a turn: what others may do between its steps, and bugs in the order of these.
//
// Clients may move anywhere, other AEUs before the turn has executed anything: what they answer is
// held against the columns at once, and a turn that has executed has not acknowledged yet.
#include <utility>

#include "tests/sim/aeu_peer.h"
#include "tests/sim/simulation.h"

namespace eris::sim {

using aeu::AeuTestPeer;
using aeu::TurnPoint;

namespace {

Simulation* simulation = nullptr;  // whose AEU turns

}  // namespace

void Simulation::Turns(uint32_t aeu, bool whole_scans, size_t ingress_bytes) {
  const bool inside = turn_.has_value();  // of another AEU's turn
  if (!inside) {
    turn_.emplace(Turn{.aeu = aeu});
    simulation = this;
    aeu::at_turn_point = [](aeu::Aeu& turning, TurnPoint point) {
      simulation->AtTurnPoint(turning, point);
    };
  }
  world_.Step(aeu, whole_scans, ingress_bytes);
  if (inside) return;
  aeu::at_turn_point = nullptr;
  turn_.reset();
}

void Simulation::OthersMove(TurnPoint point) {
  if (draining_ || plan_.busy_turns == 0 || !random_.OneIn(plan_.busy_turns)) return;
  const bool executed = point == TurnPoint::kCommandsExecuted;
  for (uint64_t moves = random_.Between(1, 5); moves > 0 && !failed(); --moves) {
    ++now_;
    outcome_.coverage.Add(Event::kMovesInsideTurns);
    if (executed || !random_.OneIn(4)) {
      ClientStep(static_cast<uint32_t>(random_.Below(clients_.size())));
    } else {
      const auto other = static_cast<uint32_t>(random_.Below(world_.aeus()));
      if (other != turn_->aeu && paused_until_[other] <= now_) StepAeu(other);
    }
    if (!executed) EndStep();
  }
}

void Simulation::AtTurnPoint(aeu::Aeu& turning, TurnPoint point) {
  if (failed()) return;
  // Others move inside the outer turn only.
  if (turning.id().value == turn_->aeu) AtOuterTurnPoint(turning, point);
  // The last step before the cut. Everything that is put back comes by the ingress, so a record
  // that arrives in the incoming buffer after that would overtake it.
  if (point == TurnPoint::kBeforeCut && ActsOnRecords(options_.bug) && !failed()) {
    Interpose(turning.id().value);
  }
}

void Simulation::AtOuterTurnPoint(aeu::Aeu& turning, TurnPoint point) {
  routing::SnapshotRegistry& registry = world_.snapshots();
  storage::SnapshotView& known = AeuTestPeer::SnapshotsOf(turning);
  const PlantedBug bug = options_.bug;
  switch (point) {
    case TurnPoint::kBeforeCut:
      if (bug == PlantedBug::kEpochBeforeCut) {
        turn_->mark = registry.Now();
        registry.Read(turn_->mark, turn_->view);
      }
      break;
    case TurnPoint::kBeforeEpoch:
      if (bug == PlantedBug::kRegistryBeforeEpoch) registry.Read(registry.Now(), turn_->view);
      break;
    case TurnPoint::kBeforeRegistry:
      break;
    case TurnPoint::kSnapshotsRead:
      if (bug == PlantedBug::kEpochBeforeCut) {
        known = turn_->view;
        AeuTestPeer::MarkOf(turning) = turn_->mark;
      }
      if (bug == PlantedBug::kRegistryBeforeEpoch) known.active = turn_->view.active;
      if (bug == PlantedBug::kForgetSnapshot && random_.OneIn(8)) known.active.clear();
      if (turn_->drains_again) std::swap(known, turn_->view);
      break;
    case TurnPoint::kCommandsExecuted:
      if (bug == PlantedBug::kSecondDrain && !turn_->drains_again) {
        turn_->view = known;
        OthersMove(point);
        turn_->drains_again = true;
        AeuTestPeer::DrainAgain(turning);
        turn_->drains_again = false;
        // The next turn looks for itself.
        std::swap(known, turn_->view);
        return;
      }
      break;
  }
  if (!turn_->drains_again) OthersMove(point);
}

}  // namespace eris::sim
