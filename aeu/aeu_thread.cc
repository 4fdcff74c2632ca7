#include "aeu/aeu_thread.h"

#include <sched.h>

#include <span>

#include "aeu/state/clock.h"
#include "topology/time_slice.h"

namespace eris::aeu {
namespace {

// If the system has refused, this thread runs anywhere.
bool PinnedToOneCpu() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
}

std::span<const uint32_t> CpusOf(const AeuThreadOptions& options) {
  if (!options.cpu) return {};
  return {&*options.cpu, 1};
}

}  // namespace

AeuThread::AeuThread(const std::function<Aeu*()>& make, routing::AeuEndpoint& endpoint,
                     const AeuThreadOptions& options)
    : endpoint_(endpoint),
      options_(options),
      thread_(options.name, CpusOf(options), options.numa_node, [this, &make] {
        try {
          aeu_ = make();
        } catch (...) {
          not_made_ = std::current_exception();
        }
        made_.count_down();
        if (aeu_ != nullptr) Run();
      }) {
  made_.wait();
  if (not_made_ != nullptr) std::rethrow_exception(not_made_);
}

AeuThread::AeuThread(Aeu& aeu, routing::AeuEndpoint& endpoint, const AeuThreadOptions& options)
    : AeuThread([&aeu] { return &aeu; }, endpoint, options) {}

AeuThread::~AeuThread() { Stop(); }

void AeuThread::Stop() {
  stop_.store(true, std::memory_order_seq_cst);  // pairs with the load in Run, before it sleeps
  endpoint_.waker.Wake();
  thread_.Join();
}

void AeuThread::Run() {
  // Turns are short, but background work makes one follow the other: another thread that waits for
  // this cpu must not wait for the usual slice of a few milliseconds. A refusal changes nothing
  // else.
  (void)topology::SetTimeSlice(topology::kTimeSliceNsMin);
  routing::TurnDoor& door = endpoint_.door;
  door.Enter();
  const bool pinned = options_.cpu && PinnedToOneCpu();
  door.SetRunner(this, pinned ? static_cast<int32_t>(*options_.cpu) : -1);
  uint64_t idle_since_ns = 0;
  while (!stop_.load(std::memory_order_seq_cst)) {
    if (aeu_->Step(options_.budget)) {
      idle_since_ns = 0;
      continue;
    }
    if (aeu_->HasWork()) {
      // There is work that this turn could not move: another AEU's buffer is full, or a writer is
      // in the middle of its copy. Its thread may need this core.
      sched_yield();
      continue;
    }
    const uint64_t now_ns = NowNs();
    if (idle_since_ns == 0) idle_since_ns = now_ns;
    if (now_ns - idle_since_ns < options_.spin_ns) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#endif
      continue;
    }
    endpoint_.waker.PrepareToSleep();
    aeu_->PrepareToSleep();
    // Before it is asked for work: what a clock lets begin in between is found then.
    const uint64_t wait_ns = aeu_->WaitNs();
    if (aeu_->HasWork() || stop_.load(std::memory_order_seq_cst)) {
      aeu_->Awake();
      endpoint_.waker.CancelSleep();
      continue;
    }
    aeu_->counters().parks.Add(1);
    // A sender that comes before the door is open wakes this thread.
    door.Leave();
    endpoint_.waker.Sleep(wait_ns == 0 ? -1 : static_cast<int64_t>(wait_ns));
    aeu_->Awake();
    door.Enter();
    idle_since_ns = 0;
  }
  door.SetRunner(nullptr, -1);
  door.Leave();
}

bool AeuThread::RunTurn() noexcept {
  // The visitor is a client's thread: what is nobody's work is left to the AEU's own.
  StepBudget budget = options_.budget;
  budget.idle_ns = 0;
  aeu_->Step(budget);
  const bool alarm = aeu_->WaitNs() > 0;  // which the thread has to set; first, as in Run
  return aeu_->HasWork() || alarm;
}

}  // namespace eris::aeu
