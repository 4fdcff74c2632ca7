// Blocks of a Port's pool on their way: through the ingress queue to one owner, or to several
// readers at once. Every record arrives once and in order, no block is overwritten while somebody
// reads it, and everything is freed once, whoever comes last.
#ifndef ERIS_TESTS_EXPLORE_BLOCK_SCENARIOS_H_
#define ERIS_TESTS_EXPLORE_BLOCK_SCENARIOS_H_

#include <cstdint>
#include <cstring>

#include "routing/block_pool.h"
#include "routing/block_queue.h"
#include "routing/spsc_ring.h"
#include "tests/explore/record_log.h"

namespace eris::explore {

using ModelBlock = routing::BasicBlock<ModelMemory>;
using ModelPool = routing::BasicBlockPool<ModelMemory>;
using ModelIngress = routing::BasicBlockQueue<ModelMemory>;

inline constexpr size_t kBlockBytes = 4 * kRecordBytes;
// With these a pool has two sizes of blocks, and room for one of the larger.
inline constexpr size_t kLargeBytes = 1024;

// Waits for a block as a Port may: others give theirs back meanwhile.
inline ModelBlock* TakeBlock(ModelPool& pool, size_t bytes) {
  for (;;) {
    if (ModelBlock* block = pool.Take(bytes)) return block;
    GiveWay();
  }
}

inline std::byte* AppendTo(ModelBlock& block, const Record& record) {
  ModelMemory::WillWrite(&block.used_bytes, sizeof block.used_bytes);
  std::byte* at = block.Append(kRecordBytes);
  ModelMemory::WillWrite(at, kRecordBytes);
  std::memcpy(at, record.data(), kRecordBytes);
  return at;
}

// The next of the blocks that TakeAll has given; the owner takes the list apart while it releases.
inline ModelBlock* NextOf(const ModelBlock& block) {
  ModelMemory::WillRead(&block.next, sizeof block.next);
  return block.next;
}

inline void ReadBlock(const ModelBlock& block, RecordLog& log) {
  ModelMemory::WillRead(&block.used_bytes, sizeof block.used_bytes);
  log.Take(block.records());
}

// Threads 1 .. ports push blocks of pools of their own and go away while blocks are out; the one
// after them owns the queue.
class IngressScenario : public Scenario {
 public:
  // blocks: pushed by each Port. pool_blocks: what its pool may hold; 0: one large block or two
  // small ones, which give way to each other.
  IngressScenario(uint32_t ports, uint32_t blocks, uint32_t pool_blocks)
      : ports_(ports), blocks_(blocks), pool_blocks_(pool_blocks) {}

  void Run(uint32_t thread) override {
    if (thread <= ports_) {
      ModelPool* pool = pool_blocks_ == 0
                            ? ModelPool::Create(kLargeBytes, kLargeBytes)
                            : ModelPool::Create(kBlockBytes, pool_blocks_ * kBlockBytes);
      for (uint32_t i = 0; i < blocks_; ++i) {
        const bool large = pool_blocks_ == 0 && i % 2 == 1;
        ModelBlock* block = TakeBlock(*pool, large ? kLargeBytes : kRecordBytes);
        AppendTo(*block, RecordOf(thread, i));
        pool->HandOver(block, 1);
        queue_.Push(block);
      }
      pool->Close();
      return;
    }
    while (log_.received() < ports_ * blocks_) {
      ModelBlock* block = queue_.TakeAll();
      if (block == nullptr) GiveWay();
      while (block != nullptr) {
        ModelBlock* next = NextOf(*block);
        ReadBlock(*block, log_);
        ModelPool::Release(block);
        block = next;
      }
    }
  }
  void Finish() override {
    if (!queue_.Empty()) Fail("blocks are left");
  }

 private:
  const uint32_t ports_;
  const uint32_t blocks_;
  const uint32_t pool_blocks_;
  ModelIngress queue_;
  RecordLog log_;
};

// Thread 1 multicasts as routing/port.cc does: it holds a reference to the block while it adds
// records, others read the earlier ones meanwhile; 2 .. readers + 1 read each record where it
// stands. One target more has no room for its reference.
class MulticastScenario : public Scenario {
 public:
  // records_in_block: then the Port lets go of it and takes another.
  MulticastScenario(uint32_t readers, uint32_t records, uint32_t records_in_block,
                    uint32_t pool_blocks)
      : readers_(readers),
        records_(records),
        records_in_block_(records_in_block),
        pool_blocks_(pool_blocks) {}

  void Run(uint32_t thread) override {
    if (thread == 1) {
      Port();
    } else {
      Reader(thread - 2);
    }
  }

 private:
  struct Reference {
    const std::byte* record = nullptr;
    ModelBlock* block = nullptr;
  };

  void Port() {
    ModelPool* pool = ModelPool::Create(kBlockBytes, pool_blocks_ * kBlockBytes);
    ModelBlock* block = nullptr;
    for (uint32_t i = 0; i < records_; ++i) {
      if (block != nullptr && i % records_in_block_ == 0) {
        ModelPool::Release(block);
        block = nullptr;
      }
      if (block == nullptr) {
        block = TakeBlock(*pool, kRecordBytes);
        pool->HandOver(block, 1);
      }
      const std::byte* record = AppendTo(*block, RecordOf(1, i));
      block->readers.fetch_add(readers_ + 1, std::memory_order_relaxed);
      for (uint32_t reader = 0; reader < readers_; ++reader) {
        while (!rings_[reader].Push({record, block})) GiveWay();
      }
      ModelPool::Release(block, 1);
    }
    ModelPool::Release(block);
    pool->Close();
  }
  void Reader(uint32_t reader) {
    while (logs_[reader].received() < records_) {
      const Reference reference = rings_[reader].Pop();
      if (reference.block == nullptr) {
        GiveWay();
        continue;
      }
      logs_[reader].Take({reference.record, kRecordBytes});
      ModelPool::Release(reference.block);
    }
  }

  const uint32_t readers_;
  const uint32_t records_;
  const uint32_t records_in_block_;
  const uint32_t pool_blocks_;
  routing::BasicSpscRing<ModelMemory, Reference, 2> rings_[2];
  RecordLog logs_[2];
};

// One produces, the other consumes, through a ring of two places.
class RingScenario : public Scenario {
 public:
  explicit RingScenario(uint64_t items) : items_(items) {}
  void Run(uint32_t thread) override {
    for (uint64_t i = 1; i <= items_; ++i) {
      if (thread == 1) {
        while (!ring_.Push(i)) GiveWay();
        continue;
      }
      uint64_t got = ring_.Pop();
      while (got == 0) {
        GiveWay();
        got = ring_.Pop();
      }
      if (got != i)
        Fail("item " + std::to_string(got) + " where " + std::to_string(i) + " was due");
    }
  }
  void Finish() override {
    if (!ring_.Empty()) Fail("items are left");
  }

 private:
  const uint64_t items_;
  routing::BasicSpscRing<ModelMemory, uint64_t, 2> ring_;
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_BLOCK_SCENARIOS_H_
