// An AEU's way in for Ports outside the engine: they hand whole blocks over instead of copying
// records into the incoming buffer. Their threads are not pinned, and a writer that loses its core
// between reserving room and having written would hold up everybody's records; here a block is
// written before anyone can see it, and one CAS makes it visible. What one thread pushes is taken
// in its order.
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

  // Any thread. The block is the AEU's now, until it calls BlockPool::Release. Never blocks.
  void Push(Block* block) {
    Block* head = newest_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      Memory::WillWrite(&block->next, sizeof block->next);
      block->next = head;
      // release: pairs with the exchange in TakeAll. seq_cst for the Waker's argument. A block that
      // has been taken and pushed again meanwhile does no harm: `next` is what the CAS compared.
    } while (!newest_.compare_exchange_weak(head, block, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
  }

  // The owner. Everything pushed so far as a list through `next`, oldest first; nullptr: nothing.
  Block* TakeAll() {
    // relaxed: a hint, the exchange is what counts.
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

  // The owner. seq_cst: see Waker.
  bool Empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  // Shared: written by every Port outside the engine and by the owner.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<Block*> newest_{nullptr};
};

using IngressQueue = BasicIngressQueue<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_INGRESS_QUEUE_H_
