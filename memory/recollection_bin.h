// Receives blocks of an owner that other AEUs have freed: a list of batches. Any thread pushes; the
// owner takes the whole list, so there is no ABA problem. Neither side blocks or needs memory.
// Paper: locality-aware scheduling in Bobox, 5.1 (memory recollection bin; there one list and lock
// per pair of threads, here one list per owner and one CAS per batch).
#ifndef ERIS_MEMORY_RECOLLECTION_BIN_H_
#define ERIS_MEMORY_RECOLLECTION_BIN_H_

#include <array>
#include <cstdint>

#include "base/cache_line.h"
#include "base/memory_ops.h"

namespace eris::memory {

class LocalCache;

// Freed blocks on their way to their owner: a carrier of the freeing cache. If all carriers are in
// transit it is a single freed block.
struct ReturnBatch {
  // Instead of a count: this is a freed block, and the fields below do not exist. The second one:
  // freed by a cache of another manager.
  static constexpr uint64_t kAlone = 0;
  static constexpr uint64_t kAloneFromElsewhere = ~uint64_t{0};

  bool IsAlone() const { return count == kAlone || count == kAloneFromElsewhere; }

  ReturnBatch* next;
  uint64_t count;
};
struct ReturnCarrier : ReturnBatch {
  static constexpr uint64_t kBlocksMax = 60;
  LocalCache* home;         // the cache that owns this carrier
  ReturnCarrier* all_next;  // of that cache
  std::array<void*, kBlocksMax> blocks;
};
static_assert(sizeof(ReturnBatch) == 16);  // the smallest block
static_assert(sizeof(ReturnCarrier) == 512);

template <class Memory>
class BasicRecollectionBin {
 public:
  // Any thread. True: the bin was empty, so its owner must be notified.
  bool Push(ReturnBatch* batch) {
    ReturnBatch* head = head_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      Memory::WillWrite(&batch->next, sizeof batch->next);
      batch->next = head;
      // seq_cst: release for the batch (pairs with the exchange in TakeAll), and in one total order
      // with the owner's announcement that it sleeps (Waker).
    } while (!head_.compare_exchange_weak(head, batch, std::memory_order_seq_cst,
                                          std::memory_order_relaxed));
    return head == nullptr;
  }

  // For the owner. Linked by `next`; nullptr: empty.
  ReturnBatch* TakeAll() {
    // relaxed: a hint. An owner that was notified of a batch has read a flag that was written after
    // the push.
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);  // pairs with the CAS in Push
  }

 private:
  // Shared: written by every thread.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<ReturnBatch*> head_{nullptr};
};

using RecollectionBin = BasicRecollectionBin<base::RealMemory>;

// Notified when an empty bin gets a batch. Runs on the freeing thread; must not block.
class RecollectionListener {
 public:
  virtual void BinFilled() = 0;

 protected:
  ~RecollectionListener() = default;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_RECOLLECTION_BIN_H_
