// Senders that wake, and an owner that sleeps when it sees no work, as aeu/aeu_thread.cc does. A
// wake-up that is lost leaves the owner asleep with nobody to wake it: a deadlock. At the end the
// owner is awake, and a Wake must not take it for anything else.
#ifndef ERIS_TESTS_EXPLORE_SLEEP_SCENARIOS_H_
#define ERIS_TESTS_EXPLORE_SLEEP_SCENARIOS_H_

#include <cstdint>

#include "routing/waker.h"
#include "tests/explore/block_scenarios.h"
#include "tests/explore/incoming_buffer_scenario.h"

namespace eris::explore {

// Where the work comes from. Send and Take give how many pieces they have moved.
//   void Send(uint32_t thread, uint32_t sequence);   a sender
//   uint32_t Take();                                  the owner
//   bool HasWork();                                   the owner, seq_cst
struct CounterWork {
  ModelAtomic<uint32_t> sent{0};
  uint32_t taken = 0;
  void Send(uint32_t, uint32_t) { sent.fetch_add(1, std::memory_order_seq_cst); }
  uint32_t Take() {
    const uint32_t seen = sent.load(std::memory_order_relaxed);
    const uint32_t more = seen - taken;
    taken = seen;
    return more;
  }
  bool HasWork() { return sent.load(std::memory_order_seq_cst) != taken; }
};

struct IncomingBufferWork {
  static constexpr uint32_t kRoom = 4;
  BufferMemory memory{2 * kRoom * kRecordBytes};
  routing::BasicIncomingBuffer<ModelMemory> buffer{memory.bytes(), kRoom* kRecordBytes};
  RecordLog log;
  void Send(uint32_t thread, uint32_t sequence) {
    const Record record = RecordOf(thread, sequence);
    while (!buffer.TryWrite(std::as_bytes(std::span(record)))) GiveWay();
  }
  uint32_t Take() {
    const uint32_t before = log.received();
    if (const auto taken = buffer.TryTake()) log.Take(*taken);
    return log.received() - before;
  }
  bool HasWork() { return buffer.HasRecords(); }
};

struct IngressWork {
  ModelIngress queue;
  RecordLog log;
  void Send(uint32_t thread, uint32_t sequence) {
    ModelPool* pool = ModelPool::Create(kBlockBytes, kBlockBytes);
    ModelBlock* block = TakeBlock(*pool, kRecordBytes);
    AppendTo(*block, RecordOf(thread, sequence));
    pool->HandOver(block, 1);
    queue.Push(block);
    pool->Close();
  }
  uint32_t Take() {
    const uint32_t before = log.received();
    for (ModelBlock* block = queue.TakeAll(); block != nullptr;) {
      ModelBlock* next = NextOf(*block);
      ReadBlock(*block, log);
      ModelPool::Release(block);
      block = next;
    }
    return log.received() - before;
  }
  bool HasWork() { return !queue.Empty(); }
};

// One sender only.
struct RingWork {
  routing::BasicSpscRing<ModelMemory, uint64_t, 2> ring;
  void Send(uint32_t, uint32_t) {
    while (!ring.Push(1)) GiveWay();
  }
  uint32_t Take() { return static_cast<uint32_t>(ring.Pop()); }
  bool HasWork() { return !ring.Empty(); }
};

// Threads 1 .. senders send, the one after them sleeps.
template <class Work>
class SleepScenario : public Scenario {
 public:
  SleepScenario(uint32_t senders, uint32_t pieces) : senders_(senders), pieces_(pieces) {}

  void Run(uint32_t thread) override {
    if (thread <= senders_) {
      for (uint32_t i = 0; i < pieces_; ++i) {
        work_.Send(thread, i);
        waker_.Wake();
      }
      return;
    }
    for (uint32_t done = 0; done < senders_ * pieces_;) {
      const uint32_t taken = work_.Take();
      done += taken;
      if (taken != 0) continue;
      waker_.PrepareToSleep();
      if (work_.HasWork()) {
        waker_.CancelSleep();
        GiveWay();
      } else {
        waker_.Sleep();
      }
    }
  }
  void Finish() override {
    if (waker_.Wake()) Fail("a futex call for an owner that is awake");
  }

 private:
  const uint32_t senders_;
  const uint32_t pieces_;
  Work work_;
  routing::BasicWaker<ModelMemory> waker_;
};

// Thread 1 loses its core for good before its futex call.
struct StoppingMemory : ModelMemory {
  struct Stopped {};
  static constexpr uint32_t kStops = 1;
  static void FutexWakeAll(Atomic<uint32_t>& word) {
    if (Engine::Get().current() == kStops) throw Stopped();
    ModelMemory::FutexWakeAll(word);
  }
};

// Thread 1 sends one piece, marks the sleeper and stops; threads 2 .. senders send and wake, and
// their pieces must be taken. The one after them sleeps.
template <class Waker>
class StoppedWakerScenario : public Scenario {
 public:
  StoppedWakerScenario(uint32_t senders, uint32_t pieces) : senders_(senders), pieces_(pieces) {}

  void Run(uint32_t thread) override {
    if (thread == StoppingMemory::kStops) {
      of_stopped_.Send(thread, 0);
      try {
        waker_.Wake();
      } catch (const StoppingMemory::Stopped&) {
      }
      return;
    }
    if (thread <= senders_) {
      for (uint32_t i = 0; i < pieces_; ++i) {
        of_others_.Send(thread, i);
        waker_.Wake();
      }
      return;
    }
    for (uint32_t done = 0; done < (senders_ - 1) * pieces_;) {
      const uint32_t taken = of_others_.Take();
      done += taken;
      if (of_stopped_.Take() + taken != 0) continue;
      waker_.PrepareToSleep();
      if (of_others_.HasWork() || of_stopped_.HasWork()) {
        waker_.CancelSleep();
        GiveWay();
      } else {
        waker_.Sleep();
      }
    }
  }

 private:
  const uint32_t senders_;
  const uint32_t pieces_;
  CounterWork of_stopped_;
  CounterWork of_others_;
  Waker waker_;
};

}  // namespace eris::explore

#endif  // ERIS_TESTS_EXPLORE_SLEEP_SCENARIOS_H_
