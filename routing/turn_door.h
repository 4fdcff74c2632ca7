// Who may run an AEU's turns: its own thread while it is awake; while that sleeps, a thread that
// has brought it a little work on the same core, and has said that it wants to (TurnVisits). The
// AEU's thread could not run there at that moment, and two switches between threads are saved,
// which cost more than a small batch. The AEU's blocks are as near to one as to the other.
//
// The AEU's thread is inside from waking to sleeping. Others never wait at the door; but it waits
// for who loses his core inside. So a visitor is somebody whom the engine trusts with that, the
// server, and what he may bring is bounded (Port::kVisitBytesMax).
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
  // One turn. True: there is more to do. What a turn throws ends the process, whoever runs it.
  virtual bool RunTurn() noexcept = 0;

 protected:
  ~TurnRunner() = default;
};

// Whether the calling thread runs turns of AEUs that sleep on its core. Not while it runs one: what
// a turn's answers set going is sent from inside it.
class TurnVisits {
 public:
  static bool wanted() { return wanted_; }
  static void Want(bool wanted) { wanted_ = wanted; }

 private:
  friend class TurnDoor;
  static inline thread_local bool wanted_ = false;
  static inline thread_local bool inside_ = false;  // of some door
};

class TurnDoor {
 public:
  // What a visitor has met.
  enum class Visit : uint8_t {
    kShut,  // nothing has been run: the AEU's thread is inside, or at home on another core
    kNothingLeft,
    kMoreToDo,  // a turn has been run, and there is more: wake the AEU's thread
  };

  // The AEU's thread, inside for the first time, pinned to `cpu` (-1: it is not, and nobody else
  // ever gets in); with nullptr before it leaves for good.
  void SetRunner(TurnRunner* runner, int32_t cpu) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    runner_ = runner;
    // relaxed: a hint; what counts is read under the lock.
    cpu_.store(runner == nullptr ? -1 : cpu, std::memory_order_relaxed);
  }

  // The AEU's thread: in after waking, out before sleeping. Enter blocks while a visitor runs a
  // turn.
  void Enter() ABSL_EXCLUSIVE_LOCK_FUNCTION(mu_) {
    mu_.Lock();
    TurnVisits::inside_ = true;
  }
  void Leave() ABSL_UNLOCK_FUNCTION(mu_) {
    TurnVisits::inside_ = false;
    mu_.Unlock();
  }

  // Whether the AEU is at home on the calling thread's core: a hint.
  bool MayOpenHere() const {
    const int32_t cpu = cpu_.load(std::memory_order_relaxed);  // as SetRunner
    return cpu >= 0 && sched_getcpu() == cpu;
  }
  // Anybody who has published work for the AEU. Never blocks. Shut for who is inside, of this door
  // or another one: a thread must not try a mutex that it holds, and turns do not nest.
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
  // Shared: written by the AEU's thread once, read by those who come. Not on the mutex's line.
  alignas(base::kNoSharingBytes) std::atomic<int32_t> cpu_{-1};
  alignas(base::kNoSharingBytes) base::Mutex mu_;
  TurnRunner* runner_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace eris::routing

#endif  // ERIS_ROUTING_TURN_DOOR_H_
