// A bounded ring between one producer and one consumer. Push and Pop never block. The index stores
// are seq_cst so that a push can be followed by Waker::Wake; the rings carry whole chunks, not
// commands.
#ifndef ERIS_ROUTING_SPSC_RING_H_
#define ERIS_ROUTING_SPSC_RING_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/memory_ops.h"

namespace eris::routing {

template <class Memory, class T, size_t kCapacity>
class BasicSpscRing {
  static_assert((kCapacity & (kCapacity - 1)) == 0);

 public:
  // For the producer. False if full.
  [[nodiscard]] bool Push(T value) {
    const uint32_t tail = tail_.load(std::memory_order_relaxed);  // its own index
    // acquire: pairs with Pop's store; the element there has been read.
    if (tail - head_.load(std::memory_order_acquire) == kCapacity) return false;
    Memory::WillWrite(&items_[tail % kCapacity], sizeof(T));
    items_[tail % kCapacity] = value;
    tail_.store(tail + 1, std::memory_order_seq_cst);  // release for Pop; seq_cst for Waker
    return true;
  }
  // For the consumer. T{} if empty.
  T Pop() {
    const uint32_t head = head_.load(std::memory_order_relaxed);    // its own index
    if (head == tail_.load(std::memory_order_seq_cst)) return T{};  // pairs with Push
    Memory::WillRead(&items_[head % kCapacity], sizeof(T));
    T value = items_[head % kCapacity];
    head_.store(head + 1, std::memory_order_release);  // pairs with Push's acquire
    return value;
  }
  // For the consumer; exact for it. seq_cst: see Waker.
  bool Empty() const {
    return head_.load(std::memory_order_relaxed) == tail_.load(std::memory_order_seq_cst);
  }

 private:
  std::array<T, kCapacity> items_{};
  typename Memory::template Atomic<uint32_t> head_{0};  // written by the consumer
  typename Memory::template Atomic<uint32_t> tail_{0};  // written by the producer
};

template <class T, size_t kCapacity>
using SpscRing = BasicSpscRing<base::RealMemory, T, kCapacity>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_SPSC_RING_H_
