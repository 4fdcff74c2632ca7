// A queue of whole blocks. Ports outside the engine deliver their commands to an AEU through one,
// its ingress, instead of copying records into the incoming buffer. Their threads are not pinned.
// In the incoming buffer, a writer that loses its core between its reservation and the end of its
// copy would hold up the records of all. Here a block is written before any other thread can see
// it, and one CAS makes it visible. Blocks of one thread are taken in its order. Through another
// one, blocks with answers come home (return_point.h).
#ifndef ERIS_ROUTING_BLOCK_QUEUE_H_
#define ERIS_ROUTING_BLOCK_QUEUE_H_

#include <atomic>

#include "base/memory_ops.h"

namespace eris::routing {

template <class Memory>
struct BasicBlock;

template <class Memory>
class BasicBlockQueue {
 public:
  using Block = BasicBlock<Memory>;

  // Any thread. Whoever takes the block owns it. Never blocks. True: the queue was empty.
  bool Push(Block* block) {
    // A guess: a load would fetch the line, and the CAS then fetch it again for writing.
    Block* head = nullptr;
    do {
      block->SetNext(head);
      // release: pairs with the exchange in TakeAll. seq_cst because of Waker. A block that has
      // been taken and pushed again meanwhile is harmless: the CAS compares `next` itself.
    } while (!newest_.compare_exchange_weak(head, block, std::memory_order_seq_cst,
                                            std::memory_order_relaxed));
    return head == nullptr;
  }

  // Any thread. Everything pushed so far as a list through `next`, oldest first; nullptr:
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
      block->SetNext(oldest);
      oldest = block;
      block = older;
    }
    return oldest;
  }

  // Any thread. seq_cst: see Waker.
  bool Empty() const { return newest_.load(std::memory_order_seq_cst) == nullptr; }

 private:
  // Shared: written by those who push and those who take.
  typename Memory::template Atomic<Block*> newest_{nullptr};
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_BLOCK_QUEUE_H_
