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

// What is on its way to an owner: a carrier of the freeing cache, with blocks; if all of its
// carriers are in transit, a single freed block; or a claim of superblocks (superblock_claim.h).
struct ReturnBatch {
  static constexpr uint64_t kBlocksMax = 59;
  static constexpr uint64_t kClaim = kBlocksMax + 1;

  bool IsCarrier() const { return count <= kBlocksMax; }
  bool IsClaim() const { return count == kClaim; }

  ReturnBatch* next;
  // A carrier has the number of its blocks here. A single block has the address of the cache that
  // has freed it, plus 1 if that one counts the block (LocalCache::ClassFigures).
  uint64_t count;
};
struct ReturnCarrier : ReturnBatch {
  LocalCache* home;         // the cache that owns this carrier
  ReturnCarrier* all_next;  // of that cache
  bool counted;             // its blocks are in the balance of `home`
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
