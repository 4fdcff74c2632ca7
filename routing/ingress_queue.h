// Delivers blocks from Ports outside the engine to an AEU: they hand over whole blocks instead of
// copying records into the incoming buffer. Their threads are not pinned. In the incoming buffer, a
// writer that loses its core between its reservation and the end of its copy would hold up the
// records of all. Here a block is written before any other thread can see it, and one CAS makes it
// visible. Blocks of one thread are taken in its order.
#ifndef ERIS_ROUTING_INGRESS_QUEUE_H_
#define ERIS_ROUTING_INGRESS_QUEUE_H_

#include "base/cache_line.h"
#include "base/memory_ops.h"
#include "routing/block_pool.h"

namespace eris::routing {

template <class Memory>
class BasicIngressQueue {
 public:
  using Block = BasicBlock<Memory>;

  // Any thread. The AEU owns the block until it calls BlockPool::Release. Never blocks.
  void Push(Block* block) {
    Block* head = newest_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      Memory::WillWrite(&block->next, sizeof block->next);
      block->next = head;
      // release: pairs with the exchange in TakeAll. seq_cst because of Waker. A block that has
      // been taken and pushed again meanwhile is harmless: the CAS compares `next` itself.
    } while (!newest_.compare_exchange_weak(head, block, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
  }

  // For the owner. Everything pushed so far as a list through `next`, oldest first; nullptr:
  // nothing.
  Block* TakeAll() {
    // relaxed: a hint; the exchange decides.
    if (newest_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    // acquire: pairs with the CAS in Push.
    Block* block = newest_.exchange(nullptr, std::memory_order_acquire);
    Block* oldest = nullptr;
    while (block != nullptr) {
      Memory::WillRead(&block->next, sizeof block->next);
      Block* older = block->next;
      Memory::WillWrite(&block->next, sizeof block->next);
      block->next = oldest;
      oldest = block;
      block = older;
    }
    return oldest;
  }

  // For the owner. seq_cst: see Waker.
  bool Empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  // Shared: written by every Port outside the engine and by the owner.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<Block*> newest_{nullptr};
};

using IngressQueue = BasicIngressQueue<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_INGRESS_QUEUE_H_
