// How an AEU learns that another one has freed blocks of its memory: a flag, and a wake-up where it
// sleeps. Paper: locality-aware scheduling in Bobox, 5.1 (the owner looks into its bins every once
// in a while; here when it is told, at the begin of a turn).
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
    // seq_cst: release for the bin (pairs with Take), and in one order with the owner's
    // announcement that it sleeps (Waker). An exchange, since a plain store would end the release
    // sequence of an earlier one: the owner would see the flag, and not that one's bin filled.
    filled_.exchange(true, std::memory_order_seq_cst);
    waker_.Wake();
  }
  // The owner. True: some bin has something; asked before the bins are emptied, so that what comes
  // meanwhile sets the flag anew.
  bool Take() {
    // relaxed: the common case, nothing. What is set later is found by the next turn, or by Waits.
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
