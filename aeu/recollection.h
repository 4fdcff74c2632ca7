// Tells an AEU that another one has freed blocks of its memory: a flag, and a wake-up if it sleeps.
// Paper: locality-aware scheduling in Bobox, 5.1 (there the owner checks its bins periodically;
// here it checks them when notified, at the beginning of a turn).
#ifndef ERIS_AEU_RECOLLECTION_H_
#define ERIS_AEU_RECOLLECTION_H_

#include <atomic>

#include "base/memory_ops.h"
#include "memory/recollection_bin.h"
#include "routing/waker.h"

namespace eris::aeu {

template <class Memory>
class BasicRecollection final : public memory::RecollectionListener {
 public:
  explicit BasicRecollection(routing::BasicWaker<Memory>& waker) : waker_(waker) {}

  // Any AEU's thread.
  void BinFilled() override {
    // seq_cst: release for the bin (pairs with Take), and in one total order with the owner's
    // announcement that it sleeps (Waker). An exchange, because a plain store would end the release
    // sequence of an earlier one: the owner would see the flag, but not the bin filled by the
    // earlier thread.
    filled_.exchange(true, std::memory_order_seq_cst);
    waker_.Wake();
  }
  // For the owner. True: some bin has blocks. Called before the bins are emptied, so that blocks
  // arriving meanwhile set the flag again.
  bool Take() {
    // relaxed: nothing, in the common case. A flag set later is found by the next turn, or by
    // Waits.
    if (!filled_.load(std::memory_order_relaxed)) return false;
    return filled_.exchange(false, std::memory_order_acquire);  // pairs with BinFilled
  }
  // The owner, before it sleeps. seq_cst: see Waker.
  bool Waits() const { return filled_.load(std::memory_order_seq_cst); }

 private:
  routing::BasicWaker<Memory>& waker_;
  // Shared: set by other AEUs, cleared by the owner.
  typename Memory::template Atomic<bool> filled_{false};
};

using Recollection = BasicRecollection<base::RealMemory>;

}  // namespace eris::aeu

#endif  // ERIS_AEU_RECOLLECTION_H_
