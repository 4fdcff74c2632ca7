// Keeps scans of a table from beginning in the middle of a step that moves rows of it: those whose
// snapshot was taken after the step had begun, since they would find the rows at both of its ends.
// Scans at older snapshots find them at the source, whatever becomes of the step, and pass; so do
// all scans of other objects. Held by the transfer, for one chunk at a time; passed by whoever
// opens a scan, on a client's thread. AEUs have nothing to do with it. One per table. Any thread.
// Paper: ERIS 3.3.2; docs/internals/tables.md has the argument, tests/models/handover_table.pml the
// model.
#ifndef ERIS_ENGINE_OBJECTS_STEP_GATE_H_
#define ERIS_ENGINE_OBJECTS_STEP_GATE_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "base/check.h"
#include "base/mutex.h"

namespace eris::engine {

class StepGate {
 public:
  // Before the scan is sent to any AEU. Blocks until the AEUs have ended a step that
  // is under way and began before `snapshot` was taken: one chunk, whose length max_pause_us says
  // (eris/balancer.h).
  void Pass(uint64_t snapshot) {
    base::MutexLock lock(&mu_);
    if (!MustWait(snapshot)) return;
    ++waiting_;
    while (MustWait(snapshot)) changed_.Wait(&mu_);
    --waiting_;
    changed_.SignalAll();
  }

  // A step is under way while one lives; one at a time. Those who have waited pass before the next
  // one, so that a scan waits for one chunk however many there are. Blocks for them alone.
  class Hold {
   public:
    // `epoch` says what the next snapshot's will be; it is asked under the lock, so that a scan
    // that has passed before has an older one. It must not block.
    template <class Epoch>
    Hold(StepGate& gate, Epoch epoch) : gate_(gate) {
      base::MutexLock lock(&gate_.mu_);
      while (gate_.waiting_ > 0) gate_.changed_.Wait(&gate_.mu_);
      ERIS_DCHECK(gate_.since_ == 0);
      gate_.since_ = epoch();
    }
    ~Hold() {
      base::MutexLock lock(&gate_.mu_);
      gate_.since_ = 0;
      gate_.changed_.SignalAll();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    StepGate& gate_;
  };

  // Scans that wait. For tests.
  uint32_t waiting() const {
    base::MutexLock lock(&mu_);
    return waiting_;
  }

 private:
  bool MustWait(uint64_t snapshot) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return since_ != 0 && snapshot >= since_;
  }

  mutable base::Mutex mu_;
  base::CondVar changed_;
  uint64_t since_ ABSL_GUARDED_BY(mu_) = 0;  // the epoch at which the step began; 0: none
  uint32_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_STEP_GATE_H_
