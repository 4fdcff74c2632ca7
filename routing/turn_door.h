// Decides which thread may run an AEU's turns: its own thread while it is awake. While that sleeps,
// a visitor may: a thread on the same core that has sent a small amount of work and has asked for
// visits (TurnVisits). The AEU's thread could not run there at that moment, and a visit saves two
// thread switches, which cost more than a small batch. The AEU's memory is equally near for both.
//
// The AEU's thread is inside from waking to sleeping. Visitors use TryLock and never wait. The
// AEU's thread must wait if a visitor is descheduled inside. So only a trusted thread may visit
// (the server's), and the work that it brings is bounded (Port::kVisitBytesMax).
#ifndef ERIS_ROUTING_TURN_DOOR_H_
#define ERIS_ROUTING_TURN_DOOR_H_

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "base/cache_line.h"
#include "base/mutex.h"

namespace eris::routing {

// An AEU, as far as a door needs it.
class TurnRunner {
 public:
  // One turn. True: there is more to do. An exception in a turn ends the process, whichever thread
  // runs it.
  virtual bool RunTurn() noexcept = 0;

 protected:
  ~TurnRunner() = default;
};

// Whether the calling thread runs turns of AEUs that sleep on its core. Not while it runs one: work
// caused by a turn's answers is sent from inside it.
class TurnVisits {
 public:
  static bool wanted() { return wanted_; }
  static void Want(bool wanted) { wanted_ = wanted; }

 private:
  friend class TurnDoor;
  static inline thread_local bool wanted_ = false;
  static inline thread_local bool inside_ = false;  // of any door
};

class TurnDoor {
 public:
  // The result of a visit.
  enum class Visit : uint8_t {
    kShut,  // nothing was run: the AEU's thread is inside, or belongs to another core
    kNothingLeft,
    kMoreToDo,  // a turn was run, and there is more: wake the AEU's thread
  };

  // Called by the AEU's thread, inside for the first time, pinned to `cpu` (-1: not pinned, and
  // visitors never get in); with nullptr before it leaves for good.
  void SetRunner(TurnRunner* runner, int32_t cpu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    runner_ = runner;
    // relaxed: a hint; the deciding value is read under the lock.
    cpu_.store(runner == nullptr ? -1 : cpu, std::memory_order_relaxed);
  }

  // For the AEU's thread: enters after waking, leaves before sleeping. Enter blocks while a visitor
  // runs a turn.
  void Enter() ABSL_EXCLUSIVE_LOCK_FUNCTION(mu_) {
    mu_.Lock();
    TurnVisits::inside_ = true;
  }
  void Leave() ABSL_UNLOCK_FUNCTION(mu_) {
    TurnVisits::inside_ = false;
    mu_.Unlock();
  }

  // Whether the AEU belongs to the calling thread's core: a hint.
  bool MayOpenHere() const {
    const int32_t cpu = cpu_.load(std::memory_order_relaxed);  // as SetRunner
    return cpu >= 0 && sched_getcpu() == cpu;
  }
  // For any thread that has published work for the AEU. Never blocks. kShut if the thread is inside
  // this door or another one: a thread must not try a mutex that it holds, and turns do not nest.
  Visit Try() {
    if (TurnVisits::inside_ || !MayOpenHere() || !mu_.TryLock()) return Visit::kShut;
    TurnVisits::inside_ = true;
    const Visit visit = runner_ == nullptr   ? Visit::kShut
                        : runner_->RunTurn() ? Visit::kMoreToDo
                                             : Visit::kNothingLeft;
    TurnVisits::inside_ = false;
    mu_.Unlock();
    return visit;
  }

 private:
  // Shared: written by the AEU's thread once, read by visitors. Not on the mutex's line.
  alignas(base::kNoSharingBytes) std::atomic<int32_t> cpu_{-1};
  alignas(base::kNoSharingBytes) base::Mutex mu_;
  TurnRunner* runner_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_TURN_DOOR_H_
