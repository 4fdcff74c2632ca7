// The thread that steps one AEU: pins itself, spins briefly when there is nothing to do, then
// sleeps until a sender wakes it. An idle AEU uses no processor time.
#ifndef ERIS_AEU_AEU_THREAD_H_
#define ERIS_AEU_AEU_THREAD_H_

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "aeu/aeu.h"
#include "routing/waker.h"
#include "topology/pinned_thread.h"

namespace eris::aeu {

struct AeuThreadOptions {
  int32_t cpu = -1;                               // operating-system number; -1: not pinned
  std::optional<topology::NumaNode> numa_node{};  // where its stack lies; nullopt: anywhere
  uint64_t spin_ns = 20'000;  // 0 where AEUs share cores: spinning would take them from each other
  StepBudget budget;
};

class AeuThread {
 public:
  // `aeu` and `waker` (its endpoint's) outlive the thread.
  AeuThread(Aeu& aeu, routing::Waker& waker, const AeuThreadOptions& options);
  ~AeuThread();  // as Stop

  // Ends after the turn under way; commands that come later stay where they are. Blocks.
  // Idempotent.
  void Stop();
  // Whether the system has pinned the thread.
  const absl::Status& binding_status() const { return thread_.binding_status(); }

 private:
  void Run();

  Aeu& aeu_;
  routing::Waker& waker_;
  const AeuThreadOptions options_;
  // Shared: written by Stop, read by the thread (seq_cst, so that a sleeper sees it: see Waker).
  std::atomic<bool> stop_{false};
  topology::PinnedThread thread_;  // last: it uses all of the above
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_AEU_THREAD_H_
