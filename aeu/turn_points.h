// Points inside an AEU's turn at which a test build (ERIS_TURN_POINTS) lets other threads act, to
// test the order of the turn's own steps. Other builds do not contain them.
#ifndef ERIS_AEU_TURN_POINTS_H_
#define ERIS_AEU_TURN_POINTS_H_

#ifdef ERIS_TURN_POINTS
#include <cstdint>

namespace eris::aeu {

class Aeu;

enum class TurnPoint : uint8_t {
  kBeforeCut,        // of the sources of commands
  kBeforeEpoch,      // before every load of the epoch in the turn
  kBeforeRegistry,   // the epoch has been loaded, the held snapshots are read next
  kSnapshotsRead,    // or nothing has changed since the last turn
  kCommandsExecuted  // the turn acknowledges them next; then scans continue
};

inline void (*at_turn_point)(Aeu& aeu, TurnPoint point) = nullptr;

}  // namespace eris::aeu

#define ERIS_AT_TURN_POINT(point) \
  if (at_turn_point != nullptr) at_turn_point(*this, TurnPoint::point)
#else
#define ERIS_AT_TURN_POINT(point) static_cast<void>(0)
#endif

#endif  // ERIS_AEU_TURN_POINTS_H_
