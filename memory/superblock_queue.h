// The superblocks that a pool keeps, ordered by the tick in which they were returned: taken from
// the end, returned to the system from the beginning. A ring whose room is made when superblocks
// are mapped, so that keeping one never needs the general heap. Paper: Bobox 5.2 (superblock
// allocator).
#ifndef ERIS_MEMORY_SUPERBLOCK_QUEUE_H_
#define ERIS_MEMORY_SUPERBLOCK_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"

namespace eris::memory {

class SuperblockQueue {
 public:
  struct Kept {
    void* superblock;
    uint64_t since_tick;
  };

  // Makes room for `room` superblocks in all. Throws std::bad_alloc, with nothing changed.
  void Reserve(size_t room) {
    if (room <= slots_.size()) return;
    std::vector<Kept> slots(room);
    for (size_t i = 0; i < size_; ++i) slots[i] = At(i);
    slots_ = std::move(slots);
    first_ = 0;
  }

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  // REQUIRES, for everything below except push_back: not empty.
  const Kept& front() const { return slots_[first_]; }
  const Kept& back() const { return slots_[Place(size_ - 1)]; }
  void pop_front() {
    first_ = Place(1);
    --size_;
  }
  void pop_back() { --size_; }
  // REQUIRES: room.
  void push_back(const Kept& kept) {
    ERIS_CHECK(size_ < slots_.size());
    slots_[Place(size_)] = kept;
    ++size_;
  }

 private:
  size_t Place(size_t i) const {
    const size_t place = first_ + i;
    return place < slots_.size() ? place : place - slots_.size();
  }
  const Kept& At(size_t i) const { return slots_[Place(i)]; }

  std::vector<Kept> slots_;
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_SUPERBLOCK_QUEUE_H_
