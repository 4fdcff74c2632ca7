// The thread that steps one AEU. Without work it spins briefly and then sleeps, until a sender
// wakes it or runs its turn (routing/turn_door.h). An idle AEU uses no processor time.
#ifndef ERIS_AEU_AEU_THREAD_H_
#define ERIS_AEU_AEU_THREAD_H_

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <latch>
#include <optional>

#include "absl/status/status.h"
#include "aeu/aeu.h"
#include "routing/endpoint.h"
#include "topology/pinned_thread.h"

namespace eris::aeu {

struct AeuThreadOptions {
  std::string name = "eris-aeu";                  // what the system shows
  std::optional<uint32_t> cpu{};                  // operating-system number; nullopt: not pinned
  std::optional<topology::NumaNode> numa_node{};  // where its stack is placed; nullopt: anywhere
  // 0 if AEUs share cores: they would take them from each other by spinning
  uint64_t spin_ns = 20'000;
  StepBudget budget;
};

class AeuThread final : public routing::TurnRunner {
 public:
  // Calls `make` on the new thread, so that the Aeu's malloc memory is first touched there, and
  // steps the result. Blocks until `make` returns; if it throws, the exception is rethrown here,
  // and no thread is left. The Aeu and its endpoint outlive the thread.
  AeuThread(const std::function<Aeu*()>& make, routing::AeuEndpoint& endpoint,
            const AeuThreadOptions& options);
  // Steps an existing Aeu.
  AeuThread(Aeu& aeu, routing::AeuEndpoint& endpoint, const AeuThreadOptions& options);
  ~AeuThread();  // as Stop

  // Ends after the current turn; later commands stay in the buffers. Blocks. Idempotent.
  void Stop();
  // Whether the system has pinned the thread.
  const absl::Status& binding_status() const { return thread_.binding_status(); }

 private:
  void Run();
  bool RunTurn() noexcept override;  // called by the thread that is inside the door

  Aeu* aeu_ = nullptr;  // owned by the thread once it runs
  routing::AeuEndpoint& endpoint_;
  const AeuThreadOptions options_;
  // The thread writes it before it counts `made_` down; the constructor reads it after that.
  std::exception_ptr not_made_;
  std::latch made_{1};
  // Shared: written by Stop, read by the thread (seq_cst, so that a sleeper sees it: see Waker).
  std::atomic<bool> stop_{false};
  topology::PinnedThread thread_;  // last: it uses everything above
};

}  // namespace eris::aeu

#endif  // ERIS_AEU_AEU_THREAD_H_
