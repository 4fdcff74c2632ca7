// Prevents a scan of a table from beginning during a step that moves its rows, if the scan's
// snapshot was taken after the step began: it would find the rows at both ends. Scans at older
// snapshots find them at the source, whatever the outcome of the step, and pass; so do all scans of
// other objects. The transfer holds it, for one chunk at a time; a client's thread passes it when
// it opens a scan. AEUs do not use it. One per table. Any thread.
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
  // Call it before the scan is sent to any AEU. Blocks while a step is running that began before
  // `snapshot` was taken: for one chunk, whose length depends on max_pause_us (eris/balancer.h).
  void Pass(uint64_t snapshot) {
    base::MutexLock lock(&mu_);
    if (!MustWait(snapshot)) return;
    ++waiting_;
    while (MustWait(snapshot)) changed_.Wait(&mu_);
    --waiting_;
    changed_.SignalAll();
  }

  // A step is running while a Hold exists; one at a time. Waiting scans pass before the next one,
  // so a scan waits for one chunk, whatever their number. Blocks only for these scans.
  class Hold {
   public:
    // `epoch` returns the epoch of the next snapshot. It is called under the lock, so that a scan
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

  // Number of waiting scans. For tests.
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
