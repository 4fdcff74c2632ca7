#include "aeu/aeu_thread.h"

#include <sched.h>

#include "aeu/clock.h"

namespace eris::aeu {

AeuThread::AeuThread(Aeu& aeu, routing::Waker& waker, const AeuThreadOptions& options)
    : aeu_(aeu),
      waker_(waker),
      options_(options),
      thread_(options.cpu, options.numa_node, [this] { Run(); }) {}

AeuThread::~AeuThread() { Stop(); }

void AeuThread::Stop() {
  stop_.store(true, std::memory_order_seq_cst);  // pairs with the load in Run, before it sleeps
  waker_.Wake();
  thread_.Join();
}

void AeuThread::Run() {
  uint64_t idle_since_ns = 0;
  while (!stop_.load(std::memory_order_seq_cst)) {
    if (aeu_.Step(options_.budget)) {
      idle_since_ns = 0;
      continue;
    }
    if (aeu_.HasWork()) {
      // Something is there that this turn could not move: a full buffer elsewhere, or a writer in
      // the middle of its copy. Whoever it is may need this core.
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
    waker_.PrepareToSleep();
    if (aeu_.HasWork() || stop_.load(std::memory_order_seq_cst)) {
      waker_.CancelSleep();
      continue;
    }
    aeu_.counters().parks.Add(1);
    waker_.Sleep();
    idle_since_ns = 0;
  }
}

}  // namespace eris::aeu
