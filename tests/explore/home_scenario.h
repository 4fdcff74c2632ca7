// Blocks come home while a thread attends the point, sleeps there and leaves, and another one, the
// listener's, takes what nobody attends. Each block is taken once; no sleeper is forgotten: a
// deadlock.
#ifndef ERIS_TESTS_EXPLORE_HOME_SCENARIO_H_
#define ERIS_TESTS_EXPLORE_HOME_SCENARIO_H_

#include <cstdint>

#include "routing/return_point.h"
#include "routing/waker.h"
#include "tests/explore/block_scenarios.h"
#include "tests/explore/sleep_scenarios.h"

namespace eris::explore {

// Threads 1 .. aeus put an answer into each of their blocks and let go of it; the one after them
// attends the point until `awaited` blocks have been taken, by whomever; the last one is the
// listener's.
class HomeScenario : public Scenario, private routing::ReturnListener {
 public:
  // readers: of each block, all threads 1 .. aeus if it is more than 1 (as of a block with keys
  // that were sent on); then only the first one has blocks.
  HomeScenario(uint32_t aeus, uint32_t blocks, uint32_t awaited, bool sent_on = false)
      : aeus_(aeus),
        blocks_(sent_on ? blocks : aeus * blocks),
        awaited_(awaited),
        sent_on_(sent_on) {}

  void Run(uint32_t thread) override {
    if (thread <= aeus_) {
      sent_on_ ? HoldTogether(thread) : Answer(thread, blocks_ / aeus_);
    } else if (thread == aeus_ + 1) {
      Await();
    } else {
      Listen();
    }
  }
  void Finish() override {
    if (point_.TakeAll() != nullptr) Fail("blocks are left");
  }

 private:
  using Point = routing::BasicReturnPoint<ModelMemory>;

  ModelBlock* NewBlock(ModelPool& pool, uint32_t thread, uint32_t sequence, uint32_t readers) {
    ModelBlock* const block = TakeBlock(pool, kRecordBytes);
    AppendTo(*block, RecordOf(thread, sequence));
    block->home = &point_;
    pool.HandOver(block, readers);
    return block;
  }
  void Answer(uint32_t thread, uint32_t blocks) {
    ModelPool* const pool = ModelPool::Create(kBlockBytes, blocks * kBlockBytes);
    for (uint32_t i = 0; i < blocks; ++i) ModelPool::Release(NewBlock(*pool, thread, i, 1));
    pool->Close();
  }
  // The first thread passes each block to the others, which answer in it.
  void HoldTogether(uint32_t thread) {
    if (thread == 1) {
      ModelPool* const pool = ModelPool::Create(kBlockBytes, blocks_ * kBlockBytes);
      for (uint32_t i = 0; i < blocks_; ++i) {
        ModelBlock* const block = NewBlock(*pool, thread, i, 1);
        block->readers.fetch_add(aeus_ - 1, std::memory_order_relaxed);
        for (uint32_t other = 2; other <= aeus_; ++other) {
          while (!rings_[other - 2].Push(block)) GiveWay();
        }
        ModelPool::Release(block);
      }
      pool->Close();
      return;
    }
    for (uint32_t i = 0; i < blocks_;) {
      ModelBlock* const block = rings_[thread - 2].Pop();
      if (block == nullptr) {
        GiveWay();
        continue;
      }
      ModelMemory::WillWrite(block->bytes() + kRecordBytes + 8 * thread, 8);
      ModelPool::Release(block);
      ++i;
    }
  }

  void Await() {
    point_.Attend();
    const auto ready = [this] { return taken_.load(kSeqCst) >= awaited_; };
    while (!ready()) {
      if (!Take()) point_.Sleep(ready, -1);
    }
    point_.Leave();
    left_.store(1, kSeqCst);
    listener_.Wake();
  }
  void Listen() {
    for (;;) {
      if (told_.exchange(0, kAcqRel) != 0) {
        Take();
        point_.WakeAttendant();
        continue;
      }
      listener_.PrepareToSleep();
      if (told_.load(kSeqCst) != 0) {
        listener_.CancelSleep();
        continue;
      }
      if (left_.load(kSeqCst) != 0 && taken_.load(kSeqCst) == blocks_) break;
      listener_.Sleep();
    }
    listener_.CancelSleep();
  }
  void BlocksAreHome() noexcept override {
    // As engine/completion/answer_point.h; a store would hide an earlier pusher's.
    if (told_.exchange(1, kSeqCst) == 0) listener_.Wake();
  }
  bool Take() {
    ModelBlock* block = point_.TakeAll();
    if (block == nullptr) return false;
    uint32_t taken = 0;
    while (block != nullptr) {
      ModelBlock* const next = NextOf(*block);
      ModelMemory::WillRead(block->bytes(), kBlockBytes);
      ModelPool::Return(block);
      block = next;
      ++taken;
    }
    if (taken_.fetch_add(taken, kSeqCst) + taken > blocks_) Fail("a block has come home twice");
    return true;
  }
  static constexpr auto kSeqCst = std::memory_order_seq_cst;
  static constexpr auto kAcqRel = std::memory_order_acq_rel;

  const uint32_t aeus_;
  const uint32_t blocks_;
  const uint32_t awaited_;
  const bool sent_on_;
  Point point_{*this};
  ModelAtomic<uint32_t> taken_{0};
  ModelAtomic<uint32_t> left_{0};
  ModelAtomic<uint32_t> told_{0};
  routing::BasicWaker<ModelMemory> listener_;
  routing::BasicSpscRing<ModelMemory, ModelBlock*, 2> rings_[2];
};

// Thread 1 brings a block home and loses its core for good before its futex call. Thread 2 brings
// about what the attendant, thread 3, waits for, and must wake it all the same.
template <class Point>
class StoppedPusherScenario : public Scenario, private routing::ReturnListener {
 public:
  void Run(uint32_t thread) override {
    if (thread == StoppingMemory::kStops) {
      try {
        point_.Push(&block_);
      } catch (const StoppingMemory::Stopped&) {
      }
    } else if (thread == 2) {
      done_.store(1, std::memory_order_seq_cst);
      point_.WakeAttendant();
    } else {
      point_.Attend();
      const auto ready = [this] { return done_.load(std::memory_order_seq_cst) != 0; };
      while (!ready()) {
        if (point_.TakeAll() == nullptr) point_.Sleep(ready, -1);
      }
      point_.Leave();
    }
  }

 private:
  void BlocksAreHome() noexcept override {}

  routing::BasicBlock<StoppingMemory> block_;
  Point point_{*this};
  ModelAtomic<uint32_t> done_{0};
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_HOME_SCENARIO_H_
