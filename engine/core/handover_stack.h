// A list that many threads push to and one takes from as a whole, so there is no ABA. Elements are
// linked through their own `next`: pushing needs no memory and never blocks.
#ifndef ERIS_ENGINE_CORE_HANDOVER_STACK_H_
#define ERIS_ENGINE_CORE_HANDOVER_STACK_H_

#include <atomic>

namespace eris::engine {

template <class T>
class HandoverStack {
 public:
  // Any thread. The element is not in a list, and the taker's from here on.
  void Push(T* element) {
    T* head = head_.load(std::memory_order_relaxed);  // the CAS decides
    do {
      element->next = head;
      // release: pairs with the acquire in TakeAll.
    } while (!head_.compare_exchange_weak(head, element, std::memory_order_release,
                                          std::memory_order_relaxed));
  }
  // One thread at a time. The newest first, linked by `next`; nullptr: nothing.
  T* TakeAll() {
    // relaxed: a hint; who must not miss anything has looked at a counter before (ReaderSignal).
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);  // pairs with Push
  }

 private:
  // Shared: written by everybody.
  std::atomic<T*> head_{nullptr};
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_HANDOVER_STACK_H_
