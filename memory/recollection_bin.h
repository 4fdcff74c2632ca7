// Where blocks come home that another AEU has freed: a list of batches that any thread pushes to
// and the owner takes as a whole, so there is no ABA. Neither side blocks, and neither needs
// memory. Paper: locality-aware scheduling in Bobox, 5.1 (memory recollection bin; there one list
// and lock per pair of threads, here one list per owner and one CAS per batch).
#ifndef ERIS_MEMORY_RECOLLECTION_BIN_H_
#define ERIS_MEMORY_RECOLLECTION_BIN_H_

#include <array>
#include <cstdint>

#include "base/cache_line.h"
#include "base/memory_ops.h"

namespace eris::memory {

class LocalCache;

// Freed blocks on their way to their owner: a carrier of the freeing cache, or, while all of those
// are under way, a freed block itself with no others.
struct ReturnBatch {
  ReturnBatch* next;
  // 0: this is a freed block, and there is nothing of the fields below.
  uint64_t count;
};
struct ReturnCarrier : ReturnBatch {
  static constexpr uint64_t kBlocksMax = 60;
  LocalCache* home;         // whose carrier this is
  ReturnCarrier* all_next;  // of those
  std::array<void*, kBlocksMax> blocks;
};
static_assert(sizeof(ReturnBatch) == 16);  // the smallest block
static_assert(sizeof(ReturnCarrier) == 512);

template <class Memory>
class BasicRecollectionBin {
 public:
  // Any thread. True: the bin was empty, so its owner may not know that there is something.
  bool Push(ReturnBatch* batch) {
    ReturnBatch* head = head_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      Memory::WillWrite(&batch->next, sizeof batch->next);
      batch->next = head;
      // seq_cst: release for the batch (pairs with the exchange in TakeAll), and in one order with
      // the owner's announcement that it sleeps (Waker).
    } while (!head_.compare_exchange_weak(head, batch, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    return head == nullptr;
  }

  // The owner. Linked by `next`; nullptr: nothing.
  ReturnBatch* TakeAll() {
    // relaxed: a hint. Who has been told of a batch has read a flag that was written after the
    // push.
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);  // pairs with the CAS in Push
  }

 private:
  // Shared: written by everybody.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<ReturnBatch*> head_{nullptr};
};

using RecollectionBin = BasicRecollectionBin<base::RealMemory>;

// Told when a bin that was empty gets something. On the freeing thread; must not block.
class RecollectionListener {
 public:
  virtual void BinFilled() = 0;

 protected:
  ~RecollectionListener() = default;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_RECOLLECTION_BIN_H_
