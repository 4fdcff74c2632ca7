// Work for turns of an AEU that have found nothing else.
#ifndef ERIS_AEU_IDLE_WORK_H_
#define ERIS_AEU_IDLE_WORK_H_

#include <cstdint>

namespace eris::aeu {

class IdleWork {
 public:
  virtual ~IdleWork() = default;
  // Does some of it, until the deadline at most. False: there was none. Must not block.
  virtual bool Run(uint64_t deadline_ns) = 0;
  // Whether Run would find some. Uses seq_cst loads: see routing::Waker.
  virtual bool HasWork() const = 0;
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_IDLE_WORK_H_
