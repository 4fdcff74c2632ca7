// A Port's blocks: the memory of its outgoing and multicast buffers. Bounded. A block is taken when
// a command needs room. It is returned when it has been copied (by the Port's thread), read (by
// the AEU that reads it last), or, with answers in it, taken home (by the sender's side). Paper:
// ERIS 3.2.
#ifndef ERIS_ROUTING_BLOCK_POOL_H_
#define ERIS_ROUTING_BLOCK_POOL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>

#include "base/cache_line.h"
#include "base/check.h"
#include "base/memory_ops.h"
#include "routing/block_allowance.h"
#include "routing/block_queue.h"
#include "routing/return_point.h"

namespace eris::routing {

template <class Memory>
class BasicBlockPool;

// Whole records, one after another, behind this header. Written by one Port, then read-only, but
// for the answers (answers.h).
template <class Memory>
struct BasicBlock {
  BasicBlockPool<Memory>* pool = nullptr;
  BasicBlock* next = nullptr;  // in the list that has it
  uint32_t size_class = 0;
  uint32_t capacity_bytes = 0;
  uint32_t used_bytes = 0;
  // Where it goes when it has been read: it has room for answers in some of its records. nullptr:
  // to its pool.
  BasicReturnPoint<Memory>* home = nullptr;
  // Shared: the number of AEUs that may still read it, and of keys that were sent on and are
  // answered in it. Written by the Port and by the AEUs that
  // release it.
  typename Memory::template Atomic<uint32_t> readers{0};

  // Where the records begin, in bytes from the block, which itself begins a cache line. The header
  // of the first command ends a line: AEUs write answers where the keys are, and nothing in the
  // header's line.
  static constexpr size_t RecordsAt() {
    constexpr size_t kFirstHeader = 56;
    return base::RoundUp(sizeof(BasicBlock) + kFirstHeader, base::kNoSharingBytes) - kFirstHeader;
  }
  std::byte* bytes() { return reinterpret_cast<std::byte*>(this) + RecordsAt(); }
  const std::byte* bytes() const { return reinterpret_cast<const std::byte*>(this) + RecordsAt(); }
  std::span<const std::byte> records() const { return {bytes(), used_bytes}; }
  size_t room_bytes() const { return capacity_bytes - used_bytes; }
  // Writes only what is new: a line that several cores read stays with all of them.
  void SetNext(BasicBlock* block) {
    Memory::WillRead(&next, sizeof next);
    if (next == block) return;
    Memory::WillWrite(&next, sizeof next);
    next = block;
  }
  // REQUIRES: bytes <= room_bytes(), a multiple of 8. The caller fills the record in place.
  std::byte* Append(size_t bytes_wanted) {
    ERIS_DCHECK(bytes_wanted <= room_bytes());
    std::byte* record = bytes() + used_bytes;
    used_bytes += static_cast<uint32_t>(bytes_wanted);
    return record;
  }
};

// Exists until its Port has released it and the last block in use elsewhere has been returned.
template <class Memory>
class BasicBlockPool {
 public:
  using Block = BasicBlock<Memory>;
  // Small blocks are for Ports that send a command at a time.
  static constexpr uint32_t kSizeClasses = 3;

  // block_bytes: size of a large block, without its header. bytes_max: of all blocks together; at
  // least one large block. `allowance`: the limit of several pools together, which outlives every
  // block; nullptr: none. Returns nullptr if the system has no memory.
  static BasicBlockPool* Create(size_t block_bytes, size_t bytes_max,
                                BlockAllowance* allowance = nullptr) {
    return new (std::nothrow) BasicBlockPool(block_bytes, bytes_max, allowance);
  }
  // For the Port's thread, at its end. No other call of that thread follows.
  void Close() { Unref(); }

  // For the Port's thread. An empty block with room for `bytes` (at most block_bytes); nullptr: all
  // are in use, or the system has no memory. Never blocks.
  Block* Take(size_t bytes) {
    uint32_t wanted = 0;
    while (SizeOf(wanted) < bytes) ++wanted;
    if (Block* block = Pop(wanted)) return block;
    CollectReturned();
    if (Block* block = Pop(wanted)) return block;
    if (Block* block = Allocate(wanted)) return block;
    // Use a larger one if there is one; free smaller ones are given up.
    for (uint32_t larger = wanted + 1; larger < kSizeClasses; ++larger) {
      if (Block* block = Pop(larger)) return block;
    }
    for (uint32_t smaller = 0; smaller < wanted; ++smaller) {
      while (Block* block = Pop(smaller)) {
        Free(block);
        if (Block* made = Allocate(wanted)) return made;
      }
    }
    return nullptr;
  }
  // For the Port's thread. A block that no other thread knows.
  void Put(Block* block) {
    Memory::WillWrite(&block->used_bytes, sizeof block->used_bytes);
    block->used_bytes = 0;
    block->home = nullptr;
    Memory::WillWrite(&block->next, sizeof block->next);
    block->next = free_[block->size_class];
    free_[block->size_class] = block;
  }

  // For the Port's thread, when it has nothing to send: if the allowance is crowded, free blocks
  // are returned to the system.
  void FreeUnused() {
    if (allowance_ == nullptr || !allowance_->Crowded()) return;
    CollectReturned();
    FreeAllFree();
  }

  // For the Port's thread, before other threads get the block: `readers` calls of Release follow.
  void HandOver(Block* block, uint32_t readers) {
    // relaxed: the buffer that passes the block to the readers publishes it.
    block->readers.store(readers, std::memory_order_relaxed);
    references_.fetch_add(1, std::memory_order_relaxed);  // from the Port's own reference
  }
  // Any thread: it no longer reads the block. The last one sends it home, or returns it. Never
  // blocks.
  static void Release(Block* block, uint32_t readers = 1) {
    // The only one left writes nothing. acquire: pairs with the others' release below; acq_rel: the
    // last one sees that all others have read before the Port writes again.
    if (block->readers.load(std::memory_order_acquire) != readers &&
        block->readers.fetch_sub(readers, std::memory_order_acq_rel) != readers) {
      return;
    }
    block->home != nullptr ? block->home->Push(block) : Return(block);
  }
  // Any thread: nobody else knows the block. Never blocks.
  static void Return(Block* block) {
    BasicBlockPool* pool = block->pool;
    if (pool->allowance_ != nullptr && pool->allowance_->Crowded()) {
      // Its Port may be idle for long. relaxed: only a count for the Port.
      pool->freed_bytes_.fetch_add(block->capacity_bytes, std::memory_order_relaxed);
      pool->Delete(block);
      pool->Unref();
      return;
    }
    // relaxed: the CAS decides.
    Block* head = pool->returned_.load(std::memory_order_relaxed);
    do {
      block->SetNext(head);
      // release: pairs with the acquire in CollectReturned, after which the Port overwrites what
      // was read.
    } while (!pool->returned_.compare_exchange_weak(head, block, std::memory_order_release,
                                                    std::memory_order_relaxed));
    pool->Unref();
  }

  size_t block_bytes() const { return block_bytes_; }
  // Bytes of all existing blocks. For the Port's thread.
  size_t allocated_bytes() const {
    return allocated_bytes_ - freed_bytes_.load(std::memory_order_relaxed);  // a count
  }
  // Blocks in use elsewhere. For tests and statistics.
  uint32_t outstanding() const { return references_.load(std::memory_order_relaxed) - 1; }

 private:
  BasicBlockPool(size_t block_bytes, size_t bytes_max, BlockAllowance* allowance)
      : block_bytes_(block_bytes), bytes_max_(bytes_max), allowance_(allowance) {}
  ~BasicBlockPool() {
    CollectReturned();
    FreeAllFree();
  }
  void FreeAllFree() {
    for (uint32_t size_class = 0; size_class < kSizeClasses; ++size_class) {
      while (Block* block = Pop(size_class)) Free(block);
    }
  }

  size_t SizeOf(uint32_t size_class) const {
    constexpr size_t kSmall[] = {512, 4096};
    return size_class + 1 < kSizeClasses ? std::min(kSmall[size_class], block_bytes_)
                                         : block_bytes_;
  }
  Block* Pop(uint32_t size_class) {
    Block* block = free_[size_class];
    if (block != nullptr) free_[size_class] = block->next;
    return block;
  }
  void CollectReturned() {
    // relaxed: a hint. acquire: pairs with the release in Return.
    if (returned_.load(std::memory_order_relaxed) == nullptr) return;
    Block* block = returned_.exchange(nullptr, std::memory_order_acquire);
    while (block != nullptr) {
      Memory::WillRead(&block->next, sizeof block->next);
      Block* next = block->next;
      Put(block);
      block = next;
    }
  }
  Block* Allocate(uint32_t size_class) {
    const size_t bytes = SizeOf(size_class);
    if (allocated_bytes() + bytes > bytes_max_) return nullptr;
    if (allowance_ != nullptr && !allowance_->TryTake(bytes)) return nullptr;
    void* memory = ::operator new (Block::RecordsAt() + bytes,
                                   std::align_val_t{base::kNoSharingBytes}, std::nothrow);
    if (memory == nullptr) {
      if (allowance_ != nullptr) allowance_->Give(bytes);
      return nullptr;
    }
    allocated_bytes_ += bytes;
    Block* block = new (memory) Block;
    block->pool = this;
    block->size_class = size_class;
    block->capacity_bytes = static_cast<uint32_t>(bytes);
    return block;
  }
  void Free(Block* block) {
    allocated_bytes_ -= block->capacity_bytes;
    Delete(block);
  }
  void Delete(Block* block) {
    if (allowance_ != nullptr) allowance_->Give(block->capacity_bytes);
    block->~Block();
    ::operator delete (block, std::align_val_t{base::kNoSharingBytes});
  }
  void Unref() {
    // acq_rel: the last one sees every block as the others left it.
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

  // Immutable after construction.
  const size_t block_bytes_;
  const size_t bytes_max_;
  BlockAllowance* const allowance_;

  // Owned by the Port's thread; by the last reader once the Port has ended.
  // By size class; last in, first out, so it is still in the cache.
  Block* free_[kSizeClasses] = {};
  size_t allocated_bytes_ = 0;

  // Shared: written by the readers, emptied by the Port.
  alignas(base::kNoSharingBytes) typename Memory::template Atomic<Block*> returned_{nullptr};
  // Shared: the part of allocated_bytes_ that readers have freed. A std::atomic, since it publishes
  // no data.
  std::atomic<size_t> freed_bytes_{0};
  // Shared: one reference of the Port and one per block in use elsewhere.
  typename Memory::template Atomic<uint32_t> references_{1};
};

using Block = BasicBlock<base::RealMemory>;
using BlockPool = BasicBlockPool<base::RealMemory>;
using BlockQueue = BasicBlockQueue<base::RealMemory>;
using ReturnPoint = BasicReturnPoint<base::RealMemory>;

}  // namespace eris::routing

#endif  // ERIS_ROUTING_BLOCK_POOL_H_
