// A list that many threads push to and one takes as a whole, so there is no ABA. Elements are
// linked through their own `next`: pushing needs no memory and never blocks.
#ifndef ERIS_ENGINE_CORE_HANDOVER_STACK_H_
#define ERIS_ENGINE_CORE_HANDOVER_STACK_H_

#include <atomic>

namespace eris::engine {

template <class T>
class HandoverStack {
 public:
  // Any thread. The element must not be in a list; from now on the taker owns it.
  void Push(T* element) {
    T* head = head_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      element->next = head;
      // release: pairs with the acquire in TakeAll.
    } while (!head_.compare_exchange_weak(head, element, std::memory_order_release,
                                          std::memory_order_relaxed));
  }
  // One thread at a time. Newest first, linked by `next`; nullptr: empty.
  T* TakeAll() {
    // relaxed: a hint; a caller that must not miss an element has read a counter before
    // (ReaderSignal).
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);  // pairs with Push
  }

 private:
  // Shared: written by every thread.
  std::atomic<T*> head_{nullptr};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_HANDOVER_STACK_H_
