// When the rows of an object that nobody uses are evened out. Uneven rows cost nothing until
// somebody asks for all of them, and then everybody waits for the AEU that has most. So they are
// moved while there is time: after a rest, longer if boundaries are where a load has wanted them
// (it may come back), and never if an operator has chosen them. One thread at a time.
#ifndef ERIS_BALANCER_IDLE_ROWS_H_
#define ERIS_BALANCER_IDLE_ROWS_H_

#include <cstdint>

#include "eris/balancer.h"

namespace eris::balancer {

// Who has moved boundaries of an object last.
enum class PlacedBy : uint8_t { kNobody, kLoad, kOperator };

class IdleRows {
 public:
  // Periods without any access from which on rows are evened out, and between two steps of that.
  static constexpr uint32_t kRestPeriods = 10;
  static constexpr uint32_t kRestPeriodsPlaced = 600;

  // Once a period. `idle`: nobody uses the object. `busiest`: the part of its time that the busiest
  // AEU works for all objects. True: a plan by rows is wanted.
  bool Due(bool idle, double busiest, PlacedBy placed_by);
  // Whether that plan is worth making: uneven by more than `threshold`, half of it once something
  // has moved; and the step before it has helped.
  bool Worth(const BalancePlan& plan, double threshold);

 private:
  uint32_t idle_periods_ = 0;
  uint32_t next_look_ = 0;    // in idle periods
  double uneven_before_ = 0;  // when the last step was planned; 0: no step so far
  bool done_ = false;         // until it is used again
};

}  // namespace eris::balancer

#endif  // ERIS_BALANCER_IDLE_ROWS_H_
