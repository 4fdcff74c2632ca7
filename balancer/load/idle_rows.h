// Decides when to even out the rows of an unused object. Uneven rows cost nothing until a client
// reads all of them; then it waits for the AEU with the most. So rows are moved while there is
// time: after a rest, and after a longer one if a load has placed the boundaries, because it may
// come back, or the creator, because the rows may still be coming. Boundaries chosen by an operator
// are never moved. One thread at a time.
#ifndef ERIS_BALANCER_IDLE_ROWS_H_
#define ERIS_BALANCER_IDLE_ROWS_H_

#include <cstdint>

#include "eris/balancer.h"

namespace eris::balancer {

// The last cause of an object's boundaries.
enum class PlacedBy : uint8_t { kNobody, kLoad, kOperator, kCreator };

class IdleRows {
 public:
  // Periods without any access before rows are evened out, and between two steps. Twice as many
  // each time that the object is used again after its rows have been evened out: a load with pauses
  // would be followed from pause to pause. As few as before once rows have stayed even.
  static constexpr uint32_t kRestPeriods = 10;
  static constexpr uint32_t kRestPeriodsPlaced = 600;

  // Call it once per period. `idle`: the object is unused. `busiest`: the fraction of its time that
  // the busiest AEU works for all objects. True: a plan by rows is needed.
  bool Due(bool idle, double busiest, PlacedBy placed_by);
  // Whether that plan is worth executing: its unevenness is above `threshold` (half of it once rows
  // have moved), and the step before has helped.
  bool Worth(const BalancePlan& plan, double threshold);

 private:
  uint32_t idle_periods_ = 0;
  uint32_t next_look_ = 0;    // in idle periods
  double uneven_before_ = 0;  // at the last planned step; 0: no step so far
  bool done_ = false;         // until the object is used again
  uint32_t rest_ = kRestPeriods;
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_IDLE_ROWS_H_
