// Where blocks come home with their answers: AEUs push them, and a thread of the sender takes them
// and puts the answers in order (answers.h). That is the thread that waits for an answer, as long
// as there is one: the attendant. Otherwise the listener is told, once for all blocks that are
// there. Paper: ERIS 3.2 (callback functions).
//
// No block is forgotten. The attendant looks for blocks after it has announced that it sleeps or
// leaves; a pusher looks for the attendant after its push. All four are sequentially consistent, so
// one of the two sees the other. A block that finds others in the queue needs nobody: the pusher of
// the first one has told somebody who will take all, or does so as soon as it has its core.
//
// A pusher still reads the point after its block is home. So a point exists longer than the Port
// whose blocks come here: it is used again, and freed when no AEU runs any more. A listener may
// therefore be told without a block.
#ifndef ERIS_ROUTING_RETURN_POINT_H_
#define ERIS_ROUTING_RETURN_POINT_H_

#include <atomic>
#include <cstdint>

#include "base/cache_line.h"
#include "base/memory_ops.h"
#include "routing/block_queue.h"

namespace eris::routing {

class ReturnListener {
 public:
  // There are blocks at a point that nobody attends. Called by an AEU; never blocks. Afterwards
  // somebody must call TakeAll.
  virtual void BlocksAreHome() noexcept = 0;

 protected:
  ~ReturnListener() = default;
};

template <class Memory>
class BasicReturnPoint {
 public:
  using Block = BasicBlock<Memory>;

  // `listener` outlives the point.
  explicit BasicReturnPoint(ReturnListener& listener) : listener_(listener) {}

  // Any thread: the block's answers are complete, and no other thread knows it. Never blocks,
  // except in the kernel for a wake-up.
  void Push(Block* block) {
    if (queue_.Push(block)) Tell();
  }
  // Any thread, also several at once: blocks that are home, as a list through `next`, oldest first.
  Block* TakeAll() { return queue_.TakeAll(); }

  // Any thread: a hint whether an attendant takes the blocks.
  bool attended() const { return attendance_.load(std::memory_order_relaxed) != kNobody; }

  // Any thread: what the attendant waits for has happened; published by a seq_cst operation.
  void WakeAttendant() {
    // seq_cst: pairs with the store in Sleep.
    if (Sleeps(attendance_.load(std::memory_order_seq_cst))) Wake();
  }

  // For the attendant, one thread at a time: from here on it takes the blocks itself.
  void Attend() {
    attendance_.store(kAwake, std::memory_order_relaxed);  // a pusher that misses it tells others
  }
  // Blocks until a block is home, or WakeAttendant; may also return without. `ready` is called
  // after the announcement; if it is true there is nothing to wait for. timeout_ns: negative, none.
  template <class Ready>
  void Sleep(const Ready& ready, int64_t timeout_ns) {
    // seq_cst: see the head of this file.
    attendance_.store(kAsleep, std::memory_order_seq_cst);
    if (queue_.Empty() && !ready()) Memory::FutexWaitFor(attendance_, kAsleep, timeout_ns);
    // relaxed: it takes all blocks next.
    attendance_.store(kAwake, std::memory_order_relaxed);
  }
  // It no longer takes blocks: those that are there, or come, are the listener's.
  void Leave() {
    // seq_cst: see the head of this file.
    attendance_.store(kNobody, std::memory_order_seq_cst);
    if (!queue_.Empty()) listener_.BlocksAreHome();
  }

 private:
  static constexpr uint32_t kNobody = 0;
  static constexpr uint32_t kAwake = 1;  // looks again before it sleeps or leaves
  static constexpr uint32_t kAsleep = 2;
  static constexpr uint32_t kBeingWoken = 3;  // somebody is about to make the call

  static bool Sleeps(uint32_t attendance) { return attendance >= kAsleep; }

  void Tell() {
    // seq_cst: after the push, see the head of this file.
    const uint32_t attendance = attendance_.load(std::memory_order_seq_cst);
    if (attendance == kNobody) return listener_.BlocksAreHome();
    if (Sleeps(attendance)) Wake();
  }
  void Wake() {
    uint32_t seen = kAsleep;
    // relaxed: the kernel compares the word again. Whoever finds it being woken makes the call,
    // too: the other thread may lose its core before its own (waker.h).
    if (attendance_.compare_exchange_strong(seen, kBeingWoken, std::memory_order_relaxed) ||
        seen == kBeingWoken) {
      Memory::FutexWakeAll(attendance_);
    }
  }

  ReturnListener& listener_;
  // Both in one cache line: those who push look whether somebody attends.
  alignas(base::kNoSharingBytes) BasicBlockQueue<Memory> queue_;
  // Shared: written by the attendant, and by those who wake it.
  typename Memory::template Atomic<uint32_t> attendance_{kNobody};
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_RETURN_POINT_H_
